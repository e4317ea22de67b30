import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.baselines.first_k import first_k

DOCUMENT = "The cat\nsat  down, and slept.\n"


@pytest.mark.parametrize(
    ("k", "expected"),
    [(1, "The"), (4, "The cat sat down,"), (9, "The cat sat down, and slept.")],
)
def test_the_first_k_words_in_one_line(k, expected):
    assert first_k(DOCUMENT, k) == expected


def test_of_a_script_without_blanks_characters_are_taken():
    assert first_k("今天 发布iPhone。明天召回。", 3) == "今天 发"
    assert first_k("今天 发布iPhone。明天召回。", 6) == "今天 发布iP"


def test_a_few_such_characters_in_a_text_of_words_change_nothing():
    assert first_k("The sign 今天 means today.", 4) == "The sign 今天 means"


def test_other_scripts_have_words():
    assert first_k("Кошка спала весь день.", 2) == "Кошка спала"


@pytest.mark.parametrize("document", ["", " \n"])
def test_the_first_words_of_nothing_are_nothing(document):
    assert first_k(document, 3) == ""


@given(st.lists(st.text("abc.", min_size=1), min_size=1), st.integers(1, 9))
def test_of_words_parted_by_blanks_k_are_left(words, k):
    assert first_k(" ".join(words), k).split(" ") == words[:k]
