from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from pgsum.nn.encoder import BidirectionalLSTM, Bridge, EncoderOutput, RecurrentEncoder

INPUT, HIDDEN = 3, 5
LENGTHS = [[4], [1], [1, 1], [6, 1], [1, 6], [2, 7, 5, 1], [3, 3, 3]]


def mask_of(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def draw(lengths: list[int], size: int = INPUT) -> Tensor:
    """The same numbers for the same row, whatever stands beside it; 9s on padding."""
    inputs = torch.full((len(lengths), max(lengths), size), 9.0, dtype=torch.float64)
    for row, length in enumerate(lengths):
        generator = torch.Generator().manual_seed(row)
        inputs[row, :length] = torch.randn(length, size, dtype=torch.float64, generator=generator)
    return inputs


def encoder_of(layers: int) -> RecurrentEncoder:
    torch.manual_seed(0)
    encoder = RecurrentEncoder(INPUT, HIDDEN, layers=layers).double()
    for parameter in encoder.parameters():
        nn.init.uniform_(parameter, -1, 1)
    return encoder


def packed(encoder: RecurrentEncoder, inputs: Tensor, lengths: list[int]) -> EncoderOutput:
    """The same layers by torch's own LSTM over packed sequences."""
    for layer in encoder.layers:
        sequence = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        states, (hidden, cell) = layer.rnn(sequence)
        inputs, _ = pad_packed_sequence(states, batch_first=True)
    both_ends = [torch.cat(tuple(end), dim=-1) for end in (hidden, cell)]
    return EncoderOutput(inputs, *both_ends)


def assert_equal(found: EncoderOutput, expected: EncoderOutput) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def check_against_packing(lengths: list[int], layers: int) -> None:
    """Values, and the gradients of inputs and weights for a random direction."""
    encoder, mask = encoder_of(layers), mask_of(lengths)
    results = []
    for run in (
        lambda inputs: encoder(inputs, mask),
        lambda inputs: packed(encoder, inputs, lengths),
    ):
        inputs = draw(lengths).requires_grad_()
        output = run(inputs)
        torch.manual_seed(1)
        direction = [torch.randn_like(part) for part in output]
        value = sum((part * along).sum() for part, along in zip(output, direction, strict=True))
        grads = torch.autograd.grad(value, [inputs, *encoder.parameters()])
        results.append((output, grads))
    (ours, our_grads), (theirs, their_grads) = results
    assert_equal(ours, theirs)
    for one, other in zip(our_grads, their_grads, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_it_equals_the_packed_lstm_in_values_and_gradients(lengths, layers):
    check_against_packing(lengths, layers)


@settings(max_examples=30)
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_it_equals_the_packed_lstm_for_any_lengths(lengths):
    check_against_packing(lengths, layers=2)


@pytest.mark.parametrize("layers", [1, 2])
def test_more_padding_changes_nothing(layers):
    encoder = encoder_of(layers)
    lengths = [2, 4, 1]
    wide = torch.full((3, 7, INPUT), 9.0, dtype=torch.float64)
    wide[:, :4] = draw(lengths)
    mask = torch.arange(7) < torch.tensor(lengths)[:, None]
    found = encoder(wide, mask)
    narrow = encoder(draw(lengths), mask_of(lengths))
    assert_equal(found._replace(states=found.states[:, :4]), narrow)
    assert (found.states[~mask] == 0).all()


@pytest.mark.parametrize("filling", [-1e3, 0.0, 1e3])
def test_what_fills_the_padding_changes_nothing_and_gets_no_gradient(filling):
    encoder, lengths = encoder_of(2), [2, 5, 1]
    mask = mask_of(lengths)
    inputs = draw(lengths).masked_fill(~mask[..., None], filling).requires_grad_()
    output = encoder(inputs, mask)
    assert_equal(output, encoder(draw(lengths), mask))
    sum(part.sin().sum() for part in output).backward()
    assert (inputs.grad[~mask] == 0).all()
    assert (inputs.grad[mask] != 0).all()


@pytest.mark.parametrize("layers", [1, 2])
def test_a_batch_of_many_equals_many_batches_of_one(layers):
    encoder, lengths = encoder_of(layers), [3, 1, 6, 2]
    together = encoder(draw(lengths), mask_of(lengths))
    for row, length in enumerate(lengths):
        inputs = draw(lengths)[row : row + 1, :length]
        alone = encoder(inputs, torch.ones(1, length, dtype=torch.bool))
        row_of = EncoderOutput(*(part[row : row + 1] for part in together))
        assert_equal(row_of._replace(states=row_of.states[:, :length]), alone)


def test_saturated_gates_still_let_nothing_of_the_padding_through():
    """Weights a hundred times larger than any that training finds."""
    layer = BidirectionalLSTM(INPUT, HIDDEN).double()
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -100, 100)
    lengths = [1, 4]
    together = layer(draw(lengths), mask_of(lengths))
    alone = layer(draw(lengths)[:1, :1], mask_of([1]))
    torch.testing.assert_close(together.cell[:1], alone.cell, rtol=0, atol=1e-12)
    torch.testing.assert_close(together.hidden[:1], alone.hidden, rtol=0, atol=1e-12)


def test_dropout_lies_between_the_layers_only():
    one, two = RecurrentEncoder(INPUT, HIDDEN, dropout=0.5), encoder_of(2)
    two.dropout = 0.5
    mask = mask_of([3, 2])
    for encoder, differs in ((one.double(), False), (two, True)):
        draws = [encoder.train()(draw([3, 2]), mask).states for _ in range(4)]
        assert any(not torch.equal(a, b) for a, b in pairwise(draws)) == differs


def test_the_bridge_reduces_hidden_state_and_cell_apart():
    """A ReLU after each of two linear layers, so neither end can be negative."""
    torch.manual_seed(0)
    bridge = Bridge(4, 3)
    encoded = EncoderOutput(torch.randn(2, 5, 4), torch.randn(2, 4), torch.randn(2, 4))
    hidden, cell = bridge(encoded)
    expected = [
        (end @ layer.weight.T + layer.bias).clamp(min=0)
        for end, layer in ((encoded.hidden, bridge.hidden), (encoded.cell, bridge.cell))
    ]
    torch.testing.assert_close(hidden, expected[0])
    torch.testing.assert_close(cell, expected[1])
    assert not torch.equal(hidden, cell)
