"""Faults of earlier implementations that live in the model, each by the test that it would fail.

Those of search are in tests/decode/test_search_faults.py; those of data, bundles and training stand
beside what they are about.
"""

from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from reference.tiny import (
    COMBINATIONS,
    FULL,
    VOCAB,
    config_of,
    encode,
    example_of,
    gradients,
    loss_of,
    name_of,
    tiny_batch,
    tiny_examples,
    tiny_model,
    tiny_source,
)
from torch import Tensor

from pgsum.build import build_model
from pgsum.config import ModelConfig
from pgsum.data.batch import collate, collate_sources
from pgsum.nn.attention import masked_log_softmax
from pgsum.nn.decoder import DecoderState
from pgsum.nn.model import PointerGenerator
from pgsum.nn.pointer import copy_log_probs, mixed_log_probs
from pgsum.text.vocab import UNK_ID

EVERY_COMBINATION = pytest.mark.parametrize("settings", COMBINATIONS, ids=name_of)
THAT_LOOK = [settings for settings in COMBINATIONS if settings["attention"] != "none"]


def test_fault_01_the_log_of_a_probability_of_0_is_no_nan():
    """Word 4 is on both sides, 5 in the vocabulary alone, 6 in the source alone; any may be 0."""
    impossible = torch.tensor([-1e30, -1e5, -200.0, 0.0])
    gates = torch.tensor([-1e5, -200.0, 0.0, 200.0, 1e5])
    cases = torch.cartesian_prod(torch.tensor([4.0, 5.0, 6.0]), gates, impossible, impossible)
    gold, gate, log_p_vocab, log_copied = (part.clone().requires_grad_() for part in cases.T)
    padding = torch.full_like(log_copied, torch.finfo(torch.float32).min)
    log_copy = copy_log_probs(
        torch.stack([log_copied, log_copied, padding], dim=1),
        torch.tensor([[4, 6, 0]]).expand(len(cases), -1),
        gold.long(),
    )
    log_generate = torch.where(gold < 6, log_p_vocab, torch.finfo(torch.float32).min)
    log_probs = mixed_log_probs(log_generate, log_copy, gate)
    log_probs.sum().backward()
    for numbers in (log_probs, gate.grad, log_p_vocab.grad, log_copied.grad):
        assert numbers.isfinite().all(), cases[~numbers.isfinite()]


@pytest.mark.parametrize("autocast", [False, True])
def test_fault_01_no_epsilon_hides_a_small_probability(autocast):
    """With enormous weights most gold words have a probability that float32 rounds to 0."""
    model = tiny_model(**FULL).float()
    with torch.no_grad():
        model.projection.weight.mul_(300)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        loss = loss_of(model, tiny_batch())
    assert loss.nll > 15
    assert all(gradient.isfinite().all() for gradient in gradients(loss.total, model).values())


def test_fault_02_the_mask_comes_before_the_softmax():
    """Where it comes after, the real tokens' shares are 0 by then, and are divided by their sum."""
    scores = torch.tensor([[[-1000.0, -1000.0, 1000.0]]])
    log_attention = masked_log_softmax(scores, torch.tensor([[True, True, False]]))
    assert log_attention.exp().tolist() == [[[0.5, 0.5, 0.0]]]


@pytest.mark.parametrize("attention", ["dot", "scaled_dot", "general", "additive"])
def test_fault_03_padding_is_neither_looked_at_nor_copied(attention):
    """A word that stands on padding alone is as likely as one that stands nowhere."""
    model = tiny_model(attention=attention, decoder_size=10)
    source = collate_sources([tiny_source(seed=1, tokens=n, oovs=1) for n in (2, 5)])
    filled = replace(
        source, source_extended_ids=source.source_extended_ids.masked_fill(~source.source_mask, 9)
    )
    found, expected = (
        model.step(torch.tensor([2, 2]), encode(model, one)) for one in (filled, source)
    )
    assert (found[1].attention[0, 0, 2:] == 0).all()
    torch.testing.assert_close(found[0], expected[0])


def test_fault_04_the_coverage_loss_is_masked_and_divided_like_the_likelihood():
    """Both are means over the same words; the targets here have 4, 6 and 3 tokens."""
    model, batch = tiny_model(**FULL), tiny_batch()
    loss = loss_of(model, batch)
    output = model.teacher_forced(encode(model, batch.source), batch.target_input_ids)
    counted = [
        output.coverage_loss[row, step]
        for row, example in enumerate(tiny_examples())
        for step, gold in enumerate(example.target_extended_ids)
        if gold != UNK_ID
    ]
    assert loss.tokens == len(counted) == 12
    torch.testing.assert_close(loss.coverage, torch.stack(counted).mean().detach())
    torch.testing.assert_close((loss.total - loss.nll).detach(), loss.coverage)


def stepwise(
    model: PointerGenerator, state: DecoderState, target_input_ids: Tensor
) -> tuple[Tensor, list[DecoderState]]:
    """Log P of the whole extended vocabulary at each step, by the step that search takes."""
    tables, states = [], [state]
    for last_ids in target_input_ids.unbind(1):
        log_probs, _, state = model.step(last_ids, state)
        tables.append(log_probs)
        states.append(state)
    return torch.stack(tables, dim=1), states


@EVERY_COMBINATION
def test_fault_05_training_and_decoding_share_one_step(settings):
    """What the loss says of each gold word is what search would say on the same path."""
    model, batch = tiny_model(**settings), tiny_batch()
    tables, states = stepwise(model, encode(model, batch.source), batch.target_input_ids)
    gold = batch.target_extended_ids
    if not settings["pointer"]:
        gold = gold.masked_fill(gold >= VOCAB, UNK_ID)
    log_probs = tables.gather(2, gold[..., None])[..., 0]
    counted = batch.target_mask & (batch.target_extended_ids != UNK_ID)
    torch.testing.assert_close(loss_of(model, batch).nll, -log_probs[counted].mean().detach())
    output, last = model.decoder(model.embed(batch.target_input_ids), states[0])
    torch.testing.assert_close(last.coverage, states[-1].coverage)
    torch.testing.assert_close(last.coverage, output.attention.sum(1))


@pytest.mark.parametrize("settings", THAT_LOOK, ids=name_of)
def test_fault_06_coverage_leaves_the_current_step_out(settings):
    """With one source token every attention is 1: nothing is covered at first, and 1, 2 after."""
    model = tiny_model(**settings)
    source = collate_sources([tiny_source(seed=1, tokens=1, oovs=0)])
    reads = torch.tensor([[2, 4, 5]])
    _, states = stepwise(model, encode(model, source), reads)
    assert [state.coverage.item() for state in states] == [0.0, 1.0, 2.0, 3.0]
    output = model.teacher_forced(states[0], reads)
    expected = [0.0, 1.0, 1.0] if settings["coverage"] == "from_start" else [0.0, 0.0, 0.0]
    assert output.coverage_loss.tolist() == [expected]


@EVERY_COMBINATION
def test_fault_07_batch_and_time_are_not_mixed(settings):
    """Each (pair, step) has a distribution of its own, the same as when the pair is alone."""
    model, examples = tiny_model(**settings), tiny_examples()
    batch = collate(examples)
    tables, _ = stepwise(model, encode(model, batch.source), batch.target_input_ids)
    output = model.teacher_forced(encode(model, batch.source), batch.target_input_ids)
    ones = torch.ones(batch.target_mask.shape, dtype=torch.float64)
    torch.testing.assert_close(tables.exp().sum(-1), ones)
    looks = settings["attention"] != "none"
    torch.testing.assert_close(output.attention.sum(-1), ones if looks else torch.zeros_like(ones))
    for row, example in enumerate(examples):
        one = collate([example])
        alone = model.teacher_forced(encode(model, one.source), one.target_input_ids)
        _, steps, tokens = alone.attention.shape
        for field in ("features", "gate", "coverage_loss"):
            together = getattr(output, field)[row, :steps]
            torch.testing.assert_close(together, getattr(alone, field)[0])
        torch.testing.assert_close(output.attention[row, :steps, :tokens], alone.attention[0])
        one_table, _ = stepwise(model, encode(model, one.source), one.target_input_ids)
        torch.testing.assert_close(tables[row, :steps, : one_table.shape[2]], one_table[0])


BASE: dict[str, Any] = FULL | {"tie_embeddings": False}
WITHOUT_ATTENTION = {"attention": "none", "pointer": False}
# Of each option: another value, and what it takes for that to have an effect.
OTHER: dict[str, tuple[Any, dict[str, Any]]] = {
    "cell": ("gru", BASE | {"query_with_cell": False}),
    "bidirectional": (False, BASE),
    "reverse_source": (True, BASE),
    "layers": (2, BASE),
    "embedding_size": (4, BASE),
    "hidden_size": (6, BASE),
    "decoder_size": (4, BASE),
    "bridge": ("tanh", BASE),
    "attention": ("dot", {"decoder_size": 10}),
    "attention_size": (8, BASE),
    "query": ("previous", BASE | {"input_feeding": False}),
    "query_with_cell": (False, BASE),
    "context": ("every_step", WITHOUT_ATTENTION),
    "input_feeding": (False, BASE),
    "output_activation": (False, BASE),
    "output_size": (4, BASE),
    "pointer": (False, BASE),
    "coverage": ("none", BASE),
    "coverage_weight": (0.5, BASE),
    "tie_embeddings": (True, BASE),
    "dropout": (0.4, BASE),
    "initialisation": ("see2017", BASE),
}
# Each value of the options that choose among more than two.
CHOICES = [
    ("cell", ["lstm", "gru", "rnn"], {}),
    ("layers", [1, 2, 3], {}),
    ("bridge", ["relu", "tanh", "none"], {"decoder_size": 10}),
    ("attention", ["none", "dot", "scaled_dot", "general", "additive"], {"decoder_size": 10}),
]
OF_OTHER_KINDS = {
    "encoder": "tests/nn/test_conv.py and test_transformer.py",
    "decoder": "tests/nn/test_conv.py and test_transformer.py",
    "kernel_size": "tests/nn/test_conv.py",
    "max_positions": "tests/nn/test_conv.py",
    "heads": "tests/nn/test_transformer.py",
    "inner_size": "tests/nn/test_transformer.py",
    "copy_head": "tests/nn/test_transformer.py",
}
"""Where the options are shown to have an effect that no recurrent model has."""
OF_NO_MODEL = {"name": "a word for people", "embeddings": "read when a training starts"}


def training_loss(**settings: Any) -> float:
    torch.manual_seed(0)
    model = build_model(config_of(**settings), VOCAB)
    return loss_of(model.train(), tiny_batch()).total.item()


def test_fault_08_no_option_is_left_out_below():
    """Who adds one says here, or in the file named, that it has an effect."""
    options = {field.name for field in fields(ModelConfig)}
    assert options == {*OTHER, *OF_OTHER_KINDS, *OF_NO_MODEL}
    assert training_loss(**BASE) == training_loss(**BASE)


@pytest.mark.parametrize("option", OTHER)
def test_fault_08_every_option_changes_the_result(option):
    value, others = OTHER[option]
    assert training_loss(**others | {option: value}) != training_loss(**others)


@pytest.mark.parametrize(("option", "values", "others"), CHOICES)
def test_fault_08_every_choice_has_a_result_of_its_own(option, values, others):
    losses = [training_loss(pointer=False, **others | {option: value}) for value in values]
    assert len(set(losses)) == len(values)


@pytest.mark.parametrize("attention", ["dot", "scaled_dot", "general", "additive"])
@pytest.mark.parametrize("initialisation", ["torch", "see2017"])
def test_fault_09_the_weight_of_coverage_learns_from_its_first_step_on(attention, initialisation):
    torch.manual_seed(0)
    size = FULL["attention_size"] if attention == "additive" else ModelConfig.attention_size
    settings = {"attention": attention, "attention_size": size, "initialisation": initialisation}
    model = build_model(config_of(**FULL | settings), VOCAB).double()
    found = gradients(loss_of(model, tiny_batch()).total, model)
    [gradient] = [g for name, g in found.items() if "relevance.coverage" in name]
    assert (gradient != 0).all()


def test_fault_12_extended_ids_never_reach_the_embedding():
    """A copied word is fed back as UNK, in search and in training."""
    model = tiny_model(**FULL)
    state = encode(model, tiny_batch().source)
    copied, unknown = (model.step(torch.full((3,), word), state)[0] for word in (VOCAB + 1, UNK_ID))
    assert torch.equal(copied, unknown)
    copied, unknown = (
        model.teacher_forced(state, torch.tensor([[2, word, 5]]).expand(3, -1)).features
        for word in (VOCAB, UNK_ID)
    )
    assert torch.equal(copied, unknown)


@EVERY_COMBINATION
@pytest.mark.parametrize("pairs", [1, 2])
def test_fault_14_a_batch_without_oovs_or_of_one(settings, pairs):
    model = tiny_model(**settings)
    examples = [
        example_of(tiny_source(seed=i, tokens=1 + 3 * i, oovs=0), [5, 6][: 1 + i])
        for i in range(pairs)
    ]
    batch = collate(examples)
    assert batch.source.max_source_oovs == 0
    loss = loss_of(model, batch)
    assert loss.total.isfinite()
    log_probs, _, _ = model.step(torch.full((pairs,), 2), encode(model, batch.source))
    assert log_probs.shape == (pairs, model.vocab_size)
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(pairs).double())
