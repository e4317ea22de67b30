from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pytest
import torch
from reference import textbook_model
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

from pgsum.data.batch import collate, collate_sources
from pgsum.errors import ConfigError
from pgsum.nn.attention import AttentionOutput
from pgsum.text.vocab import UNK_ID

AXES: dict[str, list[Any]] = {
    "cell": ["lstm", "gru", "rnn"],
    "bidirectional": [True, False],
    "reverse_source": [True, False],
    "layers": [1, 2, 3],
    "bridge": ["relu", "tanh", "none"],
    "attention": ["none", "dot", "scaled_dot", "general", "additive"],
    "query": ["current", "previous"],
    "query_with_cell": [True, False],
    "context": ["initial", "every_step"],
    "input_feeding": [True, False],
    "pointer": [True, False],
    "coverage": ["none", "from_start"],
}
EVERY_COMBINATION = pytest.mark.parametrize("settings", COMBINATIONS, ids=name_of)


def test_every_two_values_that_may_stand_together_do_in_some_combination():
    """Those that do not are refused, whatever the attention and the decoder's size."""
    configs = [config_of(**settings) for settings in COMBINATIONS]
    for (one, ones), (other, others) in combinations(AXES.items(), 2):
        there = {(getattr(config, one), getattr(config, other)) for config in configs}
        for pair in set(product(ones, others)) - there:
            for attention, size in product(AXES["attention"], [5, 10]):
                company = {"pointer": False, "attention": attention, "decoder_size": size}
                with pytest.raises(ConfigError):
                    config_of(**company | dict(zip((one, other), pair, strict=True)))


@EVERY_COMBINATION
def test_the_loss_and_its_gradients_equal_the_textbooks(settings):
    model = tiny_model(**settings, coverage_weight=0.7)
    found = loss_of(model, tiny_batch())
    nll, coverage = textbook_model.loss(model, config_of(**settings), tiny_examples())
    expected = nll + 0.7 * coverage if settings["coverage"] != "none" else nll
    torch.testing.assert_close(found.nll, nll.detach())
    torch.testing.assert_close(found.total, expected)
    theirs = gradients(expected, model)
    for name, gradient in gradients(found.total, model).items():
        torch.testing.assert_close(gradient, theirs[name], msg=name)


@EVERY_COMBINATION
def test_every_parameter_gets_a_gradient(settings):
    model = tiny_model(**settings)
    for name, gradient in gradients(loss_of(model, tiny_batch()).total, model).items():
        assert gradient.abs().max() > 0, name


@EVERY_COMBINATION
def test_each_step_of_search_gives_the_textbooks_mixture(settings):
    model = tiny_model(**settings)
    source = tiny_source(seed=1, tokens=6, oovs=2)
    reads = [2, 7, UNK_ID, 5]
    state = encode(model, collate_sources([source]))
    found = textbook_model.steps(model, config_of(**settings), source, reads)
    for read, expected in zip(reads, found, strict=True):
        torch.testing.assert_close(state.coverage[0], expected.coverage)
        log_probs, output, state = model.step(torch.tensor([read]), state)
        torch.testing.assert_close(log_probs[0].exp(), expected.p_final)
        torch.testing.assert_close(output.attention[0, 0], expected.attention)
        torch.testing.assert_close(output.gate[0, 0].sigmoid(), expected.p_gen)


@EVERY_COMBINATION
def test_padding_changes_nothing(settings):
    """Padding of both sides filled with real words, among them gold ones, but masked."""
    model, batch = tiny_model(**settings), tiny_batch()
    expected = loss_of(model, batch)

    def lengthened(ids: Tensor, filling: int | bool) -> Tensor:
        return torch.cat([ids, torch.full((len(ids), 4), filling)], dim=1)

    def filled(ids: Tensor, mask: Tensor, filling: int) -> Tensor:
        return lengthened(ids.masked_fill(~mask, filling), filling)

    source = replace(
        batch.source,
        source_ids=filled(batch.source.source_ids, batch.source.source_mask, 9),
        source_extended_ids=filled(
            batch.source.source_extended_ids, batch.source.source_mask, VOCAB
        ),
        source_mask=lengthened(batch.source.source_mask, False),
    )
    longer = replace(
        batch,
        source=source,
        target_input_ids=filled(batch.target_input_ids, batch.target_mask, 9),
        target_extended_ids=filled(batch.target_extended_ids, batch.target_mask, 9),
        target_mask=lengthened(batch.target_mask, False),
        gold_positions=batch.gold_positions
        + 4 * (batch.gold_positions // batch.target_mask.shape[1]),
    )
    found = loss_of(model, longer)
    torch.testing.assert_close(found, expected)


@EVERY_COMBINATION
def test_the_order_of_a_batch_does_not_matter(settings):
    model, examples = tiny_model(**settings), tiny_examples()
    found = [loss_of(model, collate(order)) for order in (examples, examples[::-1])]
    torch.testing.assert_close(found[0], found[1])


def test_coverage_by_hand(monkeypatch):
    """Attention [.5 .5 0] and then [.25 .25 .5]: nothing to see again, then half of it."""
    model = tiny_model(**FULL)
    attention = model.decoder.attention
    attend = attention.forward
    laid_out = iter([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])

    def forward(*arguments: Tensor) -> AttentionOutput:
        weights = torch.tensor([[next(laid_out)]], dtype=torch.float64)
        return attend(*arguments)._replace(attention=weights)

    monkeypatch.setattr(attention, "forward", forward)
    source = collate_sources([tiny_source(seed=1, tokens=3, oovs=1)])
    output = model.teacher_forced(encode(model, source), torch.tensor([[2, 4]]))
    assert output.coverage_loss.tolist() == [[0.0, 0.5]]


@pytest.mark.parametrize("pointer", [True, False])
def test_words_that_cannot_be_said_stay_out_of_the_mean(pointer):
    """The first of these gold words is neither in the vocabulary nor in the source."""
    model = tiny_model(pointer=pointer)
    source = tiny_source(seed=1, tokens=6, oovs=2)
    loss = loss_of(model, collate([example_of(source, [UNK_ID, 5, VOCAB])]))
    assert loss.tokens == 3
    # Reading on from the second word on, with the first one read, is the same mean.
    state = encode(model, collate_sources([source]))
    _, _, state = model.step(torch.tensor([2]), state)
    rest = model.loss(
        state,
        torch.tensor([[UNK_ID, 5, UNK_ID]]),
        torch.tensor([[5, VOCAB, 3]]),
        torch.arange(3),
    )
    torch.testing.assert_close(loss.nll, rest.nll)


def test_a_batch_in_which_nothing_can_be_said_has_no_loss():
    model = tiny_model(**FULL)
    example = example_of(tiny_source(seed=1, tokens=2, oovs=0), [UNK_ID, UNK_ID])
    batch = collate([example])
    loss = loss_of(model, replace(batch, gold_positions=batch.gold_positions[:0]))
    assert (loss.total.item(), loss.tokens) == (0.0, 0)
    assert all((g == 0).all() for g in gradients(loss.total, model).values())


def test_without_a_pointer_nothing_is_copied():
    model = tiny_model(pointer=False)
    assert not model.pointer
    state = encode(model, tiny_batch().source)
    log_probs, output, _ = model.step(torch.tensor([2, 2, 2]), state)
    torch.testing.assert_close(log_probs[:, :VOCAB].exp().sum(1), torch.ones(3).double())
    assert (log_probs[:, VOCAB:] == -torch.inf).all()
    assert (output.gate.sigmoid() == 1).all()


def test_a_state_follows_its_rows():
    """Rows may repeat and change places: each goes on as it would have alone."""
    model = tiny_model(**FULL)
    state = encode(model, tiny_batch().source)
    _, _, state = model.step(torch.tensor([4, 5, 6]), state)
    rows = [2, 0, 0, 1]
    chosen = state.select(torch.tensor(rows))
    alone = [state.select(torch.tensor([row])) for row in rows]
    last_ids = torch.tensor([7, 8, 9, 4])
    log_probs, _, after = model.step(last_ids, chosen)
    for i, one in enumerate(alone):
        expected = model.step(last_ids[i : i + 1], one)
        torch.testing.assert_close(log_probs[i], expected[0][0])
        torch.testing.assert_close(after.coverage[i], expected[2].coverage[0])


def test_the_rows_of_a_beam_share_one_source():
    """Widened, re-ordered or with a document gone: each source is there once, not once per row."""
    state = encode(tiny_model(), tiny_batch().source)
    wide = state.select(torch.tensor([0, 0, 1, 1, 2, 2]))
    assert wide.source.keys is state.source.keys
    assert wide.select(torch.tensor([1, 0, 2, 2, 5, 4])).source.keys is state.source.keys
    fewer = wide.select(torch.tensor([1, 1, 5, 4]))
    assert torch.equal(fewer.source.mask, state.source.mask[[0, 2]])
    assert wide.select(torch.tensor([], dtype=torch.long)).source.mask.shape == (0, 6)


@EVERY_COMBINATION
def test_with_bfloat16_products_the_loss_is_float32_and_near(settings):
    model = tiny_model(**settings).float()
    exact = loss_of(model, tiny_batch())
    with torch.autocast("cpu", torch.bfloat16):
        loss = loss_of(model, tiny_batch())
    assert {value.dtype for value in loss[:-1]} == {torch.float32}
    torch.testing.assert_close(loss.total, exact.total, rtol=0.05, atol=0.02)
    for name, gradient in gradients(loss.total, model).items():
        assert gradient.isfinite().all(), name
