"""The recurrent encoder, which never sees padding, and its bridge to the decoder."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

# Added to the gates where a step is padding: sigmoid(-CLOSED) is 0, sigmoid(CLOSED) is 1.
CLOSED = 1e4


class EncoderOutput(NamedTuple):
    """States at each position, and what the last layer ended with, both directions side by side."""

    states: Float[Tensor, "batch source encoder"]
    hidden: Float[Tensor, "batch encoder"]
    cell: Float[Tensor, "batch encoder"]


class BidirectionalLSTM(nn.Module):
    """One layer, both directions, exact on padded batches without packing.

    Packing makes an LSTM several times slower on a CPU. Instead each step reads one more input,
    which is 1 on padding and closes the input gate and opens the forget gate there: the cell passes
    through unchanged. So the backward direction, which meets the padding first, still starts from
    zero, and the forward one still ends with its cell of the last real token.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, batch_first=True, bidirectional=True)

    def forward(
        self, inputs: Float[Tensor, "batch source input"], mask: Bool[Tensor, "batch source"]
    ) -> EncoderOutput:
        padding = (~mask)[..., None].to(inputs.dtype)
        # torch orders the gates input, forget, cell, output.
        gates = inputs.new_tensor([-CLOSED, CLOSED, 0.0, 0.0])
        gates = gates.repeat_interleave(self.lstm.hidden_size)[:, None]
        weights = [
            torch.cat([weight, gates], dim=1) if "weight_ih" in name else weight
            for name, weight in self.lstm.named_parameters()
        ]
        start = inputs.new_zeros(2, len(inputs), self.lstm.hidden_size)
        states, _, cell = torch.lstm(
            torch.cat([inputs, padding], dim=-1),
            (start, start),
            weights,
            has_biases=True,
            num_layers=1,
            dropout=0.0,
            train=self.training,
            bidirectional=True,
            batch_first=True,
        )
        forward, backward = states.chunk(2, dim=-1)
        last = mask.sum(-1) - 1
        hidden = torch.cat([forward[torch.arange(len(last)), last], backward[:, 0]], dim=-1)
        return EncoderOutput(
            states.masked_fill(~mask[..., None], 0.0), hidden, torch.cat([cell[0], cell[1]], dim=-1)
        )


class RecurrentEncoder(nn.Module):
    """A stack of bidirectional LSTM layers.  See et al. 2017, section 2.1."""

    def __init__(
        self, embedding_size: int, hidden_size: int, *, layers: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        sizes = [embedding_size, *[2 * hidden_size] * (layers - 1)]
        self.layers = nn.ModuleList(BidirectionalLSTM(size, hidden_size) for size in sizes)
        self.dropout = dropout

    def forward(
        self, embedded: Float[Tensor, "batch source embedding"], mask: Bool[Tensor, "batch source"]
    ) -> EncoderOutput:
        inputs = embedded
        for number, layer in enumerate(self.layers):
            if number:
                inputs = F.dropout(inputs, self.dropout, self.training)
            output: EncoderOutput = layer(inputs, mask)
            inputs = output.states
        return output


class Bridge(nn.Module):
    """The encoder's end becomes the decoder's start: linear and ReLU, hidden and cell apart.

    See et al. 2017, as in their released code.
    """

    def __init__(self, encoder_size: int, decoder_size: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(encoder_size, decoder_size)
        self.cell = nn.Linear(encoder_size, decoder_size)

    def forward(
        self, encoded: EncoderOutput
    ) -> tuple[Float[Tensor, "batch decoder"], Float[Tensor, "batch decoder"]]:
        return self.hidden(encoded.hidden).relu(), self.cell(encoded.cell).relu()
