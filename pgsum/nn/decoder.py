"""What every decoder has: a source it reads, a state it hands on, words it scores, and a gate.

One method moves the state on, in training and in search, so the two cannot drift apart.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from pgsum.nn.encoder import EncoderOutput
from pgsum.nn.shared import Shared


@dataclass(frozen=True)
class EncodedSource:
    """What the steps need of their sources: once per document, however many rows read it.

    Row r reads document r // `rows_each`.
    """

    keys: tuple[Shared, ...]
    """Of each layer that attends, (documents, source, key)."""
    values: tuple[Shared, ...]
    """Likewise, (documents, source, value); layers may read one and the same."""
    mask: Bool[Tensor, "documents source"]
    extended_ids: Int[Tensor, "documents source"]
    first_positions: Int[Tensor, "documents source"]
    """Of each word of a source."""
    max_source_oovs: int
    rows_each: int = 1

    def select(self, rows: Int[Tensor, " selected"]) -> "EncodedSource":
        documents, counts = (rows // self.rows_each).unique_consecutive(return_counts=True)
        each = set(counts.tolist())
        if len(each) != 1:  # not a beam for each document: then each row has a source of its own
            documents, each = rows // self.rows_each, {1}
        (rows_each,) = each
        same = len(documents) == len(self.mask) and bool((documents.diff() == 1).all())
        if same:
            return replace(self, rows_each=rows_each)
        chosen = {table: table[documents] for table in {*self.keys, *self.values}}
        return EncodedSource(
            tuple(chosen[keys] for keys in self.keys),
            tuple(chosen[values] for values in self.values),
            self.mask[documents],
            self.extended_ids[documents],
            self.first_positions[documents],
            self.max_source_oovs,
            rows_each,
        )


Own = TypeVar("Own", bound="DecoderState")


@dataclass(frozen=True)
class DecoderState:
    """What one step hands to the next: the source, and what a kind of decoder adds, rows first."""

    source: EncodedSource

    def select(self: Own, rows: Int[Tensor, " selected"]) -> Own:
        """The state of `rows`, in that order; a row may repeat."""
        chosen = {field.name: _rows_of(getattr(self, field.name), rows) for field in fields(self)}
        return type(self)(**chosen)


def _rows_of(part: Any, rows: Tensor) -> Any:
    """Those of a tensor, of each of several, or of a source; of a number that all rows share it
    is the number.
    """
    if isinstance(part, tuple):
        return tuple(_rows_of(one, rows) for one in part)
    if isinstance(part, EncodedSource):
        return part.select(rows)
    return part[rows] if isinstance(part, Tensor) else part


class DecoderOutput(NamedTuple):
    """Of each step: what the vocabulary is scored from, where it looked, whether to copy."""

    features: Float[Tensor, "rows steps output"]
    attention: Float[Tensor, "rows steps source"]
    """All 0 in a decoder that does not attend."""
    log_attention: Float[Tensor, "rows steps source"]
    gate: Float[Tensor, "rows steps"]
    coverage_loss: Float[Tensor, "rows steps"]


class Decoder(nn.Module, ABC):
    """What a kind of decoder adds to this: where its source and its state begin, and `forward`.

    `state_size`: of what its words are scored from; `gate_size`: of what its gate sees.
    `output_activation`: tanh between that and the output projection (Luong et al. 2015, eq. 5).
    """

    coverage = False

    def __init__(
        self,
        *,
        state_size: int,
        gate_size: int,
        output_size: int,
        output_activation: bool,
        pointer: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.output = nn.Linear(state_size, output_size)
        self.gate = nn.Linear(gate_size, 1) if pointer else None
        self.output_activation = output_activation
        self.dropout = dropout

    @abstractmethod
    def project(self, encoded: EncoderOutput) -> tuple[tuple[Shared, ...], tuple[Shared, ...]]:
        """Keys and values of each layer that attends, once per source."""

    @abstractmethod
    def start(self, encoded: EncoderOutput, source: EncodedSource) -> DecoderState:
        """The state before the first step."""

    @abstractmethod
    def forward(
        self, embedded: Float[Tensor, "rows steps embedding"], state: Any
    ) -> tuple[DecoderOutput, Any]:
        """The steps that follow `state`, reading gold words, and the state after them."""

    def words_from(
        self,
        states: Float[Tensor, "rows steps state"],
        seen_by_gate: Float[Tensor, "rows steps gate"],
    ) -> tuple[Float[Tensor, "rows steps output"], Float[Tensor, "rows steps"]]:
        """Features that the vocabulary is scored from, and the gate's logit.  See et al. 2017,
        eqs. 4 and 8; infinite without a pointer: every word is generated.
        """
        features = self.output(states)
        if self.output_activation:
            features = torch.tanh(features)
        gate = features.new_full(features.shape[:2], torch.inf)
        if self.gate is not None:
            gate = self.gate(seen_by_gate).squeeze(-1)
        return F.dropout(features, self.dropout, self.training), gate
