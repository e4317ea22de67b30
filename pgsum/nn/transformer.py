"""The Transformer of Vaswani et al. 2017 (arXiv 1706.03762): it reads, writes and points.

Each part of a layer normalises what it is given and adds what it found, x + part(LayerNorm(x)),
where the paper has LayerNorm(x + part(x)): so gradients are even from the start, and it learns
without a careful warm-up.  Xiong et al. 2020 (arXiv 2002.04745), sections 3.3 and 4.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from pgsum.nn.attention import masked_log_softmax
from pgsum.nn.decoder import Decoder, DecoderOutput, DecoderState, EncodedSource
from pgsum.nn.encoder import EncoderOutput
from pgsum.nn.shared import Shared


def sinusoids(
    first: int, count: int, size: int, *, dtype: torch.dtype, device: torch.device
) -> Float[Tensor, "{count} {size}"]:
    """sin(p / 10000^(2i / size)) at 2i and its cosine at 2i + 1, of `count` positions p from
    `first` on.  Vaswani et al. 2017, section 3.5.
    """
    exact = torch.promote_types(dtype, torch.float32)
    positions = torch.arange(first, first + count, dtype=exact, device=device)
    rates = torch.exp(
        torch.arange(0, size, 2, dtype=exact, device=device) * (-math.log(10_000) / size)
    )
    angles = positions[:, None] * rates
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    return waves[:, :size].to(dtype)


def initialise(module: nn.Module) -> None:
    """Matrices Glorot uniform, biases 0."""
    for name, parameter in module.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)


class PlacedWords(nn.Module):
    """What the first layer reads: dropout(W (sqrt(embedding) word) + b + position).

    Vaswani et al. 2017, sections 3.4 and 5.4; the map is ours: words may have a size of their own.
    """

    def __init__(self, embedding_size: int, hidden_size: int, *, dropout: float) -> None:
        super().__init__()
        self.input = nn.Linear(embedding_size, hidden_size)
        self.scale = math.sqrt(embedding_size)
        self.dropout = dropout

    def forward(
        self, embedded: Float[Tensor, "rows words embedding"], first: int = 0
    ) -> Float[Tensor, "rows words hidden"]:
        """`first`: the position of the first of these words."""
        words = self.input(embedded * self.scale)
        # In the type of what came in, so that under autocast the sums of all layers are, too.
        places = sinusoids(first, *words.shape[1:], dtype=embedded.dtype, device=embedded.device)
        return F.dropout(words + places, self.dropout, self.training)


class TransformerEncoder(nn.Module):
    """A stack of layers, each self-attention and ReLU between two linear maps.

    Vaswani et al. 2017, section 3.1 and eq. 2: ReLU, which on a CPU is also the cheapest.
    """

    def __init__(
        self,
        embedding_size: int,
        hidden_size: int,
        *,
        layers: int,
        heads: int,
        inner_size: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.size = hidden_size
        self.words = PlacedWords(embedding_size, hidden_size, dropout=dropout)
        layer = nn.TransformerEncoderLayer(
            hidden_size,
            heads,
            inner_size,
            dropout,
            activation=F.relu,
            batch_first=True,
            norm_first=True,
        )
        self.layers = nn.TransformerEncoder(
            layer, layers, norm=nn.LayerNorm(hidden_size), enable_nested_tensor=False
        )
        initialise(self)  # also since torch's layers are copies of one

    def forward(
        self, embedded: Float[Tensor, "batch source embedding"], mask: Bool[Tensor, "batch source"]
    ) -> EncoderOutput:
        states = self.layers(self.words(embedded), src_key_padding_mask=~mask)
        states = states.masked_fill(~mask[..., None], 0.0)
        mean = states.sum(1) / mask.sum(1, keepdim=True)
        return EncoderOutput(states, states, mean[None])


@dataclass(frozen=True)
class TransformerState(DecoderState):
    """What was said so far, as each layer's self-attention reads it; nothing at the start."""

    keys: tuple[Float[Tensor, "rows said hidden"], ...]
    values: tuple[Float[Tensor, "rows said hidden"], ...]


class LayerOutput(NamedTuple):
    """Of each new step its state, and what it saw of the source; all keys and values so far."""

    states: Float[Tensor, "rows steps hidden"]
    keys: Float[Tensor, "rows said hidden"]
    values: Float[Tensor, "rows said hidden"]
    context: Float[Tensor, "rows steps hidden"]
    """All heads side by side, before their common map."""
    log_attention: Float[Tensor, "documents heads queries source"] | None
    """Of a layer that points; its queries are the steps of all rows that read the document."""


class TransformerDecoderLayer(nn.Module):
    """Self-attention, attention to the source, and ReLU between two linear maps.

    Vaswani et al. 2017, section 3.1; dropout is where torch's own layer has it.
    `number`: its place in the stack, and in the state's tuples.
    `points`: it also tells where each head looked.
    """

    def __init__(
        self,
        number: int,
        hidden_size: int,
        encoder_size: int,
        *,
        heads: int,
        inner_size: int,
        points: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.self_norm = nn.LayerNorm(hidden_size)
        self.self_input = nn.Linear(hidden_size, 3 * hidden_size)
        self.self_output = nn.Linear(hidden_size, hidden_size)
        self.source_norm = nn.LayerNorm(hidden_size)
        self.query = nn.Linear(hidden_size, hidden_size)
        # A bias would add the same to all scores of a query, and softmax would not see it.
        self.key = nn.Linear(encoder_size, hidden_size, bias=False)
        self.value = nn.Linear(encoder_size, hidden_size)
        self.source_output = nn.Linear(hidden_size, hidden_size)
        self.inner_norm = nn.LayerNorm(hidden_size)
        self.inner_input = nn.Linear(hidden_size, inner_size)
        self.inner_output = nn.Linear(inner_size, hidden_size)
        self.number = number
        self.heads = heads
        self.points = points
        self.dropout = dropout

    def forward(
        self,
        states: Float[Tensor, "rows steps hidden"],
        state: TransformerState,
        may_see: Bool[Tensor, "steps said"] | None,
    ) -> LayerOutput:
        """`may_see`: what each step reads of all that will then have been said; None: all."""
        query, *new = self.self_input(self.self_norm(states)).chunk(3, dim=-1)
        said = state.keys[self.number], state.values[self.number]
        keys, values = (torch.cat(both, dim=1) for both in zip(said, new, strict=True))
        states = states + self.drop(self.self_output(self.read(query, keys, values, may_see)))

        query = self.query(self.source_norm(states))
        context, log_attention = self.look(query, state.source)
        states = states + self.drop(self.source_output(context))

        inner = torch.relu(self.inner_input(self.inner_norm(states)))
        states = states + self.drop(self.inner_output(self.drop(inner)))
        return LayerOutput(states, keys, values, context, log_attention)

    def drop(self, table: Tensor) -> Tensor:
        return F.dropout(table, self.dropout, self.training)

    def look(
        self, query: Float[Tensor, "rows steps hidden"], source: EncodedSource
    ) -> tuple[
        Float[Tensor, "rows steps hidden"], Float[Tensor, "documents heads queries source"] | None
    ]:
        """What each query reads of its document: all rows of a document at once."""
        queries = query.reshape(len(source.mask), -1, query.shape[-1])
        keys, values = source.keys[self.number].tensor, source.values[self.number].tensor
        log_attention = None
        if self.points:
            context, log_attention = self.point(queries, keys, values, source.mask)
        else:
            context = self.read(queries, keys, values, source.mask[:, None, None])
        return context.reshape(query.shape), log_attention

    def read(
        self,
        query: Float[Tensor, "rows queries hidden"],
        keys: Float[Tensor, "rows words hidden"],
        values: Float[Tensor, "rows words hidden"],
        may_see: Bool[Tensor, "*all words"] | None,
    ) -> Float[Tensor, "rows queries hidden"]:
        """Of each head softmax(q . k / sqrt(head)) v.  Vaswani et al. 2017, eq. 1."""
        contexts = F.scaled_dot_product_attention(
            self.in_heads(query).transpose(1, 2),
            self.in_heads(keys).transpose(1, 2),
            self.in_heads(values).transpose(1, 2),
            attn_mask=may_see,
            dropout_p=self.dropout if self.training else 0.0,
        )
        return contexts.transpose(1, 2).flatten(2)

    def point(
        self,
        query: Float[Tensor, "documents queries hidden"],
        keys: Float[Tensor, "documents source hidden"],
        values: Float[Tensor, "documents source hidden"],
        mask: Bool[Tensor, "documents source"],
    ) -> tuple[
        Float[Tensor, "documents queries hidden"],
        Float[Tensor, "documents heads queries source"],
    ]:
        """The same, and the logarithm of its softmax."""
        contexts, log_attentions = [], []
        # One head after the other: a product of all at once would copy keys and values each time.
        heads = (self.in_heads(part).unbind(2) for part in (query, keys, values))
        for asks, is_asked, is_read in zip(*heads, strict=True):
            scores = asks / math.sqrt(asks.shape[-1]) @ is_asked.transpose(1, 2)
            log_attentions.append(masked_log_softmax(scores, mask))
            attention = self.drop(log_attentions[-1].exp())
            contexts.append(attention.to(is_read.dtype) @ is_read)
        return torch.cat(contexts, dim=-1), torch.stack(log_attentions, dim=1)

    def in_heads(
        self, states: Float[Tensor, "rows words hidden"]
    ) -> Float[Tensor, "rows words heads head"]:
        """Each head's part of every state."""
        return states.view(*states.shape[:2], self.heads, -1)


class TransformerDecoder(Decoder):
    """A stack of layers; the last one points, and its context helps the gate.

    `copy_head`: the copy distribution is the attention of the last layer's `last` head, or the
    `mean` of all its heads: See et al. 2017, eq. 9, needs a single one.
    """

    def __init__(
        self,
        *,
        embedding_size: int,
        hidden_size: int,
        encoder_size: int,
        layers: int,
        heads: int,
        inner_size: int,
        output_size: int,
        output_activation: bool,
        pointer: bool,
        copy_head: Literal["last", "mean"],
        dropout: float,
    ) -> None:
        super().__init__(
            state_size=hidden_size,
            gate_size=3 * hidden_size,
            output_size=output_size,
            output_activation=output_activation,
            pointer=pointer,
            dropout=dropout,
        )
        self.words = PlacedWords(embedding_size, hidden_size, dropout=dropout)
        self.layers = nn.ModuleList(
            TransformerDecoderLayer(
                number,
                hidden_size,
                encoder_size,
                heads=heads,
                inner_size=inner_size,
                points=number == layers - 1,
                dropout=dropout,
            )
            for number in range(layers)
        )
        self.norm = nn.LayerNorm(hidden_size)
        self.copy_head = copy_head
        initialise(self)

    def project(self, encoded: EncoderOutput) -> tuple[tuple[Shared, ...], tuple[Shared, ...]]:
        layers: Any = self.layers
        keys = tuple(Shared(layer.key(encoded.states)) for layer in layers)
        return keys, tuple(Shared(layer.value(encoded.values)) for layer in layers)

    def start(self, encoded: EncoderOutput, source: EncodedSource) -> TransformerState:
        # Of the keys' type: under autocast a cache of another would be converted at each step.
        shape = len(source.mask), 0, self.norm.normalized_shape[0]
        nothing = tuple(keys.tensor.new_zeros(shape) for keys in source.keys)
        return TransformerState(source, nothing, nothing)

    def forward(
        self, embedded: Float[Tensor, "rows steps embedding"], state: TransformerState
    ) -> tuple[DecoderOutput, TransformerState]:
        """All steps from `state` on, at once."""
        said, steps = state.keys[0].shape[1], embedded.shape[1]
        words = states = self.words(embedded, said)
        may_see = None
        if steps > 1:  # a single one sees all that was said
            may_see = torch.ones(steps, said + steps, dtype=torch.bool, device=words.device)
            may_see = may_see.tril(said)
        layers = []
        for layer in self.layers:
            layers.append(layer(states, state, may_see))
            states = layers[-1].states
        states = self.norm(states)
        log_attention = self.copies(layers[-1].log_attention).reshape(len(words), steps, -1)
        attention = log_attention.exp()
        seen_by_gate = torch.cat([layers[-1].context, states, words], dim=-1)
        features, gate = self.words_from(states, seen_by_gate)
        coverage_loss = attention.new_zeros(attention.shape[:2])
        output = DecoderOutput(features, attention, log_attention, gate, coverage_loss)
        keys = tuple(layer.keys for layer in layers)
        return output, TransformerState(state.source, keys, tuple(layer.values for layer in layers))

    def copies(
        self, log_attention: Float[Tensor, "documents heads queries source"]
    ) -> Float[Tensor, "documents queries source"]:
        """Logarithm of the last head's attention, or of the mean of all heads'."""
        if self.copy_head == "last":
            return log_attention[:, -1]
        return log_attention.logsumexp(1) - math.log(log_attention.shape[1])
