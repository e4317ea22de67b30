"""Greedy search: the best id at every step, nothing else kept. The twin of a beam of one.

Knows ids, log-probabilities and rows. Knows nothing of models, words or settings.
"""

import torch

from pgsum.decode.constraints import Rules
from pgsum.decode.expand import expand
from pgsum.decode.history import History
from pgsum.decode.hypothesis import Hypothesis
from pgsum.decode.live import Beam, follow, in_order
from pgsum.decode.scoring import LengthPenalty
from pgsum.decode.step import S, Step


def greedy_search(step: Step[S], state: S, rules: Rules, *, bos_id: int) -> list[list[Hypothesis]]:
    """One hypothesis per document, in a list of its own, its score being its `log_prob`.

    All else is as `beam_search` has it.
    """
    no_penalty = LengthPenalty(0.0, max_tokens=rules.max_tokens.tolist())
    history = History()
    beam, over = Beam.start(rules.documents, rules.device), []
    last_ids = torch.full_like(rules.max_tokens, bos_id)
    while len(beam.documents):
        output, state = step(last_ids, state)  # (1) what may come next
        bans = rules.bans(beam.documents, beam.prefixes)  # (2) what may not
        best = expand(output, beam.log_probs, bans, 1, eos_id=rules.eos_id)  # (3) the best
        is_eos = best.ids == rules.eos_id
        ended, live = best.only(is_eos), best.only(~is_eos)
        indices = history.keep(live, output, beam.indices)
        beam = follow(beam, ended, live, indices, rules=rules, penalty=no_penalty, n_best=1)
        is_over = beam.ended.scores[:, 0] > -torch.inf  # (4) whose search is over
        over.append(beam.select(is_over))
        beam = beam.select(~is_over)
        last_ids = beam.prefixes[:, :, -1].flatten()
        state = state.select(live.rows[~is_over].flatten())  # (5) go on with the others
    return history.hypotheses(in_order(over))
