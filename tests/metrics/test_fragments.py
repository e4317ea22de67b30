import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.metrics.copying import Ratio
from pgsum.metrics.fragments import fragments

TEXT = st.lists(st.sampled_from("abc"), max_size=12).map(" ".join)


def holds(source, piece):
    return any(source[i : i + len(piece)] == piece for i in range(len(source)))


def textbook_lengths(summary, source):
    """The longest piece from each word on that the source has, one after the other."""
    lengths, start = [], 0
    while start < len(summary):
        fitting = [n for n in range(len(summary) - start + 1) if n == 0 or
                   holds(source, summary[start : start + n])]  # fmt: skip
        lengths += [max(fitting)] if max(fitting) else []
        start += max(1, max(fitting))
    return tuple(lengths)


@given(TEXT, TEXT)
def test_fragments_are_those_of_the_textbook(summary, document):
    found = fragments(summary, document)
    assert found.lengths == textbook_lengths(summary.split(), document.split())


@pytest.mark.parametrize(
    ("summary", "document", "lengths"),
    [
        ("the cat slept", "The cat sat. It slept.", (2, 1)),
        ("a dog slept", "The cat slept.", (1,)),
        ("a b c d", "a b x a b c", (3,)),  # the longest, not the first
        ("a a b", "a a a b", (3,)),  # where a piece overlaps itself, too
        ("dog", "cat", ()),
        ("", "cat", ()),
        ("cat", "", ()),
    ],
)
def test_pieces_that_stand_in_the_document(summary, document, lengths):
    assert fragments(summary, document).lengths == lengths


def test_figures_by_hand():
    """Six words, of which pieces of 3, 1 and 1 stand in a document of 12."""
    document = "police killed the gunman in a house near the old city centre"
    found = fragments("police killed the old man near", document)
    assert found.lengths == (3, 1, 1)
    assert found.coverage == Ratio(5, 6)
    assert found.density == Ratio(9 + 1 + 1, 6)
    assert found.compression == Ratio(12, 6)
    assert found.mean_length == Ratio(5, 3)
    assert found.longest == 3


def test_without_words_there_is_nothing_to_share():
    found = fragments("", "")
    assert found.coverage == found.density == found.compression == found.mean_length == Ratio(0, 0)
    assert found.longest == 0


def test_long_and_monotonous_texts_take_linear_time():
    """Each word fits everywhere: by trying all places this would take 10^9 steps and more."""
    found = fragments("a " * 30_000 + "b", "a " * 29_999)
    assert found.lengths == (29_999, 1)


def test_scripts_without_blanks_are_copied_by_characters_where_that_is_asked_for():
    assert fragments("今天召回", "今天发布。明天召回。", tokenizer="char").lengths == (2, 2)
