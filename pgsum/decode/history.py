"""What search has kept of its steps, from which hypotheses are read backwards.

Re-ordering a beam moves one index per row. What a step looked at is stored once, for the tokens
that survived it, and gathered when the search is over, for the hypotheses that are handed back.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from pgsum.decode.expand import Candidates
from pgsum.decode.hypothesis import STOPS, Ends, Hypothesis
from pgsum.decode.step import StepOutput


@dataclass(frozen=True)
class Kept:
    """The tokens that survived one step."""

    parents: Int[Tensor, " kept"]
    """Which of the tokens kept at the step before each one follows; of no meaning at the first."""
    ids: Int[Tensor, " kept"]
    log_probs: Float[Tensor, " kept"]
    """Of each token alone."""
    attention: Float[Tensor, "kept source"]
    p_gen: Float[Tensor, " kept"]


class History:
    """Every token that survived its step."""

    def __init__(self) -> None:
        self._steps: list[Kept] = []

    def keep(
        self, live: Candidates, output: StepOutput, indices: Int[Tensor, "documents beam"]
    ) -> Int[Tensor, "documents live"]:
        """Keeps the candidates that live on; where each is now found among its step's tokens.

        `indices` are what this said of the hypotheses that the candidates extend.
        """
        rows = live.rows.flatten()
        self._steps.append(
            Kept(
                parents=indices.flatten()[rows],
                ids=live.ids.flatten(),
                log_probs=live.token_log_probs.flatten(),
                attention=output.attention[rows],
                p_gen=output.p_gen[rows, 0],
            )
        )
        return torch.arange(len(rows), device=rows.device).view_as(live.rows)

    def hypotheses(self, ends: Ends) -> list[list[Hypothesis]]:
        """All that ended, a list per document, in the order of `ends`."""
        document, place = (ends.scores > -torch.inf).nonzero(as_tuple=True)
        lengths = ends.lengths[document, place]
        path = self._path(lengths, ends.indices[document, place])
        ids = self._along(path, "ids").tolist()
        token_log_probs = self._along(path, "log_probs").tolist()
        attention = self._along(path, "attention")
        p_gen = self._along(path, "p_gen")
        scores, log_probs, eos_log_probs, stops = (
            column[document, place].tolist()
            for column in (ends.scores, ends.log_probs, ends.eos_log_probs, ends.stops)
        )

        found: list[list[Hypothesis]] = [[] for _ in range(len(ends.scores))]
        for i, (owner, length) in enumerate(zip(document.tolist(), lengths.tolist(), strict=True)):
            stop = STOPS[stops[i]]
            eos = () if stop == "max_tokens" else (eos_log_probs[i],)
            found[owner].append(
                Hypothesis(
                    ids=tuple(ids[i][:length]),
                    log_prob=log_probs[i],
                    score=scores[i],
                    token_log_probs=(*token_log_probs[i][:length], *eos),
                    attention=attention[i, :length],
                    p_gen=p_gen[i, :length],
                    stop=stop,
                )
            )
        return found

    def _path(
        self, lengths: Int[Tensor, " ended"], indices: Int[Tensor, " ended"]
    ) -> list[Int[Tensor, " ended"]]:
        """Of each step, the token on the way to each end; beyond the end's length, any token."""
        at = torch.zeros_like(indices)
        path = []
        for step in reversed(range(len(self._steps))):
            at = torch.where(lengths == step + 1, indices, at)
            path.append(at)
            at = self._steps[step].parents[at]
        return path[::-1]

    def _along(self, path: list[Int[Tensor, " ended"]], name: str) -> Tensor:
        """One field of `Kept` along the path: (ended, steps, ...)."""
        steps = zip(self._steps, path, strict=True)
        return torch.stack([getattr(kept, name)[at] for kept, at in steps], dim=1)
