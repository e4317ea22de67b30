import pytest

from pgsum.baselines.lead import lead

DOCUMENT = "The cat sat down. It slept for long! Nobody came."


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, "The cat sat down."),
        (2, "The cat sat down.\nIt slept for long!"),
        (3, "The cat sat down.\nIt slept for long!\nNobody came."),
        (9, "The cat sat down.\nIt slept for long!\nNobody came."),
    ],
)
def test_the_first_k_sentences_one_a_line(k, expected):
    assert lead(DOCUMENT, k) == expected


def test_chinese_sentences_end_at_their_own_full_stop():
    assert lead("今天发布。明天召回。", 1) == "今天发布。"


def test_lead_of_nothing_is_empty():
    assert lead(" \n", 3) == ""
