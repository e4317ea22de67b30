import pytest

from pgsum.metrics.copying import Ratio
from pgsum.metrics.support import support

DOCUMENT = (
    "Anna Smith of NASA paid $1,200 for 3.5 litres in 2015. The iPhone rang at 10:30 in Zürich."
)


@pytest.mark.parametrize(
    ("summary", "found", "total"),
    [
        ("paid 1,200", 1, 1),
        ("paid 1200", 1, 1),
        ("paid 1,300", 0, 1),
        ("3.5 litres at 10:30", 2, 2),
        ("3 litres", 0, 1),  # a part of a number is another
        ("in 2015 and 2016", 1, 2),
        ("2015", 1, 1),
        ("at 10am", 0, 1),
        ("three litres", 0, 0),  # not in figures
        ("", 0, 0),
    ],
)
def test_numbers_that_the_document_has(summary, found, total):
    assert support(summary, DOCUMENT).numbers == Ratio(found, total)


@pytest.mark.parametrize(
    ("summary", "found", "total"),
    [
        ("it was Anna Smith", 2, 2),
        ("it was Anna Jones", 1, 2),
        ("Litres rang.\nRang litres.", 0, 0),  # a capital says nothing at the start
        ("“Litres rang”", 0, 0),
        ("Litres rang for Smith. Smith paid.", 1, 1),
        ("NASA paid. iPhone rang.", 2, 2),  # but a later one does
        ("ESA paid", 0, 1),
        ("in ZÜRICH", 1, 1),
        ("the smith of nasa", 0, 0),  # without capitals there are no names
        ("and I paid", 0, 0),
        ("the [UNK] of <unk>", 0, 0),
        ("", 0, 0),
    ],
)
def test_names_that_the_document_has(summary, found, total):
    assert support(summary, DOCUMENT).names == Ratio(found, total)


def test_an_empty_document_supports_nothing():
    assert support("paid 5 to Anna", "") == (Ratio(0, 1), Ratio(0, 1))
