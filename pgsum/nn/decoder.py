"""The recurrent decoder: one LSTM cell, attention, and what the outputs are computed from.

One method moves the state on, in training and in search, so the two cannot drift apart.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from pgsum.nn.attention import Attention
from pgsum.nn.shared import Shared


@dataclass(frozen=True)
class EncodedSource:
    """What the steps need of their sources: once per document, however many rows read it.

    Row r reads document r // `rows_each`.
    """

    keys: Shared
    """(documents, source, key)."""
    values: Shared
    """(documents, source, encoder)."""
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
        return EncodedSource(
            self.keys[documents],
            self.values[documents],
            self.mask[documents],
            self.extended_ids[documents],
            self.first_positions[documents],
            self.max_source_oovs,
            rows_each,
        )


@dataclass(frozen=True)
class DecoderState:
    """What one step hands to the next."""

    hidden: Float[Tensor, "rows decoder"]
    cell: Float[Tensor, "rows decoder"]
    context: Float[Tensor, "rows encoder"]
    coverage: Float[Tensor, "rows source"]
    """Sum of the attention of all earlier steps, never of the current one."""
    source: EncodedSource

    def select(self, rows: Int[Tensor, " selected"]) -> "DecoderState":
        """The state of `rows`, in that order; a row may repeat."""
        return DecoderState(
            self.hidden[rows],
            self.cell[rows],
            self.context[rows],
            self.coverage[rows],
            self.source.select(rows),
        )


class DecoderOutput(NamedTuple):
    """Of each step: what the vocabulary is scored from, where it looked, whether to copy."""

    features: Float[Tensor, "rows steps output"]
    attention: Float[Tensor, "rows steps source"]
    log_attention: Float[Tensor, "rows steps source"]
    gate: Float[Tensor, "rows steps"]
    coverage_loss: Float[Tensor, "rows steps"]


class Reading(NamedTuple):
    """Of each step: the cell's input and state, and what it looked up with which query."""

    inputs: Float[Tensor, "rows steps embedding"]
    states: Float[Tensor, "rows steps decoder"]
    query: Float[Tensor, "rows steps query"]
    context: Float[Tensor, "rows steps encoder"]
    attention: Float[Tensor, "rows steps source"]
    log_attention: Float[Tensor, "rows steps source"]
    coverage_loss: Float[Tensor, "rows steps"]


class RecurrentDecoder(nn.Module):
    """See et al. 2017, section 2, or Luong et al. 2015, section 3, by its settings.

    `use_cell`: the query is [cell; hidden], as in See et al., rather than the hidden state.
    `input_feeding`: the last context joins the next input.
    `output_activation`: tanh between [hidden; context] and the output projection.
    """

    def __init__(
        self,
        *,
        embedding_size: int,
        hidden_size: int,
        encoder_size: int,
        output_size: int,
        attention: Attention,
        use_cell: bool,
        input_feeding: bool,
        output_activation: bool,
        pointer: bool,
        coverage: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        query_size = 2 * hidden_size if use_cell else hidden_size
        self.lstm = nn.LSTM(embedding_size, hidden_size, batch_first=True)
        self.attention = attention
        self.input = (
            nn.Linear(embedding_size + encoder_size, embedding_size) if input_feeding else None
        )
        self.output = nn.Linear(hidden_size + encoder_size, output_size)
        self.gate = nn.Linear(encoder_size + query_size + embedding_size, 1) if pointer else None
        self.use_cell = use_cell
        self.output_activation = output_activation
        self.coverage = coverage
        self.dropout = dropout

    @property
    def sequential(self) -> bool:
        """Whether a step needs what the step before it found."""
        return self.input is not None or self.coverage or self.use_cell

    def forward(
        self, embedded: Float[Tensor, "rows steps embedding"], state: DecoderState
    ) -> tuple[DecoderOutput, DecoderState]:
        """All steps from `state` on, reading gold words: one after the other only if need be."""
        if not self.sequential or embedded.shape[1] == 1:
            reading, state = self.advance(embedded, state)
        else:
            readings = []
            for step in embedded.split(1, dim=1):
                reading, state = self.advance(step, state)
                readings.append(reading)
            parts = zip(*readings, strict=True)
            reading = Reading(*(torch.cat(several, dim=1) for several in parts))
        return self.output_of(reading), state

    def advance(
        self, embedded: Float[Tensor, "rows steps embedding"], state: DecoderState
    ) -> tuple[Reading, DecoderState]:
        """The next step, or several at once where the decoder is not `sequential`."""
        inputs = embedded
        if self.input is not None:
            inputs = self.input(torch.cat([embedded, state.context[:, None]], dim=-1))
        states, hidden, cell = self.run_cell(inputs, state)
        query = torch.cat([cell[:, None], states], dim=-1) if self.use_cell else states
        source = state.source
        documents = len(source.mask)
        read = self.attention(
            query.reshape(documents, -1, query.shape[-1]),
            source.keys,
            source.values,
            source.mask,
            state.coverage.view(documents, -1, source.mask.shape[1]) if self.coverage else None,
        )
        context, attention, log_attention = (
            table.view(*states.shape[:2], table.shape[-1]) for table in read
        )
        # See et al. 2017, eq. 12.
        coverage_loss = (
            torch.minimum(attention, state.coverage[:, None]).sum(-1)
            if self.coverage
            else attention.new_zeros(attention.shape[:2])
        )
        reading = Reading(inputs, states, query, context, attention, log_attention, coverage_loss)
        coverage = state.coverage + attention.sum(1)
        return reading, DecoderState(hidden, cell, context[:, -1], coverage, source)

    def run_cell(
        self, inputs: Float[Tensor, "rows steps embedding"], state: DecoderState
    ) -> tuple[
        Float[Tensor, "rows steps decoder"],
        Float[Tensor, "rows decoder"],
        Float[Tensor, "rows decoder"],
    ]:
        """The hidden state after each step, and hidden state and cell after the last."""
        if inputs.shape[1] == 1:  # torch's layer takes longer than its cell for a single step
            hidden, cell = torch.lstm_cell(
                inputs[:, 0], (state.hidden, state.cell), *self.lstm.all_weights[0]
            )
            return hidden[:, None], hidden, cell
        states, (hidden, cell) = self.lstm(inputs, (state.hidden[None], state.cell[None]))
        return states, hidden[0], cell[0]

    def output_of(self, reading: Reading) -> DecoderOutput:
        """What no later step waits for, of all steps together."""
        features = self.output(torch.cat([reading.states, reading.context], dim=-1))
        if self.output_activation:
            features = torch.tanh(features)
        if self.gate is None:
            gate = features.new_full(features.shape[:2], torch.inf)
        else:
            gate = self.gate(torch.cat([reading.context, reading.query, reading.inputs], dim=-1))
            gate = gate.squeeze(-1)
        return DecoderOutput(
            F.dropout(features, self.dropout, self.training),
            reading.attention,
            reading.log_attention,
            gate,
            reading.coverage_loss,
        )
