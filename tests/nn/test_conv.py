from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from pgsum.nn.attention import AdditiveRelevance, Attention, GeneralRelevance
from pgsum.nn.conv import (
    ConvDecoder,
    ConvEncoder,
    ConvState,
    GatedConvolution,
    PositionEmbedding,
)
from pgsum.nn.decoder import DecoderOutput, EncodedSource
from pgsum.nn.encoder import EncoderOutput

EMBEDDING, ENCODER, HIDDEN, ATTENTION, OUTPUT, POSITIONS = 3, 4, 5, 2, 7, 6
SOURCE, STEPS = 9, 8  # both beyond the positions that are told apart
ROOT_HALF = 0.5**0.5


class Pair(NamedTuple):
    encoder: ConvEncoder
    decoder: ConvDecoder

    def start(self, embedded: Tensor, mask: Tensor) -> ConvState:
        encoded = self.encoder(embedded, mask)
        keys, values = self.decoder.project(encoded)
        ids = torch.zeros_like(mask, dtype=torch.long)
        return self.decoder.start(encoded, EncodedSource(keys, values, mask, ids, ids, 0))

    def parameters(self) -> dict[str, nn.Parameter]:
        return {
            f"{side}.{name}": parameter
            for side, module in self._asdict().items()
            for name, parameter in module.named_parameters()
        }


def tiny_encoder(*, kernel_size: int = 3, dropout: float = 0.0) -> ConvEncoder:
    return ConvEncoder(
        EMBEDDING,
        ENCODER,
        layers=2,
        kernel_size=kernel_size,
        max_positions=POSITIONS,
        dropout=dropout,
    )


def tiny_pair(*, kernel_size: int = 3, dropout: float = 0.0, pointer: bool = True) -> Pair:
    torch.manual_seed(0)
    encoder = tiny_encoder(kernel_size=kernel_size, dropout=dropout)
    decoder = ConvDecoder(
        embedding_size=EMBEDDING,
        hidden_size=HIDDEN,
        encoder_size=encoder.size,
        layers=2,
        kernel_size=kernel_size,
        max_positions=POSITIONS,
        attentions=[
            Attention(GeneralRelevance(HIDDEN, ENCODER)),
            Attention(AdditiveRelevance(HIDDEN, ENCODER, ATTENTION)),
        ],
        output_size=OUTPUT,
        output_activation=True,
        pointer=pointer,
        dropout=dropout,
    )
    pair = Pair(encoder.double().eval(), decoder.double().eval())
    for parameter in pair.parameters().values():  # large enough for each to matter, biases too
        nn.init.normal_(parameter, std=0.7)
    return pair


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def tiny_sources() -> tuple[Tensor, Tensor]:
    """Three sources of different length, their padding not 0."""
    mask = torch.arange(SOURCE) < torch.tensor([[SOURCE], [1], [5]])
    return drawn(3, SOURCE, EMBEDDING), mask


def tiny_targets() -> Tensor:
    return drawn(3, STEPS, EMBEDDING, seed=2)


def unpadded_source() -> tuple[Tensor, Tensor]:
    """One source, unpadded."""
    return drawn(1, SOURCE, EMBEDDING), torch.ones(1, SOURCE, dtype=torch.bool)


def row_of(table: Tensor, row: int) -> Tensor:
    return table[row : row + 1]


# The slow twin: one source, one position after another, vectors only.


def gated(convolution: GatedConvolution, window: list[Tensor]) -> Tensor:
    """v = W [x_1 ... x_k] + b; [A; B] = v; A * sigmoid(B)."""
    size = len(window[0])
    weights = convolution.linear.weight.split(size, dim=1)
    v = convolution.linear.bias
    for weight, x in zip(weights, window, strict=True):
        v = v + weight @ x
    return v[:size] * torch.sigmoid(v[size:])


def placed(side: ConvEncoder | ConvDecoder, embedded: Tensor) -> list[Tensor]:
    words = []
    for place, word in enumerate(embedded):
        vector = side.positions.table.weight[min(place, POSITIONS - 1)]
        words.append(side.input.weight @ (word + vector) + side.input.bias)
    return words


def read_by_twin(
    encoder: ConvEncoder, embedded: Tensor, kernel_size: int
) -> tuple[list[Tensor], list[Tensor]]:
    """States z and values z + e, scaled."""
    words = placed(encoder, embedded)
    states, side = words, kernel_size // 2
    for convolution in encoder.layers:
        beyond = [torch.zeros_like(words[0])] * side
        seen = [*beyond, *states, *beyond]
        states = [
            ROOT_HALF * (gated(convolution, seen[j : j + kernel_size]) + state)
            for j, state in enumerate(states)
        ]
    return states, [ROOT_HALF * (z + e) for z, e in zip(states, words, strict=True)]


def relevance_by_twin(relevance: nn.Module, d: Tensor, z: Tensor) -> Tensor:
    if isinstance(relevance, GeneralRelevance):
        return d @ (relevance.key.weight @ z)
    asked = relevance.query.weight @ d + relevance.query.bias
    return relevance.v.weight[0] @ torch.tanh(relevance.key.weight @ z + asked)


def written_by_twin(
    pair: Pair, source: Tensor, target: Tensor, kernel_size: int
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Of each step features, attention, and the gate's logit."""
    decoder = pair.decoder
    z, values = read_by_twin(pair.encoder, source, kernel_size)
    words = placed(decoder, target)
    states = words
    for layer in decoder.layers:
        seen = [torch.zeros_like(words[0])] * (kernel_size - 1) + states
        looks, following = [], []
        for i, g in enumerate(words):
            h = gated(layer.convolution, seen[i : i + kernel_size])
            d = ROOT_HALF * (layer.query.weight @ h + layer.query.bias + g)
            scores = [relevance_by_twin(layer.attention.relevance, d, z_j) for z_j in z]
            attention = torch.stack(scores).exp() / sum(score.exp() for score in scores)
            context = sum(a * v for a, v in zip(attention, values, strict=True))
            h = ROOT_HALF * (h + layer.context.weight @ context)
            following.append(ROOT_HALF * (h + states[i]))
            looks.append((attention, context))
        states = following
    steps = []
    for h, g, (attention, context) in zip(states, words, looks, strict=True):
        features = torch.tanh(decoder.output.weight @ h + decoder.output.bias)
        gate = decoder.gate.weight[0] @ torch.cat([context, h, g]) + decoder.gate.bias[0]
        steps.append((features, attention, gate))
    return steps


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
def test_the_encoder_equals_the_papers_formulas(kernel_size):
    encoder = tiny_pair(kernel_size=kernel_size).encoder
    embedded, mask = unpadded_source()
    found = encoder(embedded, mask)
    states, values = read_by_twin(encoder, embedded[0], kernel_size)
    torch.testing.assert_close(found.states[0], torch.stack(states))
    torch.testing.assert_close(found.values[0], torch.stack(values))
    torch.testing.assert_close(found.final[0, 0], sum(states) / len(states))
    assert found.final_cell is None


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
def test_the_decoder_equals_the_papers_formulas(kernel_size):
    pair = tiny_pair(kernel_size=kernel_size)
    source, target = unpadded_source(), row_of(tiny_targets(), 0)
    output, _ = pair.decoder(target, pair.start(*source))
    expected = written_by_twin(pair, source[0][0], target[0], kernel_size)
    features, attention, gate = (torch.stack(parts) for parts in zip(*expected, strict=True))
    torch.testing.assert_close(output.features[0], features)
    torch.testing.assert_close(output.attention[0], attention)
    torch.testing.assert_close(output.log_attention[0], attention.log())
    torch.testing.assert_close(output.gate[0], gate)
    assert output.coverage_loss.tolist() == [[0.0] * STEPS]


def test_without_a_pointer_every_word_is_generated():
    pair = tiny_pair(pointer=False)
    output, _ = pair.decoder(tiny_targets(), pair.start(*tiny_sources()))
    assert output.gate.isposinf().all()


def test_a_batch_of_many_equals_many_of_one():
    pair, targets = tiny_pair(), tiny_targets()
    embedded, mask = tiny_sources()
    encoded = pair.encoder(embedded, mask)
    output, _ = pair.decoder(targets, pair.start(embedded, mask))
    for row, real in enumerate(mask.sum(1).tolist()):
        alone = row_of(embedded, row)[:, :real], row_of(mask, row)[:, :real]
        read = pair.encoder(*alone)
        torch.testing.assert_close(row_of(encoded.states, row)[:, :real], read.states)
        torch.testing.assert_close(row_of(encoded.values, row)[:, :real], read.values)
        torch.testing.assert_close(encoded.final[:, row : row + 1], read.final)
        written, _ = pair.decoder(row_of(targets, row), pair.start(*alone))
        torch.testing.assert_close(row_of(output.features, row), written.features)
        torch.testing.assert_close(row_of(output.attention, row)[..., :real], written.attention)
        torch.testing.assert_close(row_of(output.gate, row), written.gate)


def test_padding_changes_nothing_and_is_zero():
    pair, targets = tiny_pair(), tiny_targets()
    embedded, mask = tiny_sources()
    filled = embedded.masked_fill(~mask[..., None], 9.0)
    longer = torch.cat([filled, torch.full((3, 4, EMBEDDING), 9.0)], dim=1)
    longer_mask = torch.cat([mask, torch.zeros(3, 4, dtype=torch.bool)], dim=1)
    expected, found = pair.encoder(embedded, mask), pair.encoder(longer, longer_mask)
    for name in ("states", "values"):
        torch.testing.assert_close(getattr(found, name)[:, :SOURCE], getattr(expected, name))
        assert not getattr(found, name)[~longer_mask].any()
    torch.testing.assert_close(found.final, expected.final)
    usual, _ = pair.decoder(targets, pair.start(embedded, mask))
    padded, _ = pair.decoder(targets, pair.start(longer, longer_mask))
    torch.testing.assert_close(padded.features, usual.features)
    torch.testing.assert_close(padded.gate, usual.gate)
    torch.testing.assert_close(padded.attention[..., :SOURCE], usual.attention)
    assert not padded.attention.masked_select(~longer_mask[:, None]).any()


def test_no_gradient_comes_from_padding():
    encoder = tiny_pair().encoder
    embedded, mask = tiny_sources()
    embedded.requires_grad_()
    encoded = encoder(embedded, mask)
    sum(part.square().sum() for part in (encoded.states, encoded.values, encoded.final)).backward()
    assert not embedded.grad[~mask].any()
    assert embedded.grad[mask].abs().min() > 0


def run(pair: Pair, parts: list[Tensor], state: ConvState) -> tuple[DecoderOutput, ConvState]:
    outputs = []
    for part in parts:
        output, state = pair.decoder(part, state)
        outputs.append(output)
    return DecoderOutput(*(torch.cat(several, 1) for several in zip(*outputs, strict=True))), state


@settings(max_examples=40)
@given(cuts=st.sets(st.integers(1, STEPS - 1)).map(sorted), kernel_size=st.sampled_from([1, 3, 5]))
def test_any_split_into_calls_equals_all_steps_at_once(cuts, kernel_size):
    pair, targets = tiny_pair(kernel_size=kernel_size), tiny_targets()
    with torch.no_grad():
        begin = pair.start(*tiny_sources())
        expected, end = pair.decoder(targets, begin)
        found, state = run(pair, list(targets.tensor_split(cuts, dim=1)), begin)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert state.length == end.length == STEPS
    for ours, theirs in zip(state.inputs, end.inputs, strict=True):
        assert ours.shape == (3, kernel_size - 1, HIDDEN)
        torch.testing.assert_close(ours, theirs)


def test_one_step_after_the_other_equals_all_at_once():
    pair, targets = tiny_pair(), tiny_targets()
    begin = pair.start(*tiny_sources())
    found, _ = run(pair, list(targets.split(1, dim=1)), begin)
    for ours, theirs in zip(found, pair.decoder(targets, begin)[0], strict=True):
        torch.testing.assert_close(ours, theirs)


def test_rows_of_a_beam_go_on_where_their_parents_were():
    """Rows are repeated, re-ordered and dropped, a document ends: each goes on as if alone."""
    pair = tiny_pair()
    embedded, mask = tiny_sources()
    state = pair.start(embedded, mask)
    documents = torch.arange(3)
    histories = drawn(3, 0, EMBEDDING)
    beams = [[0, 0, 1, 1, 2, 2], [1, 0, 3, 3, 4, 5], [0, 0, 5, 4], [1, 0, 2, 2, 3, 3], [2, 0]]
    for seed, parents in enumerate([[0, 1, 2], *beams]):
        rows = torch.tensor(parents)
        state, documents, histories = state.select(rows), documents[rows], histories[rows]
        words = drawn(len(rows), 1 + seed % 2, EMBEDDING, seed=seed)
        histories = torch.cat([histories, words], dim=1)
        output, state = pair.decoder(words, state)
        assert len(output.features) == state.source.rows_each * len(state.source.mask)
        for row, document in enumerate(documents.tolist()):
            alone = pair.start(row_of(embedded, document), row_of(mask, document))
            expected, _ = pair.decoder(row_of(histories, row), alone)
            for ours, theirs in zip(output, expected, strict=True):
                torch.testing.assert_close(ours[row], theirs[0, -words.shape[1] :])


@pytest.mark.parametrize("kernel_size", [1, 3])
def test_no_step_sees_a_later_word(kernel_size):
    pair = tiny_pair(kernel_size=kernel_size)
    targets = tiny_targets().requires_grad_()
    output, _ = pair.decoder(targets, pair.start(*tiny_sources()))
    for step in range(STEPS):
        seen = (
            output.features[:, step].sum()
            + output.gate[:, step].sum()
            + output.attention[:, step].square().sum()
        )
        (gradient,) = torch.autograd.grad(seen, targets, retain_graph=True)
        assert not gradient[:, step + 1 :].any()
        assert gradient[:, step].abs().min() > 0


def test_positions_from_the_last_on_share_its_vector():
    positions = PositionEmbedding(EMBEDDING, 4)
    vectors = positions(torch.zeros(1, 6, EMBEDDING))[0]
    assert torch.equal(vectors[:4], positions.table.weight)
    assert torch.equal(vectors[4:], positions.table.weight[[3, 3]])


@given(first=st.integers(0, 9))
def test_positions_continue_from_where_they_were(first):
    positions = PositionEmbedding(EMBEDDING, 4)
    embedded = torch.zeros(2, 15, EMBEDDING)
    assert torch.equal(positions(embedded[:, first:], first), positions(embedded)[:, first:])


def test_a_far_position_is_not_out_of_range():
    pair, targets = tiny_pair(), tiny_targets()
    begin = pair.start(*tiny_sources())
    near, far = (ConvState(begin.source, begin.inputs, n) for n in (POSITIONS - 1, 10**6))
    found = [pair.decoder(targets, state)[0].features for state in (near, far)]
    torch.testing.assert_close(*found)


def test_every_parameter_gets_a_gradient():
    pair = tiny_pair()
    output, _ = pair.decoder(tiny_targets(), pair.start(*tiny_sources()))
    loss = sum(part.sum() for part in (output.features, output.gate, output.attention.square()))
    loss.backward()
    for name, parameter in pair.parameters().items():
        assert parameter.grad.abs().max() > 0, name


def test_all_layers_read_the_same_values():
    pair = tiny_pair()
    encoded = pair.encoder(*tiny_sources())
    keys, values = pair.decoder.project(encoded)
    assert len(keys) == 2
    assert values[0] is values[1]
    torch.testing.assert_close(values[0].tensor, encoded.values)


def test_half_precision_stays_near_single_precision():
    pair = Pair(*(side.float() for side in tiny_pair()))
    embedded, mask = tiny_sources()
    embedded, targets = embedded.float(), tiny_targets().float()
    expected, _ = pair.decoder(targets, pair.start(embedded, mask))
    with torch.autocast("cpu", torch.bfloat16):
        output, state = pair.decoder(targets, pair.start(embedded, mask))
        pair.decoder(targets[:, :1], state)
    for ours, theirs in zip(output, expected, strict=True):
        assert ours.isfinite().all()
        real = theirs > -1e30  # on padding the logarithm is the least finite number
        torch.testing.assert_close(ours[real].float(), theirs[real], atol=0.1, rtol=0.1)
    assert output.attention.dtype == output.log_attention.dtype == torch.float32
    (output.features.float().sum() + output.gate.float().sum()).backward()
    assert all(parameter.grad.isfinite().all() for parameter in pair.parameters().values())


def everything_of(pair: Pair) -> list[Tensor]:
    encoded: EncoderOutput = pair.encoder(*tiny_sources())
    output, state = pair.decoder(tiny_targets(), pair.start(*tiny_sources()))
    return [encoded.states, output.features, output.attention, output.gate, *state.inputs]


def test_dropout_is_for_training_only():
    plain, dropping = tiny_pair(), tiny_pair(dropout=0.5)
    for ours, theirs in zip(everything_of(dropping), everything_of(plain), strict=True):
        torch.testing.assert_close(ours, theirs)
    for side in dropping:
        side.train()
    for once, again in zip(everything_of(dropping), everything_of(dropping), strict=True):
        assert not torch.equal(once, again)


def test_weights_begin_with_the_papers_deviations():
    torch.manual_seed(0)
    encoder = ConvEncoder(100, 200, layers=1, kernel_size=3, max_positions=500, dropout=0.2)
    expected = {
        "positions.table.weight": 0.1,
        "input.weight": (0.8 / 100) ** 0.5,
        "input.bias": 0.0,
        "layers.0.linear.weight": (4 * 0.8 / 600) ** 0.5,
        "layers.0.linear.bias": 0.0,
    }
    found = {name: float(p.detach().std()) for name, p in encoder.named_parameters()}
    assert found == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_layers_begin_by_keeping_the_variance(dropout):
    """Section 3.5; the more exactly, the smaller the states are."""
    torch.manual_seed(0)
    convolution = GatedConvolution(64, 5, dropout=dropout)
    states = nn.functional.dropout(0.1 * torch.randn(8, 200, 64), dropout)
    with torch.no_grad():
        assert float(convolution(states).std()) == pytest.approx(0.1, rel=0.1)


def test_each_layer_must_have_its_attention():
    with pytest.raises(ValueError, match="longer than"):
        ConvDecoder(
            embedding_size=EMBEDDING,
            hidden_size=HIDDEN,
            encoder_size=ENCODER,
            layers=1,
            kernel_size=3,
            max_positions=POSITIONS,
            attentions=[Attention(GeneralRelevance(HIDDEN, ENCODER))] * 2,
            output_size=OUTPUT,
            output_activation=True,
            pointer=True,
            dropout=0.0,
        )
