"""The recurrent decoder: a stack of cells that attends, or is given one fixed vector, or less."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from pgsum.nn.attention import Attention, AttentionOutput
from pgsum.nn.decoder import Decoder, DecoderOutput, DecoderState, EncodedSource
from pgsum.nn.encoder import CELLS, Bridge, Cell, EncoderOutput
from pgsum.nn.shared import Shared


@dataclass(frozen=True)
class RecurrentState(DecoderState):
    """What a step of a recurrent decoder hands to the next."""

    hidden: Float[Tensor, "rows layers decoder"]
    cell: Float[Tensor, "rows layers decoder"] | None
    """Of LSTMs."""
    context: Float[Tensor, "rows context"]
    """The last one, or the fixed vector; of size 0 where the source only starts the decoder."""
    coverage: Float[Tensor, "rows source"]
    """Sum of the attention of all earlier steps, never of the current one."""


class Reading(NamedTuple):
    """Of each step: the cell's input and state, and what it looked up."""

    inputs: Float[Tensor, "rows steps embedding"]
    states: Float[Tensor, "rows steps decoder"]
    query: Float[Tensor, "rows steps query"]
    """What the state asks with, be it at this step or at the next."""
    context: Float[Tensor, "rows steps context"]
    attention: Float[Tensor, "rows steps source"]
    log_attention: Float[Tensor, "rows steps source"]
    coverage_loss: Float[Tensor, "rows steps"]


class RecurrentDecoder(Decoder):
    """From a fixed vector to attention to pointing, by its settings.

    Without `attention` the source is known from the first state alone (Sutskever et al. 2014) or,
    with `fixed_context`, also as one vector at every step (Cho et al. 2014).
    `query`: it attends with the `current` state (Luong et al. 2015, See et al. 2017), or with the
    `previous` one, and what it reads enters the cell (Bahdanau et al. 2015).
    `query_with_cell`: the query is [cell; hidden], as in See et al., rather than the hidden state.
    `input_feeding`: the last context joins the next input, through a linear map as in See et al.
    """

    def __init__(
        self,
        *,
        embedding_size: int,
        hidden_size: int,
        encoder_size: int,
        output_size: int,
        bridge: Bridge,
        attention: Attention | None,
        cell: Cell = "lstm",
        layers: int = 1,
        query: Literal["current", "previous"] = "current",
        query_with_cell: bool = False,
        fixed_context: bool = False,
        input_feeding: bool = False,
        output_activation: bool,
        pointer: bool,
        coverage: bool,
        dropout: float,
    ) -> None:
        context_size = encoder_size if attention or fixed_context else 0
        query_size = (1 + query_with_cell) * hidden_size
        super().__init__(
            state_size=hidden_size + context_size,
            gate_size=context_size + query_size + embedding_size,
            output_size=output_size,
            output_activation=output_activation,
            pointer=pointer,
            dropout=dropout,
        )
        # This step's context, or the fixed one, is read beside the word.
        self.context_joins = query == "previous" or fixed_context
        self.input = (
            nn.Linear(embedding_size + encoder_size, embedding_size) if input_feeding else None
        )
        self.rnn = CELLS[cell](
            embedding_size + self.context_joins * context_size,
            hidden_size,
            num_layers=layers,
            batch_first=True,
            dropout=dropout if layers > 1 else 0.0,
        )
        steps: dict[Cell, Callable[..., Any]] = {
            "lstm": torch.lstm_cell,
            "gru": torch.gru_cell,
            "rnn": torch.rnn_tanh_cell,
        }
        self.step_of_cell = steps[cell]
        self.bridge = bridge
        self.attention = attention
        self.query_is_previous = query == "previous"
        self.query_with_cell = query_with_cell
        self.fixed_context = fixed_context
        self.coverage = coverage

    @property
    def sequential(self) -> bool:
        """Whether a step needs what the step before it found."""
        return (
            self.input is not None
            or self.coverage
            or self.query_with_cell
            or self.query_is_previous
        )

    def project(self, encoded: EncoderOutput) -> tuple[tuple[Shared, ...], tuple[Shared, ...]]:
        if self.attention is None:
            return (), ()
        return (self.attention.project_keys(encoded.states),), (Shared(encoded.values),)

    def start(self, encoded: EncoderOutput, source: EncodedSource) -> RecurrentState:
        hidden, cell = self.bridge(encoded)
        states = encoded.states
        if self.fixed_context:
            context = encoded.final[-1]
        elif self.attention is not None:
            context = torch.zeros_like(encoded.values[:, 0])
        else:
            context = states.new_zeros(len(states), 0)
        exact = torch.promote_types(states.dtype, torch.float32)
        coverage = torch.zeros_like(source.mask, dtype=exact)
        return RecurrentState(source, hidden, cell, context, coverage)

    def forward(
        self, embedded: Float[Tensor, "rows steps embedding"], state: RecurrentState
    ) -> tuple[DecoderOutput, RecurrentState]:
        """All steps from `state` on: one after the other only if need be."""
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
        self, embedded: Float[Tensor, "rows steps embedding"], state: RecurrentState
    ) -> tuple[Reading, RecurrentState]:
        """The next step, or several at once where the decoder is not `sequential`."""
        inputs = embedded
        if self.input is not None:
            inputs = self.input(torch.cat([embedded, state.context[:, None]], dim=-1))
        if self.query_is_previous:
            cell = None if state.cell is None else state.cell[:, -1]
            read = self.look(self.query_of(state.hidden[:, -1:], cell), state)
            states, hidden, cells = self.run_cell(inputs, read.context, state)
            query = self.query_of(states, None if cells is None else cells[:, -1])
        else:
            states, hidden, cells = self.run_cell(inputs, state.context[:, None], state)
            query = self.query_of(states, None if cells is None else cells[:, -1])
            read = self.look(query, state)
        context, attention, log_attention = read
        # See et al. 2017, eq. 12.
        coverage_loss = (
            torch.minimum(attention, state.coverage[:, None]).sum(-1)
            if self.coverage
            else attention.new_zeros(attention.shape[:2])
        )
        reading = Reading(inputs, states, query, context, attention, log_attention, coverage_loss)
        coverage = state.coverage + attention.sum(1)
        following = RecurrentState(state.source, hidden, cells, context[:, -1], coverage)
        return reading, following

    def query_of(
        self,
        states: Float[Tensor, "rows steps decoder"],
        cell: Float[Tensor, "rows decoder"] | None,
    ) -> Float[Tensor, "rows steps query"]:
        """What states ask with; `cell` is that of the last layer, after the one step there is."""
        if not self.query_with_cell or cell is None:
            return states
        return torch.cat([cell[:, None], states], dim=-1)

    def look(
        self, query: Float[Tensor, "rows steps query"], state: RecurrentState
    ) -> AttentionOutput:
        """What each query reads of its source; without attention what is known of it anyway."""
        source = state.source
        if self.attention is None:
            steps = query.shape[1]
            context = state.context[:, None].expand(-1, steps, -1)
            nothing = state.coverage.new_zeros(len(query), steps, source.mask.shape[1])
            return AttentionOutput(context, nothing, nothing)
        documents = len(source.mask)
        read = self.attention(
            query.reshape(documents, -1, query.shape[-1]),
            source.keys[0],
            source.values[0],
            source.mask,
            state.coverage.view(documents, -1, source.mask.shape[1]) if self.coverage else None,
        )
        return AttentionOutput(*(table.view(*query.shape[:2], table.shape[-1]) for table in read))

    def run_cell(
        self,
        inputs: Float[Tensor, "rows steps embedding"],
        context: Float[Tensor, "rows any_steps context"],
        state: RecurrentState,
    ) -> tuple[
        Float[Tensor, "rows steps decoder"],
        Float[Tensor, "rows layers decoder"],
        Float[Tensor, "rows layers decoder"] | None,
    ]:
        """The last layer's state after each step; all layers' states and cells after the last."""
        if self.context_joins:
            inputs = torch.cat([inputs, context.expand(-1, inputs.shape[1], -1)], dim=-1)
        if inputs.shape[1] == 1:  # torch's layer takes longer than its cell for a single step
            return self._run_single(inputs[:, 0], state)
        hidden: Any = state.hidden.transpose(0, 1).contiguous()
        if state.cell is not None:
            hidden = hidden, state.cell.transpose(0, 1).contiguous()
        states, after = self.rnn(inputs, hidden)
        hidden, cell = (after, None) if state.cell is None else after
        return states, hidden.transpose(0, 1), None if cell is None else cell.transpose(0, 1)

    def _run_single(
        self, inputs: Tensor, state: RecurrentState
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        hidden, cells = [], []
        for layer, weights in enumerate(self.rnn.all_weights):
            if layer:
                inputs = F.dropout(inputs, self.dropout, self.training)
            before: Any = state.hidden[:, layer]
            if state.cell is None:
                inputs = self.step_of_cell(inputs, before, *weights)
            else:
                inputs, cell = self.step_of_cell(inputs, (before, state.cell[:, layer]), *weights)
                cells.append(cell)
            hidden.append(inputs)
        return inputs[:, None], torch.stack(hidden, 1), torch.stack(cells, 1) if cells else None

    def output_of(self, reading: Reading) -> DecoderOutput:
        """What no later step waits for, of all steps together."""
        features, gate = self.words_from(
            torch.cat([reading.states, reading.context], dim=-1),
            torch.cat([reading.context, reading.query, reading.inputs], dim=-1),
        )
        return DecoderOutput(
            features, reading.attention, reading.log_attention, gate, reading.coverage_loss
        )
