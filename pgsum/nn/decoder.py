"""The recurrent decoder: one LSTM cell, attention, and what the outputs are computed from.

One method moves the state on, in training and in search, so the two cannot drift apart.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from pgsum.nn.attention import Attention


@dataclass(frozen=True)
class EncodedSource:
    """What a step needs of its row's source."""

    keys: Float[Tensor, "rows source key"]
    values: Float[Tensor, "rows source encoder"]
    mask: Bool[Tensor, "rows source"]
    extended_ids: Int[Tensor, "rows source"]
    first: Int[Tensor, "rows source"]
    """Of each position, the first one that holds the same word."""
    document: Int[Tensor, " rows"]
    """Which document of the batch a row belongs to."""
    max_source_oovs: int

    def select(self, rows: Int[Tensor, " selected"]) -> "EncodedSource":
        document = self.document[rows]
        # Inside a beam rows change places among themselves: the same sources, in the same order.
        if document.shape == self.document.shape and torch.equal(document, self.document):
            return self
        return EncodedSource(
            self.keys[rows],
            self.values[rows],
            self.mask[rows],
            self.extended_ids[rows],
            self.first[rows],
            document,
            self.max_source_oovs,
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
            return self.advance(embedded, state)
        outputs = []
        for step in embedded.unbind(dim=1):
            output, state = self.advance(step[:, None], state)
            outputs.append(output)
        return DecoderOutput(
            *(torch.cat(parts, dim=1) for parts in zip(*outputs, strict=True))
        ), state

    def advance(
        self, embedded: Float[Tensor, "rows steps embedding"], state: DecoderState
    ) -> tuple[DecoderOutput, DecoderState]:
        """The next step, or several at once where the decoder is not `sequential`."""
        inputs = embedded
        if self.input is not None:
            inputs = self.input(torch.cat([embedded, state.context[:, None]], dim=-1))
        states, (hidden, cell) = self.lstm(inputs, (state.hidden[None], state.cell[None]))
        hidden, cell = hidden[0], cell[0]
        query = torch.cat([cell[:, None], states], dim=-1) if self.use_cell else states
        source = state.source
        read = self.attention(
            query,
            source.keys,
            source.values,
            source.mask,
            state.coverage if self.coverage else None,
        )
        features = self.output(torch.cat([states, read.context], dim=-1))
        if self.output_activation:
            features = torch.tanh(features)
        if self.gate is None:
            gate = features.new_full(features.shape[:2], torch.inf)
        else:
            gate = self.gate(torch.cat([read.context, query, inputs], dim=-1)).squeeze(-1)
        # See et al. 2017, eq. 12.
        coverage_loss = (
            torch.minimum(read.attention, state.coverage[:, None]).sum(-1)
            if self.coverage
            else read.attention.new_zeros(gate.shape)
        )
        output = DecoderOutput(
            F.dropout(features, self.dropout, self.training),
            read.attention,
            read.log_attention,
            gate,
            coverage_loss,
        )
        return output, DecoderState(
            hidden,
            cell,
            read.context[:, -1],
            state.coverage + read.attention.sum(1),
            source,
        )
