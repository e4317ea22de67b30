"""What may not come next: each constraint names the ids that it forbids to each row.

Knows prefixes and ids. A constraint never sees a probability; `forbid_` alone touches their table.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Bans:
    """Ids forbidden to each row, where `active`."""

    ids: Int[Tensor, "rows bans"]
    active: Bool[Tensor, "rows bans"]


def always(ids: Int[Tensor, " bans"], rows: int) -> Bans:
    """The same ids in every row."""
    ids = ids.expand(rows, -1)
    return Bans(ids, torch.ones_like(ids, dtype=torch.bool))


def end_before(min_tokens: Int[Tensor, " rows"], length: int, eos_id: int) -> Bans:
    """The end, in rows that are still shorter than their `min_tokens`."""
    return Bans(torch.full_like(min_tokens, eos_id)[:, None], (length < min_tokens)[:, None])


def repeated_ngrams(
    prefixes: Int[Tensor, "rows length"], size: int, exempt_ids: Int[Tensor, " exempt"]
) -> Bans:
    """What would complete an n-gram of `size` that the prefix already holds (Paulus et al. 2017).

    An exempt id may always come next. The rule looks at the completing id alone: were every n-gram
    that holds an exempt id let through, "a, a, a, a" would never be stopped.
    """
    rows, length = prefixes.shape
    if size == 0 or length < size:
        return Bans(prefixes[:, :0], torch.zeros(rows, 0, dtype=torch.bool, device=prefixes.device))
    earlier = prefixes.unfold(1, size, 1)
    begun = prefixes[:, length - size + 1 :]
    completing = earlier[:, :, -1]
    repeats = (earlier[:, :, :-1] == begun[:, None]).all(-1)
    return Bans(completing, repeats & ~torch.isin(completing, exempt_ids))


def forbid_(log_probs: Float[Tensor, "rows ids"], bans: Bans) -> Float[Tensor, "rows ids"]:
    """Writes minus infinity at the banned ids, in place."""
    # Adding 0 changes nothing and adding minus infinity twice is the same as once: no row needs
    # a list of its own length.
    penalties = torch.zeros_like(bans.ids, dtype=log_probs.dtype)
    return log_probs.scatter_add_(1, bans.ids, penalties.masked_fill_(bans.active, -torch.inf))


@dataclass(frozen=True)
class Rules:
    """All constraints of one search.

    Of each document the fewest and the most tokens, EOS not counted. `banned_ids` are never
    produced, nor any n-gram of size `no_repeat_ngram` twice (0 allows it), but `exempt_ids` may
    always come next.
    """

    min_tokens: Int[Tensor, " documents"]
    max_tokens: Int[Tensor, " documents"]
    eos_id: int
    banned_ids: Int[Tensor, " banned"]
    exempt_ids: Int[Tensor, " exempt"]
    no_repeat_ngram: int

    @property
    def documents(self) -> int:
        return len(self.max_tokens)

    @property
    def device(self) -> torch.device:
        """Where the step wants its ids."""
        return self.max_tokens.device

    @classmethod
    def checked(
        cls,
        *,
        min_tokens: Sequence[int],
        max_tokens: Sequence[int],
        eos_id: int,
        banned_ids: Collection[int],
        exempt_ids: Collection[int] = (),
        no_repeat_ngram: int,
        device: torch.device | None = None,
    ) -> "Rules":
        """Raises ValueError for settings that no search can meet."""
        if not len(min_tokens) == len(max_tokens) >= 1:
            raise ValueError(
                f"min_tokens ({len(min_tokens)}) and max_tokens ({len(max_tokens)}) must give one "
                "number for each document, and there must be one at least."
            )
        for document, (fewest, most) in enumerate(zip(min_tokens, max_tokens, strict=True)):
            if not 0 <= fewest <= most or most < 1:
                raise ValueError(
                    f"Document {document}: min_tokens ({fewest}) must lie between 0 and max_tokens "
                    f"({most}), and max_tokens must be at least 1."
                )
        if eos_id in banned_ids:
            raise ValueError(f"banned_ids must not hold eos_id ({eos_id}): nothing could end.")
        if no_repeat_ngram < 0:
            raise ValueError(f"no_repeat_ngram ({no_repeat_ngram}) must be 0 (off) or more.")

        def ids(values: Collection[int]) -> Tensor:
            return torch.tensor(list(values), dtype=torch.long, device=device)

        return cls(
            ids(min_tokens),
            ids(max_tokens),
            eos_id,
            ids(banned_ids),
            ids(exempt_ids),
            no_repeat_ngram,
        )

    def bans(
        self, documents: Int[Tensor, " documents"], prefixes: Int[Tensor, "documents beam length"]
    ) -> Bans:
        """What the rows of `documents`, those still searched, may not say next."""
        beam, length = prefixes.shape[1:]
        prefixes = prefixes.flatten(0, 1)
        parts = (
            always(self.banned_ids, len(prefixes)),
            end_before(self.min_tokens[documents].repeat_interleave(beam), length, self.eos_id),
            repeated_ngrams(prefixes, self.no_repeat_ngram, self.exempt_ids),
        )
        return Bans(
            torch.cat([part.ids for part in parts], 1),
            torch.cat([part.active for part in parts], 1),
        )
