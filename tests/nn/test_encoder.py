from dataclasses import replace
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from pgsum.nn.encoder import Bridge, EncoderOutput, RecurrentEncoder, RecurrentLayer, in_reverse

INPUT, HIDDEN = 3, 5
LENGTHS = [[4], [1, 1], [6, 1], [1, 6], [2, 7, 5, 1], [3, 3, 3]]
CELLS = ["lstm", "gru", "rnn"]
KINDS = [
    {"cell": cell, "bidirectional": both, "layers": layers}
    for cell, both, layers in product(CELLS, [True, False], [1, 2, 3])
]


def name_of(kind: dict[str, object]) -> str:
    return f"{kind['cell']}-{'both' if kind['bidirectional'] else 'forward'}-{kind['layers']}"


EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=name_of)


def mask_of(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def draw(lengths: list[int], size: int = INPUT) -> Tensor:
    """The same numbers for the same row, whatever stands beside it; 9s on padding."""
    inputs = torch.full((len(lengths), max(lengths), size), 9.0, dtype=torch.float64)
    for row, length in enumerate(lengths):
        generator = torch.Generator().manual_seed(row)
        inputs[row, :length] = torch.randn(length, size, dtype=torch.float64, generator=generator)
    return inputs


def encoder_of(**kind: object) -> RecurrentEncoder:
    torch.manual_seed(0)
    encoder = RecurrentEncoder(INPUT, HIDDEN, **kind).double()
    for parameter in encoder.parameters():
        nn.init.uniform_(parameter, -1, 1)
    return encoder


def packed(encoder: RecurrentEncoder, inputs: Tensor, lengths: list[int]) -> EncoderOutput:
    """The same layers by torch's own modules over packed sequences."""
    final, final_cell = [], []
    for layer in encoder.layers:
        sequence = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        states, ends = layer.rnn(sequence)
        inputs, _ = pad_packed_sequence(states, batch_first=True)
        if isinstance(layer.rnn, nn.LSTM):
            ends, cells = ends
            final_cell.append(torch.cat([*cells], dim=-1))
        final.append(torch.cat([*ends], dim=-1))
    cells = torch.stack(final_cell) if final_cell else None
    return EncoderOutput(inputs, inputs, torch.stack(final), cells)


def parts_of(output: EncoderOutput) -> list[Tensor]:
    assert output.values is output.states
    parts = [output.states, output.final, output.final_cell]
    return [part for part in parts if part is not None]


def assert_equal(found: EncoderOutput, expected: EncoderOutput) -> None:
    torch.testing.assert_close(parts_of(found), parts_of(expected), rtol=0, atol=1e-12)


def cut(output: EncoderOutput, rows: slice, tokens: int) -> EncoderOutput:
    """Some rows, and so many positions."""
    states = output.states[rows, :tokens]
    cell = None if output.final_cell is None else output.final_cell[:, rows]
    return EncoderOutput(states, states, output.final[:, rows], cell)


def check_against_packing(lengths: list[int], **kind: object) -> None:
    """Values, and the gradients of inputs and weights for a random direction."""
    encoder, mask = encoder_of(**kind), mask_of(lengths)
    results = []
    for run in (
        lambda inputs: encoder(inputs, mask),
        lambda inputs: packed(encoder, inputs, lengths),
    ):
        inputs = draw(lengths).requires_grad_()
        output = run(inputs)
        torch.manual_seed(1)
        value = sum((part * torch.randn_like(part)).sum() for part in parts_of(output))
        results.append((output, torch.autograd.grad(value, [inputs, *encoder.parameters()])))
    (ours, our_grads), (theirs, their_grads) = results
    assert_equal(ours, theirs)
    torch.testing.assert_close(our_grads, their_grads, rtol=0, atol=1e-10)


@EVERY_KIND
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_it_equals_packed_layers_in_values_and_gradients(lengths, kind):
    check_against_packing(lengths, **kind)


@pytest.mark.parametrize("cell", CELLS)
@settings(max_examples=20)
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6), both=st.booleans())
def test_it_equals_packed_layers_for_any_lengths(cell, lengths, both):
    check_against_packing(lengths, cell=cell, bidirectional=both, layers=2)


def test_a_table_in_reverse_by_hand():
    """Rows of 3, 1 and 2 real positions; padding stays, and the second time undoes the first."""
    table = torch.tensor([[1.0, 2, 3], [4, 8, 9], [5, 6, 7]])[..., None]
    mask = mask_of([3, 1, 2])
    reversed_ = in_reverse(table, mask)
    assert reversed_[..., 0].tolist() == [[3, 2, 1], [4, 8, 9], [6, 5, 7]]
    assert torch.equal(in_reverse(reversed_, mask), table)


@EVERY_KIND
def test_a_source_read_in_reverse_is_the_reversed_source(kind):
    """Its states stand where their words do, and its end is what was read last."""
    lengths = [2, 5, 1]
    mask = mask_of(lengths)
    inputs = draw(lengths)
    encoder, plain = encoder_of(**kind, reverse_source=True), encoder_of(**kind)
    turned = inputs.clone()
    for row, length in enumerate(lengths):
        turned[row, :length] = inputs[row, :length].flip(0)
    found, expected = encoder(inputs, mask), plain(turned, mask)
    torch.testing.assert_close(found.final, expected.final)
    torch.testing.assert_close(found.final_cell, expected.final_cell)
    for row, length in enumerate(lengths):
        states = expected.states[row, :length].flip(0)
        torch.testing.assert_close(found.states[row, :length], states)
    assert (found.states[~mask] == 0).all()
    assert found.values is found.states


@EVERY_KIND
@pytest.mark.parametrize("reverse_source", [False, True])
def test_more_padding_changes_nothing(kind, reverse_source):
    encoder = encoder_of(**kind, reverse_source=reverse_source)
    lengths = [2, 4, 1]
    wide = torch.full((3, 7, INPUT), 9.0, dtype=torch.float64)
    wide[:, :4] = draw(lengths)
    mask = torch.arange(7) < torch.tensor(lengths)[:, None]
    found = encoder(wide, mask)
    assert_equal(cut(found, slice(None), 4), encoder(draw(lengths), mask_of(lengths)))
    assert (found.states[~mask] == 0).all()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("filling", [-1e3, 0.0, 1e3])
def test_what_fills_the_padding_changes_nothing_and_gets_no_gradient(cell, filling):
    encoder, lengths = encoder_of(cell=cell, layers=2), [2, 5, 1]
    mask = mask_of(lengths)
    inputs = draw(lengths).masked_fill(~mask[..., None], filling).requires_grad_()
    output = encoder(inputs, mask)
    assert_equal(output, encoder(draw(lengths), mask))
    sum(part.sin().sum() for part in parts_of(output)).backward()
    assert (inputs.grad[~mask] == 0).all()
    assert (inputs.grad[mask] != 0).all()


@EVERY_KIND
@pytest.mark.parametrize("reverse_source", [False, True])
def test_a_batch_of_many_equals_many_batches_of_one(kind, reverse_source):
    encoder, lengths = encoder_of(**kind, reverse_source=reverse_source), [3, 1, 6, 2]
    together = encoder(draw(lengths), mask_of(lengths))
    for row, length in enumerate(lengths):
        inputs = draw(lengths)[row : row + 1, :length]
        alone = encoder(inputs, torch.ones(1, length, dtype=torch.bool))
        assert_equal(cut(together, slice(row, row + 1), length), alone)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("seed", range(3))
def test_saturated_gates_still_let_nothing_of_the_padding_through(cell, seed):
    """Weights a hundred times larger than any that training finds."""
    torch.manual_seed(seed)
    layer = RecurrentLayer(cell, INPUT, HIDDEN).double()
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -100, 100)
    lengths = [1, 4]
    _, hidden, cells = layer(draw(lengths), mask_of(lengths))
    _, hidden_alone, cells_alone = layer(draw(lengths)[:1, :1], mask_of([1]))
    torch.testing.assert_close(hidden[:1], hidden_alone, rtol=0, atol=1e-12)
    if cells is not None:
        torch.testing.assert_close(cells[:1], cells_alone, rtol=0, atol=1e-12)


def test_dropout_lies_between_the_layers_only():
    one, two = RecurrentEncoder(INPUT, HIDDEN, dropout=0.5), encoder_of(layers=2, dropout=0.5)
    mask = mask_of([3, 2])
    for encoder, differs in ((one.double(), False), (two, True)):
        draws = [encoder.train()(draw([3, 2]), mask).states for _ in range(4)]
        assert any(not torch.equal(a, b) for a, b in pairwise(draws)) == differs


LAYERS, ROWS, ENCODER, DECODER = 2, 3, 4, 5


def ends(*, size: int = ENCODER, cells: bool = True, layers: int = LAYERS) -> EncoderOutput:
    torch.manual_seed(0)
    states = torch.randn(ROWS, 6, size)
    final, final_cell = torch.randn(2, layers, ROWS, size)
    return EncoderOutput(states, states, final, final_cell if cells else None)


@pytest.mark.parametrize(("activation", "bend"), [("relu", torch.relu), ("tanh", torch.tanh)])
def test_the_bridge_has_a_map_for_each_layer_hidden_state_and_cell_apart(activation, bend):
    torch.manual_seed(1)
    bridge, encoded = Bridge(ENCODER, DECODER, layers=LAYERS, activation=activation), ends()
    for found, end, maps in zip(
        bridge(encoded),
        (encoded.final, encoded.final_cell),
        (bridge.hidden, bridge.cell),
        strict=True,
    ):
        assert found.shape == (ROWS, LAYERS, DECODER)
        for layer, row in product(range(LAYERS), range(ROWS)):
            expected = bend(maps[layer].weight @ end[layer, row] + maps[layer].bias)
            torch.testing.assert_close(found[row, layer], expected)
    assert len({id(layer) for layer in (*bridge.hidden, *bridge.cell)}) == 2 * LAYERS


def test_a_bridge_of_none_hands_over_what_there_is():
    bridge, encoded = Bridge(ENCODER, ENCODER, layers=LAYERS, activation="none"), ends()
    hidden, cell = bridge(encoded)
    assert torch.equal(hidden, encoded.final.transpose(0, 1))
    assert torch.equal(cell, encoded.final_cell.transpose(0, 1))
    assert not list(bridge.parameters())


def test_decoders_without_cells_are_given_none():
    bridge = Bridge(ENCODER, DECODER, layers=LAYERS, cells=False)
    hidden, cell = bridge(ends(cells=False))
    assert (hidden.shape, cell) == ((ROWS, LAYERS, DECODER), None)


def test_an_encoder_of_one_end_without_cells_starts_every_layer_and_its_cells():
    """As convolutions do, and Transformers."""
    bridge, encoded = Bridge(ENCODER, DECODER, layers=3), ends(cells=False, layers=1)
    hidden, cell = bridge(encoded)
    for found, maps in ((hidden, bridge.hidden), (cell, bridge.cell)):
        for layer in range(3):
            torch.testing.assert_close(found[:, layer], maps[layer](encoded.final[0]).relu())
    filled = bridge(replace(encoded, final_cell=encoded.final))
    torch.testing.assert_close(filled, (hidden, cell))
