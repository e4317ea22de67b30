"""The pointer-generator as a textbook has it: one pair, one word after the other, in loops.

No batch, no padding, no mask, no logarithm before the end; each step builds the whole mixture. It
borrows a model's weights and settings and none of its code.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pgsum.data.example import Example, Source
from pgsum.nn.attention import GeneralRelevance
from pgsum.nn.model import PointerGenerator


@dataclass(frozen=True)
class TextbookStep:
    p_final: Tensor
    """Over the vocabulary and this source's own OOVs."""
    attention: Tensor
    p_gen: Tensor
    coverage: Tensor
    """Sum of the attentions of the steps before."""


def lstm_cell(
    lstm: nn.LSTM, suffix: str, x: Tensor, hidden: Tensor, cell: Tensor
) -> tuple[Tensor, Tensor]:
    """Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000."""
    w_x, w_h, b_x, b_h = (
        getattr(lstm, name + suffix) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    take, keep, new, show = (w_x @ x + b_x + w_h @ hidden + b_h).chunk(4)
    cell = keep.sigmoid() * cell + take.sigmoid() * new.tanh()
    return show.sigmoid() * cell.tanh(), cell


def run_lstm(lstm: nn.LSTM, suffix: str, inputs: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
    """The hidden state after each input, and the last cell."""
    hidden = cell = torch.zeros(lstm.hidden_size, dtype=inputs[0].dtype)
    states = []
    for x in inputs:
        hidden, cell = lstm_cell(lstm, suffix, x, hidden, cell)
        states.append(hidden)
    return states, cell


def read(model: PointerGenerator, source: Source) -> tuple[list[Tensor], Tensor, Tensor]:
    """The state at each source token; hidden state and cell that the decoder starts with."""
    states = [model.embedding.weight[i] for i in source.source_ids]
    for layer in model.encoder.layers:
        forward, forward_cell = run_lstm(layer.rnn, "_l0", states)
        backward, backward_cell = run_lstm(layer.rnn, "_l0_reverse", states[::-1])
        hidden = torch.cat([forward[-1], backward[-1]])
        cell = torch.cat([forward_cell, backward_cell])
        states = [torch.cat(pair) for pair in zip(forward, backward[::-1], strict=True)]
    return (
        states,
        model.decoder.bridge.hidden[0](hidden).relu(),
        model.decoder.bridge.cell[0](cell).relu(),
    )


def relevance(model: PointerGenerator, query: Tensor, key: Tensor, coverage: Tensor) -> Tensor:
    by = model.decoder.attention.relevance
    if isinstance(by, GeneralRelevance):
        score = query @ by.key.weight @ key
        return score if by.coverage is None else score + by.coverage[0] * coverage
    inner = by.key.weight @ key + by.query.weight @ query + by.query.bias
    if by.coverage is not None:
        inner = inner + by.coverage.weight[:, 0] * coverage
    return by.v.weight[0] @ inner.tanh()


def steps(model: PointerGenerator, source: Source, reads: Sequence[int]) -> list[TextbookStep]:
    """What follows each of the `reads`, ids of the fixed vocabulary."""
    decoder = model.decoder
    states, hidden, cell = read(model, source)
    context = torch.zeros_like(states[0])
    coverage = torch.zeros(len(states), dtype=context.dtype)
    found = []
    for last_id in reads:
        x = model.embedding.weight[last_id]
        if decoder.input is not None:
            x = decoder.input(torch.cat([x, context]))
        hidden, cell = lstm_cell(decoder.rnn, "_l0", x, hidden, cell)
        query = torch.cat([cell, hidden]) if decoder.query_with_cell else hidden
        scores = [
            relevance(model, query, key, covered)
            for key, covered in zip(states, coverage, strict=True)
        ]
        attention = torch.stack([score.exp() for score in scores])
        attention = attention / attention.sum()
        context = sum(weight * state for weight, state in zip(attention, states, strict=True))
        features = decoder.output(torch.cat([hidden, context]))
        if decoder.output_activation:
            features = features.tanh()
        scores = (model.projection.weight @ features + model.projection.bias).exp()
        p_vocab = scores / scores.sum()
        p_gen = torch.ones((), dtype=context.dtype)
        if decoder.gate is not None:
            p_gen = decoder.gate(torch.cat([context, query, x]))[0].sigmoid()
        p_final = mixture(
            p_vocab, attention, p_gen, source.source_extended_ids, oovs=len(source.source_oovs)
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


def loss(model: PointerGenerator, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Negative log-likelihood and coverage loss: means over the gold words that can be said.

    See et al. 2017, eqs. 6 and 12, but averaged over the words of all pairs together.
    """
    nll, repeated = [], []
    for example in examples:
        found = steps(model, example.source, example.target_input_ids)
        for step, gold in zip(found, example.target_extended_ids, strict=True):
            if gold == model.unk_id:
                continue
            if not model.pointer and gold >= model.vocab_size:
                gold = model.unk_id
            nll.append(-step.p_final[gold].log())
            pairs = zip(step.attention, step.coverage, strict=True)
            repeated.append(sum(torch.minimum(a, c) for a, c in pairs))
    return torch.stack(nll).mean(), torch.stack(repeated).mean()
