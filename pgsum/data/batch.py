"""Batch: examples of like length as padded tensors.

Padding is PAD_ID on ids and False on masks; a mask is True where a real token is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from pgsum.data.example import Example, Source
from pgsum.text.vocab import PAD_ID


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
        return SourceBatch(
            self.source_ids.to(device, non_blocking=True),
            self.source_extended_ids.to(device, non_blocking=True),
            self.source_mask.to(device, non_blocking=True),
            self.max_source_oovs,
        )


@dataclass(frozen=True)
class Batch:
    """Sources with the targets to learn."""

    source: SourceBatch
    target_input_ids: Int[Tensor, "batch target"]
    target_extended_ids: Int[Tensor, "batch target"]
    target_mask: Bool[Tensor, "batch target"]

    def __len__(self) -> int:
        return len(self.source)

    def to(self, device: torch.device | str) -> "Batch":
        return Batch(
            self.source.to(device),
            self.target_input_ids.to(device, non_blocking=True),
            self.target_extended_ids.to(device, non_blocking=True),
            self.target_mask.to(device, non_blocking=True),
        )

    def pin_memory(self) -> "Batch":
        return Batch(
            SourceBatch(
                self.source.source_ids.pin_memory(),
                self.source.source_extended_ids.pin_memory(),
                self.source.source_mask.pin_memory(),
                self.source.max_source_oovs,
            ),
            self.target_input_ids.pin_memory(),
            self.target_extended_ids.pin_memory(),
            self.target_mask.pin_memory(),
        )


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
    return Batch(
        source=collate_sources([example.source for example in examples]),
        target_input_ids=pad([example.target_input_ids for example in examples]),
        target_extended_ids=pad([example.target_extended_ids for example in examples]),
        target_mask=mask_of([example.target_extended_ids for example in examples]),
    )
