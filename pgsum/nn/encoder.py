"""Recurrent encoders, which never see padding, and the bridge to a recurrent decoder."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

Cell = Literal["lstm", "gru", "rnn"]
CELLS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}

# Added to the gates where a step is padding: sigmoid(-CLOSED) is 0, sigmoid(CLOSED) is 1.
CLOSED = 1e4
# In torch's order: input, forget, cell, output; reset, update, new.
CLOSED_GATES = {"lstm": (-CLOSED, CLOSED, 0.0, 0.0), "gru": (0.0, CLOSED, 0.0)}


@dataclass(frozen=True)
class EncoderOutput:
    """What was read of each source."""

    states: Float[Tensor, "batch source encoder"]
    """What attention compares with; 0 on padding."""
    values: Float[Tensor, "batch source encoder"]
    """What attention reads; the states again, but for convolutions."""
    final: Float[Tensor, "layers batch encoder"]
    """What each layer ended with, both directions side by side; of an encoder that has no end, one
    layer: the mean of its states."""
    final_cell: Float[Tensor, "layers batch encoder"] | None = None
    """Of LSTMs, which have two states."""


def in_reverse(
    table: Float[Tensor, "batch source feature"], mask: Bool[Tensor, "batch source"]
) -> Float[Tensor, "batch source feature"]:
    """Each row's real positions backwards; padding stays where it is. It is its own inverse."""
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    places = torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places)
    return table.gather(1, places[..., None].expand_as(table))


def at_last(
    states: Float[Tensor, "batch source feature"], mask: Bool[Tensor, "batch source"]
) -> Float[Tensor, "batch feature"]:
    """The state at each row's last real position."""
    last: Int[Tensor, " batch"] = mask.sum(-1) - 1
    return states[torch.arange(len(last), device=last.device), last]


class RecurrentLayer(nn.Module):
    """One layer, in one direction or both, exact on padded batches without packing.

    Packing makes an LSTM several times slower on a CPU. Instead each step reads one more input,
    which is 1 on padding and there closes the gates that let anything in: what is remembered
    passes through unchanged. So the backward direction, which meets the padding first, still starts
    from zero, and the forward one still ends with what it had after the last real token. A plain
    RNN has no gates: its backward direction reads each source turned round, its padding last.
    """

    def __init__(
        self, cell: Cell, input_size: int, hidden_size: int, *, bidirectional: bool = True
    ) -> None:
        super().__init__()
        self.cell = cell
        self.rnn = CELLS[cell](
            input_size, hidden_size, batch_first=True, bidirectional=bidirectional
        )

    def forward(
        self, inputs: Float[Tensor, "batch source input"], mask: Bool[Tensor, "batch source"]
    ) -> tuple[
        Float[Tensor, "batch source encoder"],
        Float[Tensor, "batch encoder"],
        Float[Tensor, "batch encoder"] | None,
    ]:
        """The states, 0 on padding; hidden state and, of an LSTM, cell at each direction's end."""
        if self.cell == "rnn":
            states, cell = self._run_plain(inputs, mask), None
        else:
            states, cell = self._run_gated(inputs, mask)
        forward, *backward = states.chunk(1 + self.rnn.bidirectional, dim=-1)
        hidden = torch.cat([at_last(forward, mask), *(part[:, 0] for part in backward)], dim=-1)
        return states.masked_fill(~mask[..., None], 0.0), hidden, cell

    def _run_gated(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        padding = (~mask)[..., None].to(inputs.dtype)
        gates = inputs.new_tensor(CLOSED_GATES[self.cell])
        gates = gates.repeat_interleave(self.rnn.hidden_size)[:, None]
        weights = [
            torch.cat([weight, gates], dim=1) if "weight_ih" in name else weight
            for name, weight in self.rnn.named_parameters()
        ]
        start = inputs.new_zeros(1 + self.rnn.bidirectional, len(inputs), self.rnn.hidden_size)
        inputs = torch.cat([inputs, padding], dim=-1)
        settings = (True, 1, 0.0, self.training, self.rnn.bidirectional, True)
        if self.cell == "gru":
            return torch.gru(inputs, start, weights, *settings)[0], None
        states, _, cell = torch.lstm(inputs, (start, start), weights, *settings)
        return states, torch.cat([*cell], dim=-1)

    def _run_plain(self, inputs: Tensor, mask: Tensor) -> Tensor:
        start = inputs.new_zeros(1, len(inputs), self.rnn.hidden_size)

        def run(inputs: Tensor, weights: list[Tensor]) -> Tensor:
            settings = (True, 1, 0.0, self.training, False, True)
            states: Tensor = torch.rnn_tanh(inputs, start, weights, *settings)[0]
            return states

        forward, *backward = ([*weights] for weights in self.rnn.all_weights)
        parts = [run(inputs, forward)]
        parts += [in_reverse(run(in_reverse(inputs, mask), w), mask) for w in backward]
        return torch.cat(parts, dim=-1)


class RecurrentEncoder(nn.Module):
    """A stack of recurrent layers.  See et al. 2017, section 2.1; Cho et al. 2014, section 2.2.

    `reverse_source`: it reads each source backwards, as Sutskever et al. 2014, section 3.3; the
    states still stand where their words do.
    """

    def __init__(
        self,
        embedding_size: int,
        hidden_size: int,
        *,
        cell: Cell = "lstm",
        layers: int = 1,
        bidirectional: bool = True,
        reverse_source: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.size = (1 + bidirectional) * hidden_size
        sizes = [embedding_size, *[self.size] * (layers - 1)]
        self.layers = nn.ModuleList(
            RecurrentLayer(cell, size, hidden_size, bidirectional=bidirectional) for size in sizes
        )
        self.reverse_source = reverse_source
        self.dropout = dropout

    def forward(
        self, embedded: Float[Tensor, "batch source embedding"], mask: Bool[Tensor, "batch source"]
    ) -> EncoderOutput:
        states = in_reverse(embedded, mask) if self.reverse_source else embedded
        final, final_cell = [], []
        for number, layer in enumerate(self.layers):
            if number:
                states = F.dropout(states, self.dropout, self.training)
            states, hidden, cell = layer(states, mask)
            final.append(hidden)
            if cell is not None:
                final_cell.append(cell)
        if self.reverse_source:
            states = in_reverse(states, mask)
        cells = torch.stack(final_cell) if final_cell else None
        return EncoderOutput(states, states, torch.stack(final), cells)


class Bridge(nn.Module):
    """The encoder's end becomes the start of each layer of the decoder.

    `relu`: a linear map and ReLU, hidden and cell apart, as the released code of See et al. 2017;
    `tanh` in its place, as Cho et al. 2014, appendix A.1; `none`: handed over as it is, as
    Sutskever et al. 2014, which needs equal sizes. An encoder without cells fills a decoder's cells
    from its hidden states.
    """

    def __init__(
        self,
        encoder_size: int,
        decoder_size: int,
        *,
        layers: int = 1,
        cells: bool = True,
        activation: Literal["relu", "tanh", "none"] = "relu",
    ) -> None:
        super().__init__()

        def maps() -> nn.ModuleList:
            count = 0 if activation == "none" else layers
            return nn.ModuleList(nn.Linear(encoder_size, decoder_size) for _ in range(count))

        self.hidden = maps()
        self.cell = maps() if cells else None
        self.layers = layers
        self.activation = {"relu": torch.relu, "tanh": torch.tanh, "none": None}[activation]

    def forward(
        self, encoded: EncoderOutput
    ) -> tuple[Float[Tensor, "batch layers decoder"], Float[Tensor, "batch layers decoder"] | None]:
        hidden = self._start(encoded.final, self.hidden)
        if self.cell is None:
            return hidden, None
        ends = encoded.final if encoded.final_cell is None else encoded.final_cell
        return hidden, self._start(ends, self.cell)

    def _start(self, ends: Tensor, maps: nn.ModuleList) -> Tensor:
        ends = ends.expand(self.layers, -1, -1)
        if self.activation is not None:
            ends = torch.stack(
                [self.activation(to(end)) for to, end in zip(maps, ends, strict=True)]
            )
        return ends.transpose(0, 1)
