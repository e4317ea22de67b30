"""Hypotheses, as they end during search and as they are handed back."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from pgsum.decode.expand import Candidates

Stop = Literal["eos", "max_tokens", "blocked"]
STOPS: tuple[Stop, ...] = get_args(Stop)


@dataclass(frozen=True)
class Hypothesis:
    """One output of search, with how it came about."""

    ids: tuple[int, ...]
    """Extended ids, without BOS and EOS."""
    log_prob: float
    """Sum of `token_log_probs`."""
    score: float
    """After the length penalty: what an n-best list is sorted by."""
    token_log_probs: tuple[float, ...]
    """One per id, then EOS's unless it stopped at `max_tokens`."""
    attention: Float[Tensor, "steps source"]
    """Of the step that produced each id; as wide as the longest source searched along."""
    p_gen: Float[Tensor, " steps"]
    stop: Stop
    """`blocked`: the constraints left no way on, so it ended though EOS was forbidden."""


@dataclass(frozen=True)
class Ends:
    """Ended hypotheses, a row per document; a place whose score is minus infinity is empty."""

    scores: Float[Tensor, "documents places"]
    log_probs: Float[Tensor, "documents places"]
    eos_log_probs: Float[Tensor, "documents places"]
    """Of the EOS alone; of no meaning where the stop is `max_tokens`."""
    lengths: Int[Tensor, "documents places"]
    """Tokens, EOS not counted."""
    indices: Int[Tensor, "documents places"]
    """Of the last token, among those that `History` kept of its step."""
    stops: Int[Tensor, "documents places"]
    """Places in `STOPS`."""

    @classmethod
    def none(cls, documents: int, *, device: torch.device | None) -> "Ends":
        numbers = torch.zeros(documents, 0, device=device)
        integers = torch.zeros(documents, 0, dtype=torch.long, device=device)
        return cls(numbers, numbers, numbers, integers, integers, integers)

    @classmethod
    def by_eos(
        cls,
        candidates: Candidates,
        *,
        scores: Float[Tensor, "documents places"],
        length: int,
        indices: Int[Tensor, "documents places"],
        min_tokens: Int[Tensor, " documents"],
    ) -> "Ends":
        """Candidates that are an EOS after `length` tokens, the last of them at `indices`.

        An EOS before `min_tokens` is a forced one: the constraints allowed nothing at all.
        """
        stops = torch.where(length < min_tokens, STOPS.index("blocked"), STOPS.index("eos"))
        return cls(
            scores=scores,
            log_probs=candidates.log_probs,
            eos_log_probs=candidates.token_log_probs,
            lengths=torch.full_like(indices, length),
            indices=indices,
            stops=stops[:, None].expand_as(indices),
        )

    @classmethod
    def at_max_tokens(
        cls,
        candidates: Candidates,
        *,
        scores: Float[Tensor, "documents places"],
        length: int,
        indices: Int[Tensor, "documents places"],
    ) -> "Ends":
        """Candidates that are the last of `length` tokens, and are found at `indices`."""
        return cls(
            scores=scores,
            log_probs=candidates.log_probs,
            eos_log_probs=torch.zeros_like(scores),
            lengths=torch.full_like(indices, length),
            indices=indices,
            stops=torch.full_like(indices, STOPS.index("max_tokens")),
        )

    def select(self, documents: Bool[Tensor, " documents"] | Int[Tensor, " selected"]) -> "Ends":
        return Ends(*(getattr(self, field.name)[documents] for field in fields(self)))

    def best_with(self, others: "Sequence[Ends]", count: int) -> "Ends":
        """The `count` best of these and `others`, best first; of equals, the earlier given."""
        joined = Ends.joined([self, *others], dim=1)
        best = joined.scores.argsort(dim=1, descending=True, stable=True)[:, :count]
        return Ends(*(getattr(joined, field.name).gather(1, best) for field in fields(joined)))

    @classmethod
    def joined(cls, parts: "Sequence[Ends]", *, dim: Literal[0, 1]) -> "Ends":
        """One table of several: 0 puts documents below documents, 1 places beside places."""
        return cls(
            *(
                torch.cat([getattr(part, field.name) for part in parts], dim)
                for field in fields(cls)
            )
        )
