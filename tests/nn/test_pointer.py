from collections.abc import Sequence

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from reference.textbook_model import mixture
from torch import Tensor
from torch.nn import functional

from pgsum.nn import pointer
from pgsum.nn.pointer import (
    copy_log_probs,
    extended_log_probs_,
    first_positions,
    log_normaliser,
    mixed_log_probs,
    only_supported_,
)


def mix(p_vocab: Tensor, attention: Tensor, p_gen: Tensor, source: Tensor, oovs: int) -> Tensor:
    """The table of `extended_log_probs_`, as probabilities."""
    table = functional.pad(p_vocab.log(), (0, oovs))
    return extended_log_probs_(
        table, attention, p_gen.logit(), source, first_positions(source), p_vocab.shape[1]
    ).exp()


def gold(
    p_vocab: Tensor, attention: Tensor, p_gen: Tensor, source: Tensor, words: Tensor
) -> Tensor:
    """P of one gold word a row."""
    vocab = p_vocab.shape[1]
    known = p_vocab.gather(1, words.clamp(max=vocab - 1)[:, None])[:, 0]
    log_generate = torch.where(words < vocab, known.log(), torch.finfo(known.dtype).min)
    log_copy = copy_log_probs(attention.log(), source, words)
    return mixed_log_probs(log_generate, log_copy, p_gen.logit()).exp()


def draw_distributions(
    seed: int, batch: int, vocab: int, lengths: Sequence[int]
) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(seed)
    p_vocab = torch.randn(batch, vocab, dtype=torch.float64).softmax(-1)
    scores = torch.randn(batch, max(lengths), dtype=torch.float64)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    attention = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return p_vocab, attention, torch.rand(batch, dtype=torch.float64)


@st.composite
def sources(draw: st.DrawFn) -> tuple[int, int, int, list[list[int]]]:
    """A seed, the vocabulary's size, the most OOVs, and rows of extended ids that may repeat."""
    vocab, oovs = draw(st.integers(5, 7)), draw(st.integers(0, 3))
    ids = st.integers(4, vocab + oovs - 1)
    rows = draw(st.lists(st.lists(ids, min_size=1, max_size=6), min_size=1, max_size=3))
    return draw(st.integers(0, 99)), vocab, oovs, rows


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])


ONE_WORD_WITHOUT_OOVS = (0, 5, 0, [[4]])


@given(sources())
@example(ONE_WORD_WITHOUT_OOVS)
def test_the_mixture_is_a_distribution_and_equals_the_double_loop(drawn):
    seed, vocab, oovs, rows = drawn
    p_vocab, attention, p_gen = draw_distributions(seed, len(rows), vocab, [*map(len, rows)])
    found = mix(p_vocab, attention, p_gen, padded(rows), oovs)
    torch.testing.assert_close(found.sum(1), torch.ones(len(rows)).double())
    for i, row in enumerate(rows):
        expected = mixture(p_vocab[i], attention[i], p_gen[i], row, oovs)
        torch.testing.assert_close(found[i], expected)


@given(sources())
@example(ONE_WORD_WITHOUT_OOVS)
def test_the_gold_words_share_equals_the_double_loop(drawn):
    """For every word that can be said: the vocabulary's and each row's own."""
    seed, vocab, oovs, rows = drawn
    p_vocab, attention, p_gen = draw_distributions(seed, len(rows), vocab, [*map(len, rows)])
    for i, row in enumerate(rows):
        expected = mixture(p_vocab[i], attention[i], p_gen[i], row, oovs)
        words = sorted({*range(1, vocab), *row})
        each = slice(i, i + 1)
        found = gold(
            p_vocab[each].expand(len(words), -1),
            attention[each].expand(len(words), -1),
            p_gen[each].expand(len(words)),
            padded(rows)[each].expand(len(words), -1),
            torch.tensor(words),
        )
        torch.testing.assert_close(found, expected[words])


def test_three_words_copied_and_generated_only_generated_only_copied():
    """The vocabulary is 4: both, 5: generated only, and a rest; 6 is copied only (CopyNet)."""
    p_vocab = torch.tensor([[0.1, 0.0, 0.0, 0.0, 0.5, 0.4]])
    attention = torch.tensor([[0.3, 0.7]])
    source = torch.tensor([[4, 6]])
    p_gen = torch.tensor([0.8])
    mixed = mix(p_vocab, attention, p_gen, source, 1)
    both = 0.8 * 0.5 + 0.2 * 0.3
    only_generated = 0.8 * 0.4
    only_copied = 0.2 * 0.7
    assert mixed[0, 4:].tolist() == pytest.approx([both, only_generated, only_copied])
    for word, expected in ((4, both), (5, only_generated), (6, only_copied)):
        found = gold(p_vocab, attention, p_gen, source, torch.tensor([word]))
        assert found.tolist() == pytest.approx([expected])


@pytest.mark.fault(19)
def test_shares_of_a_word_that_stands_twice_in_the_source_are_added():
    p_vocab = torch.tensor([[0.0, 0.0, 0.0, 0.0, 1.0]])
    attention = torch.tensor([[0.1, 0.2, 0.3, 0.4]])
    source = torch.tensor([[4, 5, 4, 5]])
    p_gen = torch.tensor([0.5])
    expected = pytest.approx([0.5 * 1.0 + 0.5 * (0.1 + 0.3), 0.5 * (0.2 + 0.4)])
    assert mix(p_vocab, attention, p_gen, source, 1)[0, 4:].tolist() == expected
    found = [gold(p_vocab, attention, p_gen, source, torch.tensor([i])).item() for i in (4, 5)]
    assert found == expected


@pytest.mark.parametrize(("p_gen", "expected"), [(1.0, [0.25, 0.75, 0.0]), (0.0, [0.4, 0.0, 0.6])])
def test_a_closed_gate_takes_one_side_alone(p_gen, expected):
    """Without a pointer the gate's logit is infinite: nothing is copied and nothing is NaN."""
    p_vocab = torch.tensor([[0.0, 0.0, 0.0, 0.0, 0.25, 0.75]])
    attention, source = torch.tensor([[0.4, 0.6]]), torch.tensor([[4, 6]])
    found = mix(p_vocab, attention, torch.tensor([p_gen]), source, 1)
    assert found[0, 4:].tolist() == pytest.approx(expected)


@given(st.lists(st.lists(st.integers(0, 4), min_size=6, max_size=6), min_size=1, max_size=3))
def test_first_positions_are_those_of_a_search_from_the_left(rows):
    assert first_positions(torch.tensor(rows)).tolist() == [
        [row.index(word) for word in row] for row in rows
    ]


def test_the_log_normaliser_is_that_of_a_softmax_of_any_size_and_layout(monkeypatch):
    monkeypatch.setattr(pointer, "_BLOCK", 12)
    torch.manual_seed(0)
    for columns in (1, 4, 11):
        scores = 300 * torch.randn(columns, 3, dtype=torch.float64)
        for table in (scores.T, scores.T.contiguous()):
            torch.testing.assert_close(log_normaliser(table), table.logsumexp(1))


@given(sources(), st.sets(st.integers(4, 6)), st.integers(1, 3))
def test_a_word_that_needs_support_is_generated_only_where_the_source_has_it(drawn, needing, beam):
    """And the others share what it had: with the mixture all still sums to 1."""
    seed, vocab, oovs, rows = drawn
    needing = {word for word in needing if word < vocab}
    read = [row for row in rows for _ in range(beam)]
    p_vocab, attention, p_gen = draw_distributions(seed, len(read), vocab, [*map(len, read)])
    source, mask = padded(rows), torch.tensor([[i < len(row) for i in range(6)] for row in rows])
    mask = mask[:, : source.shape[1]]
    table = functional.pad(p_vocab.log(), (0, oovs))
    ids = torch.tensor(sorted(needing), dtype=torch.long)
    # Padding is no support, whatever it is filled with.
    only_supported_(table, ids, source.masked_fill(~mask, 5), mask)
    found = extended_log_probs_(
        table, attention, p_gen.logit(), source, first_positions(source), vocab
    ).exp()
    torch.testing.assert_close(found.sum(1), torch.ones(len(read)).double())
    for i, row in enumerate(read):
        allowed = torch.tensor([word not in needing or word in row for word in range(vocab)])
        kept = torch.where(allowed, p_vocab[i], 0)
        torch.testing.assert_close(
            found[i], mixture(kept / kept.sum(), attention[i], p_gen[i], row, oovs)
        )
        assert (found[i, :vocab][~allowed] == 0).all()


def test_gradients_of_the_gold_words_share_are_right():
    torch.manual_seed(0)
    source = torch.tensor([[4, 6, 4], [5, 5, 4], [6, 7, 0]])
    words = torch.tensor([4, 3, 7])

    def function(logits, scores, gate):
        known = logits.log_softmax(-1).gather(1, words.clamp(max=5)[:, None])[:, 0]
        log_generate = torch.where(words < 6, known, torch.finfo(known.dtype).min)
        log_copy = copy_log_probs(scores.log_softmax(-1), source, words)
        return mixed_log_probs(log_generate, log_copy, gate)

    sizes = [(3, 6), (3, 3), (3,)]
    inputs = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes]
    assert torch.autograd.gradcheck(function, inputs)
