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

from collections.abc import Collection, Sequence

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
    *,
    documents: int,
    beam_size: int,
    min_tokens: Sequence[int],
    max_tokens: Sequence[int],
    bos_id: int,
    eos_id: int,
    banned_ids: Collection[int],
    length_alpha: float,
    no_repeat_ngram: int,
    exempt_ids: Collection[int] = (),
    n_best: int,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """The `n_best` best hypotheses of each document, best first; fewer where there are no more.

    `state` has a row per document; search widens and re-orders it by `select` alone. `min_tokens`
    and `max_tokens` are per document, EOS not counted. `banned_ids` are never produced, nor any
    n-gram of size `no_repeat_ngram` twice (0 allows it), but `exempt_ids` may always come next.
    Where the constraints leave a document nothing, its hypotheses end as `blocked`. What else is
    searched along changes no result, as far as it does not change the step's numbers. `device` is
    where the step wants its ids.

    Raises ValueError for settings that no search can meet, ModelError where the step gives NaN.
    """
    if not 1 <= n_best <= beam_size:
        raise ValueError(
            f"n_best ({n_best}) must lie between 1 and beam_size ({beam_size}), "
            "which is all that a beam returns. Lower the one or raise the other."
        )
    rules = Rules.checked(
        documents=documents,
        min_tokens=min_tokens,
        max_tokens=max_tokens,
        eos_id=eos_id,
        banned_ids=banned_ids,
        exempt_ids=exempt_ids,
        no_repeat_ngram=no_repeat_ngram,
        device=device,
    )
    penalty = LengthPenalty(length_alpha, max_tokens=max_tokens)
    history = History()
    beam, over = Beam.start(documents, device), []
    last_ids = torch.full((documents,), bos_id, device=device)
    while len(beam.documents):
        output, state = step(last_ids, state)  # (1) what may come next
        bans = rules.bans(beam.documents, beam.prefixes)  # (2) what may not
        # (3) the best, over all beams
        ranked = expand(output, beam.log_probs, bans, beam_size, eos_id=eos_id)
        places = beam_size - beam.eos_count
        ended, live = settle(ranked, places, eos_id=eos_id)  # (4) who ends, who lives
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
