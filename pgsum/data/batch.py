"""Batch: examples of like length as padded tensors.

Padding is PAD_ID on ids and False on masks; a mask is True where a real token is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from pgsum.data.example import Example, Source
from pgsum.text.vocab import PAD_ID, UNK_ID


@dataclass(frozen=True)
class SourceBatch:
    """What the encoder reads and what the pointer points at."""

    source_ids: Int[Tensor, "batch source"]
    source_extended_ids: Int[Tensor, "batch source"]
    source_mask: Bool[Tensor, "batch source"]
    max_source_oovs: int

    def __len__(self) -> int:
        return self.source_ids.shape[0]

    def to(self, device: torch.device | str) -> "SourceBatch":
        return _with_tensors(self, lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> "SourceBatch":
        return _with_tensors(self, lambda tensor: tensor.pin_memory())


@dataclass(frozen=True)
class Batch:
    """Sources with the targets to learn.

    The counts are numbers, not tensors, so that nobody waits for a device to know them.
    """

    source: SourceBatch
    target_input_ids: Int[Tensor, "batch target"]
    target_extended_ids: Int[Tensor, "batch target"]
    target_mask: Bool[Tensor, "batch target"]
    gold_positions: Int[Tensor, " gold"]
    """In the flattened target, of the words that the vocabulary or the source has."""
    source_tokens: int
    target_tokens: int
    """Real ones, in all rows."""

    def __len__(self) -> int:
        return len(self.source)

    def to(self, device: torch.device | str) -> "Batch":
        moved = _with_tensors(self, lambda tensor: tensor.to(device, non_blocking=True))
        return replace(moved, source=self.source.to(device))

    def pin_memory(self) -> "Batch":
        pinned = _with_tensors(self, lambda tensor: tensor.pin_memory())
        return replace(pinned, source=self.source.pin_memory())


AnyBatch = TypeVar("AnyBatch", SourceBatch, Batch)


def _with_tensors(batch: AnyBatch, change: Callable[[Tensor], Tensor]) -> AnyBatch:
    """The batch with each of its own tensors changed."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    tensors: dict[str, Any] = {
        name: change(value) for name, value in values.items() if isinstance(value, Tensor)
    }
    return replace(batch, **tensors)


def pad(sequences: Sequence[Sequence[int]]) -> Int[Tensor, "batch longest"]:
    """Sequences of ids, filled with PAD_ID to the longest."""
    longest = max(len(sequence) for sequence in sequences)
    return torch.tensor(
        [[*sequence, *[PAD_ID] * (longest - len(sequence))] for sequence in sequences]
    )


def mask_of(sequences: Sequence[Sequence[int]]) -> Bool[Tensor, "batch longest"]:
    """True where a sequence has a token, False on its padding."""
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    return torch.arange(int(lengths.max()))[None, :] < lengths[:, None]


def collate_sources(sources: Sequence[Source]) -> SourceBatch:
    """Several sources as one padded batch."""
    return SourceBatch(
        source_ids=pad([source.source_ids for source in sources]),
        source_extended_ids=pad([source.source_extended_ids for source in sources]),
        source_mask=mask_of([source.source_ids for source in sources]),
        max_source_oovs=max(len(source.source_oovs) for source in sources),
    )


def collate(examples: Sequence[Example]) -> Batch:
    """Several examples as one padded batch."""
    extended_ids = pad([example.target_extended_ids for example in examples])
    mask = mask_of([example.target_extended_ids for example in examples])
    source = collate_sources([example.source for example in examples])
    return Batch(
        source=source,
        target_input_ids=pad([example.target_input_ids for example in examples]),
        target_extended_ids=extended_ids,
        target_mask=mask,
        gold_positions=(mask & (extended_ids != UNK_ID)).flatten().nonzero()[:, 0],
        source_tokens=int(source.source_mask.sum()),
        target_tokens=int(mask.sum()),
    )
