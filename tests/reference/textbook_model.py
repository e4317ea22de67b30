"""The recurrent family as a textbook has it: one pair, one word after the other, in loops.

No batch, no padding, no mask, no logarithm before the end; each step builds the whole mixture. It
borrows a model's weights and settings and none of its code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from pgsum.config import ModelConfig
from pgsum.data.example import Example, Source
from pgsum.nn.model import PointerGenerator


@dataclass(frozen=True)
class TextbookStep:
    p_final: Tensor
    """Over the vocabulary and this source's own OOVs."""
    attention: Tensor
    """All 0 without attention."""
    p_gen: Tensor
    coverage: Tensor
    """Sum of the attentions of the steps before."""


class CellState(NamedTuple):
    hidden: Tensor
    cell: Tensor | None
    """Of LSTMs."""


class Weights(NamedTuple):
    """Of one cell: for its input and for its hidden state. torch gives each a bias."""

    w_x: Tensor
    w_h: Tensor
    b_x: Tensor
    b_h: Tensor


def weights_of(rnn: nn.RNNBase, suffix: str) -> Weights:
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return Weights(*(getattr(rnn, name + suffix) for name in names))


def lstm(weights: Weights, x: Tensor, before: CellState) -> CellState:
    """Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000."""
    w_x, w_h, b_x, b_h = weights
    take, keep, new, show = (w_x @ x + b_x + w_h @ before.hidden + b_h).chunk(4)
    cell = keep.sigmoid() * before.cell + take.sigmoid() * new.tanh()
    return CellState(show.sigmoid() * cell.tanh(), cell)


def gru(weights: Weights, x: Tensor, before: CellState) -> CellState:
    """Cho et al. 2014, eqs. 5 to 8, but torch resets the product with the state, not the state."""
    w_x, w_h, b_x, b_h = weights
    reset_x, keep_x, new_x = (w_x @ x + b_x).chunk(3)
    reset_h, keep_h, new_h = (w_h @ before.hidden + b_h).chunk(3)
    reset, keep = (reset_x + reset_h).sigmoid(), (keep_x + keep_h).sigmoid()
    new = (new_x + reset * new_h).tanh()
    return CellState(keep * before.hidden + (1 - keep) * new, None)


def rnn(weights: Weights, x: Tensor, before: CellState) -> CellState:
    """Elman 1990."""
    w_x, w_h, b_x, b_h = weights
    return CellState((w_x @ x + b_x + w_h @ before.hidden + b_h).tanh(), None)


CELLS = {"lstm": lstm, "gru": gru, "rnn": rnn}


def run(cell: str, weights: Weights, inputs: Sequence[Tensor]) -> list[CellState]:
    """The state after each input, from 0 on."""
    nothing = torch.zeros(weights.w_h.shape[1], dtype=inputs[0].dtype)
    state = CellState(nothing, nothing if cell == "lstm" else None)
    states = []
    for x in inputs:
        state = CELLS[cell](weights, x, state)
        states.append(state)
    return states


def read(
    model: PointerGenerator, config: ModelConfig, source: Source
) -> tuple[list[Tensor], list[CellState]]:
    """The state at each source token, and what each layer ended with, directions side by side."""
    states = [model.embedding.weight[i] for i in source.source_ids]
    if config.reverse_source:  # Sutskever et al. 2014, section 3.3
        states = states[::-1]
    ends = []
    for layer in model.encoder.layers:
        ways = [run(config.cell, weights_of(layer.rnn, "_l0"), states)]
        last = [ways[0][-1]]
        if config.bidirectional:
            backward = run(config.cell, weights_of(layer.rnn, "_l0_reverse"), states[::-1])
            ways.append(backward[::-1])
            last.append(backward[-1])
        states = [torch.cat([state.hidden for state in at]) for at in zip(*ways, strict=True)]
        ends.append(
            CellState(
                torch.cat([state.hidden for state in last]),
                torch.cat([state.cell for state in last]) if config.cell == "lstm" else None,
            )
        )
    return states[::-1] if config.reverse_source else states, ends


def cross(model: PointerGenerator, config: ModelConfig, ends: list[CellState]) -> list[CellState]:
    """What each layer of the decoder starts with."""
    if config.bridge == "none":
        return ends
    bridge, bend = model.decoder.bridge, {"relu": torch.relu, "tanh": torch.tanh}[config.bridge]
    start = []
    for number, end in enumerate(ends):
        hidden, cell = bend(linear(bridge.hidden[number], end.hidden)), None
        if config.cell == "lstm":
            cell = bend(linear(bridge.cell[number], end.cell))
        start.append(CellState(hidden, cell))
    return start


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    return layer.weight @ x + layer.bias


def relevance(
    model: PointerGenerator, config: ModelConfig, query: Tensor, key: Tensor, coverage: Tensor
) -> Tensor:
    """Luong et al. 2015, eq. 8; Vaswani et al. 2017, eq. 1; Bahdanau et al. 2015, appendix A.1.2.

    Coverage joins the sum inside the last, as See et al. 2017, eq. 11, and the score of the others.
    """
    by = model.decoder.attention.relevance
    if config.attention == "additive":
        inner = by.key.weight @ key + linear(by.query, query)
        if config.coverage != "none":
            inner = inner + by.coverage.weight[:, 0] * coverage
        return by.v.weight[0] @ inner.tanh()
    if config.attention == "general":
        score = query @ by.key.weight @ key
    else:
        score = query @ key
        if config.attention == "scaled_dot":
            score = score / len(key) ** 0.5
    return score if config.coverage == "none" else score + by.coverage[0] * coverage


def attend(
    model: PointerGenerator,
    config: ModelConfig,
    query: Tensor,
    states: Sequence[Tensor],
    coverage: Tensor,
) -> tuple[Tensor, Tensor]:
    """How much each state is looked at, and what is read there."""
    scores = [
        relevance(model, config, query, key, covered)
        for key, covered in zip(states, coverage, strict=True)
    ]
    attention = torch.stack([score.exp() for score in scores])
    attention = attention / attention.sum()
    return attention, sum(weight * state for weight, state in zip(attention, states, strict=True))


def steps(
    model: PointerGenerator,
    config: ModelConfig,
    source: Source,
    reads: Sequence[int],
    *,
    copy_bias: float = 0.0,
    needing_support: Sequence[int] = (),
) -> list[TextbookStep]:
    """What follows each of the `reads`, ids of the fixed vocabulary.

    A word that needs support is generated only where the source has it.
    """
    decoder = model.decoder
    states, ends = read(model, config, source)
    layers = cross(model, config, ends)
    coverage = attention = torch.zeros(len(states), dtype=states[0].dtype)
    context = torch.zeros_like(states[0])
    if config.attention == "none":  # the fixed vector, or nothing
        context = ends[-1].hidden if config.context == "every_step" else context[:0]
    found = []

    def asks() -> Tensor:
        """Of the last layer."""
        hidden, cell = layers[-1]
        return torch.cat([cell, hidden]) if config.query_with_cell else hidden

    for last_id in reads:
        x = model.embedding.weight[last_id]
        if config.input_feeding:
            x = linear(decoder.input, torch.cat([x, context]))
        if config.query == "previous":  # Bahdanau et al. 2015, appendix A.1.2
            attention, context = attend(model, config, asks(), states, coverage)
        inputs = x
        if config.query == "previous" or config.attention == "none":
            inputs = torch.cat([x, context])
        for number in range(config.layers):
            weights = weights_of(decoder.rnn, f"_l{number}")
            layers[number] = CELLS[config.cell](weights, inputs, layers[number])
            inputs = layers[number].hidden
        if config.query == "current" and config.attention != "none":
            attention, context = attend(model, config, asks(), states, coverage)
        features = linear(decoder.output, torch.cat([layers[-1].hidden, context]))
        if config.output_activation:
            features = features.tanh()
        scores = linear(model.projection, features).exp()
        for word in needing_support:
            if word not in source.source_extended_ids:
                scores[word] = 0
        p_gen = torch.ones((), dtype=context.dtype)
        if config.pointer:  # See et al. 2017, eq. 8
            gate = linear(decoder.gate, torch.cat([context, asks(), x]))[0]
            p_gen = (gate - copy_bias).sigmoid()
        p_final = mixture(
            scores / scores.sum(),
            attention,
            p_gen,
            source.source_extended_ids,
            oovs=len(source.source_oovs),
        )
        found.append(TextbookStep(p_final, attention, p_gen, coverage))
        coverage = coverage + attention
    return found


def mixture(
    p_vocab: Tensor, attention: Tensor, p_gen: Tensor, source_extended_ids: Sequence[int], oovs: int
) -> Tensor:
    """See et al. 2017, eq. 9, word for word and position for position."""
    p_final = [p_gen * p for p in p_vocab] + [torch.zeros_like(p_gen)] * oovs
    for word in range(len(p_final)):
        for position, source_word in enumerate(source_extended_ids):
            if source_word == word:
                p_final[word] = p_final[word] + (1 - p_gen) * attention[position]
    return torch.stack(p_final)


def loss(
    model: PointerGenerator, config: ModelConfig, examples: Sequence[Example]
) -> tuple[Tensor, Tensor]:
    """Negative log-likelihood and coverage loss: means over the gold words that can be said.

    See et al. 2017, eqs. 6 and 12, but averaged over the words of all pairs together.
    """
    nll, repeated = [], []
    for example in examples:
        found = steps(model, config, example.source, example.target_input_ids)
        for step, gold in zip(found, example.target_extended_ids, strict=True):
            if gold == model.unk_id:
                continue
            if not config.pointer and gold >= model.vocab_size:
                gold = model.unk_id
            nll.append(-step.p_final[gold].log())
            pairs = zip(step.attention, step.coverage, strict=True)
            repeated.append(sum(torch.minimum(a, c) for a, c in pairs))
    return torch.stack(nll).mean(), torch.stack(repeated).mean()
