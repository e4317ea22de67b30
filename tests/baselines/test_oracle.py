from itertools import combinations

import pytest

from pgsum.baselines.oracle import oracle
from pgsum.metrics.rouge import Rouge

SENTENCES = [
    "It rained all day.",
    "Police killed the gunman.",
    "The gunman had a long knife.",
    "Nobody else was hurt.",
]
DOCUMENT = " ".join(SENTENCES)


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        (["police killed the gunman"], [1]),  # more would only cost precision
        (["Nobody was hurt.\nPolice killed a gunman."], [1, 3]),  # in the document's order
        (["police kill gunmen"], [1]),  # by stems
        (["snow"], []),
        ([""], []),
        ([], []),
        (["snow", "It rained all day."], [0]),  # the best reference counts
    ],
)
def test_sentences_that_raise_the_score(references, expected):
    assert oracle(DOCUMENT, references) == "\n".join(SENTENCES[i] for i in expected)


def test_no_more_than_k_sentences():
    assert oracle(DOCUMENT, [DOCUMENT], 2).count("\n") == 1
    assert oracle(DOCUMENT, [DOCUMENT], 9) == "\n".join(SENTENCES)


def test_of_equal_sentences_the_first_is_taken():
    assert oracle("The cat sat. It slept.\n\nThe cat sat.", ["the cat sat"]) == "The cat sat."


def test_the_first_choice_is_the_best_single_sentence_by_rouge():
    reference = ["the gunman whom police killed had a knife"]

    def score(text):
        scores = Rouge().score(text, reference)
        return scores["rouge1"].f + scores["rouge2"].f

    best = max(SENTENCES, key=score)
    assert oracle(DOCUMENT, reference, 1) == best
    pairs = ["\n".join(pair) for pair in combinations(SENTENCES, 2) if best in pair]
    assert oracle(DOCUMENT, reference, 2) == max(pairs, key=score)


def test_chinese_is_compared_by_characters():
    assert oracle("今天发布手机。天气很好。", ["天气好"]) == "天气很好。"


def test_of_nothing_nothing_is_taken():
    assert oracle(" \n", ["the cat"]) == ""
