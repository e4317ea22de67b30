"""Gated convolutions that read, and gated convolutions that write.  Gehring et al. 2017."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from pgsum.nn.attention import Attention, AttentionOutput
from pgsum.nn.decoder import Decoder, DecoderOutput, DecoderState, EncodedSource
from pgsum.nn.encoder import EncoderOutput
from pgsum.nn.shared import Shared

# A sum of two, times this, varies as much as each of them.  Section 3.4.
ROOT_HALF = 0.5**0.5


def _initialised(linear: nn.Linear, *, gain: float = 1.0, dropout: float = 0.0) -> nn.Linear:
    """Weights normal with variance gain * (1 - dropout) / inputs, biases 0.  Section 3.5.

    What comes out varies `gain` times as much as what goes in: `dropout` of the inputs are 0, and
    the rest are larger to make up for it, which alone would raise that by 1 / (1 - dropout).
    """
    deviation: float = (gain * (1 - dropout) / linear.in_features) ** 0.5
    nn.init.normal_(linear.weight, std=deviation)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)
    return linear


class PositionEmbedding(nn.Module):
    """Adds to each word a learned vector of its absolute position.  Gehring et al., section 3.1.

    All positions from the last of `max_positions` on share one vector.
    """

    def __init__(self, size: int, max_positions: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_positions, size)
        # The deviation of their words' vectors: neither drowns the other.
        nn.init.normal_(self.table.weight, std=0.1)

    def forward(
        self, embedded: Float[Tensor, "batch tokens embedding"], first: int = 0
    ) -> Float[Tensor, "batch tokens embedding"]:
        """Of words that stand at `first` and after it."""
        places = torch.arange(first, first + embedded.shape[1], device=embedded.device)
        vectors: Tensor = self.table(places.clamp(max=self.table.num_embeddings - 1))
        return embedded + vectors


class GatedConvolution(nn.Module):
    """A * sigmoid(B), where [A; B] = W [x_1; ...; x_k] + b.  Gehring et al., section 3.2."""

    def __init__(self, size: int, kernel_size: int, *, dropout: float) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        # The gate is about a half, which takes three quarters of the variance: hence the 4.
        self.linear = _initialised(
            nn.Linear(kernel_size * size, 2 * size), gain=4.0, dropout=dropout
        )

    def forward(
        self, seen: Float[Tensor, "batch seen hidden"]
    ) -> Float[Tensor, "batch new hidden"]:
        """Of each `kernel_size` neighbours one state; what is beyond the ends, the caller knows."""
        # In training as fast as torch's convolution, within a tenth; for one step twice as fast.
        windows = seen.unfold(1, self.kernel_size, 1).transpose(2, 3)
        return F.glu(self.linear(windows.flatten(2)), dim=-1)


class ConvEncoder(nn.Module):
    """Words and their positions, then layers that each see a little further to both sides.

    x_l = (GLU(conv(x_{l-1})) + x_{l-1}) sqrt(1/2).  Gehring et al. 2017, section 3.2.
    Left out: weight normalisation, and that the gradient is divided by the number of attentions
    (section 3.4).
    """

    def __init__(
        self,
        embedding_size: int,
        hidden_size: int,
        *,
        layers: int,
        kernel_size: int,
        max_positions: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.size = hidden_size
        self.positions = PositionEmbedding(embedding_size, max_positions)
        # The words come with the same dropout.
        self.input = _initialised(nn.Linear(embedding_size, hidden_size), dropout=dropout)
        self.layers = nn.ModuleList(
            GatedConvolution(hidden_size, kernel_size, dropout=dropout) for _ in range(layers)
        )
        self.each_side = kernel_size // 2
        self.dropout = dropout

    def forward(
        self, embedded: Float[Tensor, "batch source embedding"], mask: Bool[Tensor, "batch source"]
    ) -> EncoderOutput:
        padding = ~mask[..., None]
        words = self.input(self.positions(embedded)).masked_fill(padding, 0.0)
        states = words
        for layer in self.layers:
            seen = F.dropout(states, self.dropout, self.training)
            added = layer(F.pad(seen, (0, 0, self.each_side, self.each_side)))
            # Each time: the next convolution is to see zeros there, as beyond an unpadded end.
            states = ((added + states) * ROOT_HALF).masked_fill(padding, 0.0)
        # z_j + e_j of eq. 2, scaled to keep the variance.
        values = (states + words) * ROOT_HALF
        mean = states.sum(1) / mask.sum(1, keepdim=True)
        return EncoderOutput(states, values, mean[None])


@dataclass(frozen=True)
class ConvState(DecoderState):
    """What a step of a convolutional decoder hands to the next."""

    inputs: tuple[Float[Tensor, "rows before hidden"], ...]
    """What each layer's convolution still sees of earlier steps; zeros before the first."""
    length: int
    """Steps taken so far: the next word's position."""


class ConvDecoderLayer(nn.Module):
    """A convolution over what came before, and what its states look up."""

    def __init__(
        self,
        hidden_size: int,
        encoder_size: int,
        *,
        kernel_size: int,
        attention: Attention,
        dropout: float,
    ) -> None:
        super().__init__()
        self.convolution = GatedConvolution(hidden_size, kernel_size, dropout=dropout)
        # Nothing is dropped of what these two see.
        self.query = _initialised(nn.Linear(hidden_size, hidden_size))
        self.context = _initialised(nn.Linear(encoder_size, hidden_size, bias=False))
        self.attention = attention

    def forward(
        self,
        seen: Float[Tensor, "rows seen hidden"],
        words: Float[Tensor, "rows steps hidden"],
        keys: Shared,
        values: Shared,
        mask: Bool[Tensor, "documents source"],
    ) -> tuple[Float[Tensor, "rows steps hidden"], AttentionOutput]:
        """(h + W_c context) sqrt(1/2), where h = GLU(conv(seen)), and what was read.

        It is asked for by d = (W_d h + b + g) sqrt(1/2).  Gehring et al. 2017, eq. 1.
        """
        states = self.convolution(seen)
        query = (self.query(states) + words) * ROOT_HALF
        by_document = query.reshape(len(mask), -1, query.shape[-1])
        read = self.attention(by_document, keys, values, mask)
        read = AttentionOutput(*(table.view(*query.shape[:2], table.shape[-1]) for table in read))
        return (states + self.context(read.context)) * ROOT_HALF, read


class ConvDecoder(Decoder):
    """Convolutions that see no later word, each layer with an attention of its own.

    x_l = (layer(x_{l-1}) + x_{l-1}) sqrt(1/2).  Gehring et al. 2017, sections 3.2 and 3.3.
    The last layer's attention is what copies. Left out: weight normalisation, and that the context
    is multiplied by the root of the source's length (section 3.4): that makes up for averaging, and
    an attention that copies is sharp.
    """

    def __init__(
        self,
        *,
        embedding_size: int,
        hidden_size: int,
        encoder_size: int,
        layers: int,
        kernel_size: int,
        max_positions: int,
        attentions: Sequence[Attention],
        output_size: int,
        output_activation: bool,
        pointer: bool,
        dropout: float,
    ) -> None:
        super().__init__(
            state_size=hidden_size,
            gate_size=encoder_size + hidden_size + hidden_size,
            output_size=output_size,
            output_activation=output_activation,
            pointer=pointer,
            dropout=dropout,
        )
        self.positions = PositionEmbedding(embedding_size, max_positions)
        # The words come with the same dropout.
        self.input = _initialised(nn.Linear(embedding_size, hidden_size), dropout=dropout)
        self.layers = nn.ModuleList(
            ConvDecoderLayer(
                hidden_size,
                encoder_size,
                kernel_size=kernel_size,
                attention=attention,
                dropout=dropout,
            )
            for _, attention in zip(range(layers), attentions, strict=True)
        )
        self.shape_before = kernel_size - 1, hidden_size

    def project(self, encoded: EncoderOutput) -> tuple[tuple[Shared, ...], tuple[Shared, ...]]:
        layers = (cast(ConvDecoderLayer, layer) for layer in self.layers)
        keys = tuple(layer.attention.project_keys(encoded.states) for layer in layers)
        return keys, (Shared(encoded.values),) * len(keys)

    def start(self, encoded: EncoderOutput, source: EncodedSource) -> ConvState:
        nothing = encoded.states.new_zeros(len(encoded.states), *self.shape_before)
        return ConvState(source, (nothing,) * len(self.layers), 0)

    def forward(
        self, embedded: Float[Tensor, "rows steps embedding"], state: ConvState
    ) -> tuple[DecoderOutput, ConvState]:
        """Any number of steps at once."""
        source, steps = state.source, embedded.shape[1]
        words = self.input(self.positions(embedded, state.length))
        states, inputs = words, []
        for layer, before, keys, values in zip(
            self.layers, state.inputs, source.keys, source.values, strict=True
        ):
            seen = torch.cat([before, F.dropout(states, self.dropout, self.training)], dim=1)
            inputs.append(seen[:, steps:])
            added, read = layer(seen, words, keys, values, source.mask)
            states = (added + states) * ROOT_HALF
        features, gate = self.words_from(states, torch.cat([read.context, states, words], dim=-1))
        no_loss = read.attention.new_zeros(read.attention.shape[:2])
        output = DecoderOutput(features, read.attention, read.log_attention, gate, no_loss)
        return output, ConvState(source, tuple(inputs), state.length + steps)
