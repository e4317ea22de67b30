"""The preset `see2017` has the size and the starting weights of See et al.'s released code."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from pgsum.build import build_model
from pgsum.config import ModelConfig, load_config
from pgsum.nn.model import PointerGenerator


def see2017(**changed: object) -> PointerGenerator:
    config = load_config(["model=see2017"])
    with torch.device("meta"):
        return build_model(replace(config.model, **changed), config.text.vocab_size)


def parameters_of(model: PointerGenerator) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_parameters_of_see2017_are_counted_exactly():
    """The paper's 21,499,600. torch's LSTM adds a second bias to each gate of each cell, where
    one is enough: 4 gates x 256 x (2 encoder directions + decoder)."""
    second_biases = 4 * 256 * 3
    seq2seq = 21_499_600 + second_biases
    assert parameters_of(see2017(pointer=False, coverage="none")) == seq2seq
    assert parameters_of(see2017(coverage="none")) == seq2seq + 1_153
    assert parameters_of(see2017(pointer=False)) == seq2seq + 512
    assert parameters_of(see2017()) == seq2seq + 1_153 + 512


@pytest.fixture(scope="module")
def see2017_weights() -> dict[str, Tensor]:
    torch.manual_seed(0)
    config = load_config(["model=see2017"])
    model = build_model(config.model, vocab_size=997)
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("cell", ["gru", "rnn"])
def test_cells_without_a_forget_gate_start_with_biases_of_zero(cell):
    config = ModelConfig(cell=cell, initialisation="see2017")
    for name, weight in build_model(config, vocab_size=9).named_parameters():
        assert (weight == 0).all() == ("rnn.bias" in name or name in ZERO), name


ZERO = ("decoder.output.bias", "decoder.gate.bias")
NARROW = ("embedding", "decoder.bridge", "projection")


def test_see2017_starts_its_lstms_uniformly_with_open_forget_gates(see2017_weights):
    lstms = {name: w for name, w in see2017_weights.items() if ".rnn." in name}
    assert len(lstms) == 12
    for name, weight in lstms.items():
        if "weight" in name:
            assert 0.0199 < weight.abs().max() <= 0.02, name
            assert weight.std().item() == pytest.approx(0.02 / math.sqrt(3), rel=0.02), name
        else:
            expected = torch.zeros(4, len(weight) // 4)
            expected[1] = 1.0 if "bias_ih" in name else 0.0
            assert torch.equal(weight.view(4, -1), expected), name


def test_see2017_starts_embedding_reduction_and_projection_near_zero(see2017_weights):
    """A normal of 1e-4 cut at two deviations has 0.88 of its deviation left."""
    narrow = {name: w for name, w in see2017_weights.items() if name.startswith(NARROW)}
    assert len(narrow) == 1 + 4 + 2
    for name, weight in narrow.items():
        assert 1e-4 < weight.abs().max() <= 2e-4, name
        assert weight.std().item() == pytest.approx(0.88e-4, rel=0.15), name


def test_see2017_starts_all_other_matrices_as_glorot_and_biases_at_zero(see2017_weights):
    others = {
        name: weight
        for name, weight in see2017_weights.items()
        if ".rnn." not in name and not name.startswith(NARROW)
    }
    assert {name.removeprefix("decoder.") for name in others} == {
        "attention.relevance.key.weight",
        "attention.relevance.query.weight",
        "attention.relevance.query.bias",
        "attention.relevance.coverage.weight",
        "attention.relevance.v.weight",
        "input.weight",
        "input.bias",
        "output.weight",
        "output.bias",
        "gate.weight",
        "gate.bias",
    }
    for name, weight in others.items():
        if weight.dim() == 1:
            assert (weight == 0).all(), name
        else:
            bound = math.sqrt(6 / sum(weight.shape))
            assert 0.98 * bound < weight.abs().max() <= bound, name
            assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1), name
