import pytest

from pgsum.metrics.copying import Ratio
from pgsum.metrics.measures import (
    MEASURES,
    Average,
    averages,
    novelty_to_read,
    of_references,
    of_summary,
    problems,
    repeated,
)

DOCUMENT = "Prices rose by 3 percent in Oslo. Nobody was surprised."
SUMMARY = "Prices rose by 4 percent in Oslo."


def measured(text=SUMMARY, document=DOCUMENT):
    return of_summary(text, document, tokenizer="rouge155")


def test_a_summary_is_measured_against_its_document():
    found = measured()
    assert found["words"] == (7, 1)
    assert found["novel_1grams"] == (1, 7)
    assert found["novel_2grams"] == (2, 6)
    assert found["copied_sentences"] == (0, 1)
    assert found["coverage"] == (6, 7)
    assert found["density"] == (3 * 3 + 3 * 3, 7)
    assert found["compression"] == (10, 7)
    assert (found["copied_span"], found["longest_span"]) == ((6, 2), (3, 1))
    assert (found["supported_numbers"], found["supported_names"]) == ((0, 1), (1, 1))
    assert found.keys() <= MEASURES.keys()


def test_without_a_document_only_the_text_is_measured():
    found = measured(document="")
    assert "coverage" not in found
    assert found["repeated_1grams"] == (0, 7)


def test_novelty_is_also_told_from_what_was_read():
    found = novelty_to_read(SUMMARY, "Prices rose", tokenizer="rouge155")
    assert found["novel_1grams_of_read"] == (5, 7)
    assert found.keys() <= MEASURES.keys()


def test_references_are_counted_together_and_have_no_faults():
    found = of_references([SUMMARY, DOCUMENT], DOCUMENT, tokenizer="rouge155")
    assert found["words"] == (17, 2)
    assert found["copied_sentences"] == (2, 3)
    assert "empty" not in found


@pytest.mark.parametrize(
    ("text", "fault"),
    [("a b c a b c", "repeated_trigram"), ("the [UNK] rose", "unknown_word"), (" ", "empty")],
)
def test_faults_are_flags(text, fault):
    assert measured(text)[fault] == (1, 1)
    assert measured()[fault] == (0, 1)


def test_a_summary_that_was_written_before_is_repeated_but_an_empty_one_is_not():
    assert [found for found, _ in repeated(["a", "b", "a ", "", ""])] == [0, 0, 1, 0, 0]


def test_averages_are_of_sums_and_of_ratios_and_skip_what_says_nothing():
    texts = [{"coverage": ratio} for ratio in (Ratio(1, 2), Ratio(0, 0), Ratio(0, 6))]
    assert averages([*texts, {}]) == {"coverage": Average(1 / 8, 0.25)}
    assert averages(texts[1:2]) == {}


def test_problems_are_counted_in_words():
    both = [measured("a b c a b c [UNK]"), measured("a b c d a b c")]
    assert list(problems(both)) == ["1 with UNK", "2 with a trigram twice"]
