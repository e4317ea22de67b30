"""Beam search over any step function, batched over documents and their beams.

Knows ids, log-probabilities and rows. Knows nothing of models, words or settings.

An ended hypothesis keeps its place in the beam and no longer grows. Each step ranks a document's
extensions and takes as many of the best as there are places left: those that are EOS end, the
others live on. So a beam of one is greedy search, and an EOS that is no match for what goes on
costs one place, once: merely to count ended hypotheses and stop at `beam_size` of them would let
a poor EOS at each step end the search before the best answer is long enough to end.

A document's search is over when nothing alive can still enter its n-best list, be it because
every place has ended or by a bound that changes no answer, and at its `max_tokens`. It then leaves
the batch.
"""

import torch
from jaxtyping import Bool
from torch import Tensor

from pgsum.decode.constraints import Rules
from pgsum.decode.expand import expand
from pgsum.decode.history import History
from pgsum.decode.hypothesis import Hypothesis
from pgsum.decode.live import Beam, follow, in_order, settle
from pgsum.decode.scoring import LengthPenalty
from pgsum.decode.step import S, Step


def beam_search(
    step: Step[S],
    state: S,
    rules: Rules,
    *,
    beam_size: int,
    length_alpha: float,
    n_best: int,
    bos_id: int,
) -> list[list[Hypothesis]]:
    """The `n_best` best hypotheses of each document, best first; fewer where there are no more.

    `state` has a row per document, as `rules` have; search widens and re-orders it by `select`
    alone. Where the rules leave a document nothing, its hypotheses end as `blocked`. What else is
    searched along changes no result, as far as it does not change the step's numbers.

    Raises ValueError for settings that no search can meet, ModelError where the step gives NaN.
    """
    if not 1 <= n_best <= beam_size:
        raise ValueError(
            f"n_best ({n_best}) must lie between 1 and beam_size ({beam_size}), "
            "which is all that a beam returns. Lower the one or raise the other."
        )
    penalty = LengthPenalty(length_alpha, max_tokens=rules.max_tokens.tolist())
    history = History()
    beam, over = Beam.start(rules.documents, rules.device), []
    last_ids = torch.full_like(rules.max_tokens, bos_id)
    while len(beam.documents):
        output, state = step(last_ids, state)  # (1) what may come next
        bans = rules.bans(beam.documents, beam.prefixes)  # (2) what may not
        # (3) the best, over all beams
        ranked = expand(output, beam.log_probs, bans, beam_size, eos_id=rules.eos_id)
        places = beam_size - beam.eos_count
        ended, live = settle(ranked, places, eos_id=rules.eos_id)  # (4) who ends, who lives
        indices = history.keep(live, output, beam.indices)
        beam = follow(beam, ended, live, indices, rules=rules, penalty=penalty, n_best=n_best)
        is_full = beam.length == rules.max_tokens[beam.documents]
        is_over = is_full | nothing_better(beam, penalty)  # (5) whose search is over
        over.append(beam.select(is_over))
        beam = beam.select(~is_over)
        last_ids = beam.prefixes[:, :, -1].flatten()
        state = state.select(live.rows[~is_over].flatten())  # (6) follow the survivors
    return history.hypotheses(in_order(over))


def nothing_better(beam: Beam, penalty: LengthPenalty) -> Bool[Tensor, " documents"]:
    """Documents whose n-best list is closed to whatever is still alive; all where nothing is.

    Equals do not enter it either: of equal scores the one that ended first comes first.
    """
    best_attainable = penalty.best_attainable(beam.log_probs.amax(1), beam.documents)
    return beam.ended.scores[:, -1] >= best_attainable
