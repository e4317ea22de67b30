import math

import numpy as np
import pytest

from pgsum.baselines import textrank as module
from pgsum.baselines.textrank import pagerank, similarities, textrank

SENTENCES = [
    "The storm hit the coast.",
    "Nobody laughed.",
    "The storm and the flood hit towns on the coast.",
    "A flood hit some towns.",
]


def test_similarity_is_common_words_by_the_logs_of_lengths():
    found = similarities(SENTENCES)
    assert found[0, 2] == pytest.approx(4 / (math.log(5) + math.log(10)))  # the storm hit coast
    assert found[2, 3] == pytest.approx(3 / (math.log(10) + math.log(5)))  # flood hit towns
    assert found[1].tolist() == [0, 0, 0, 0]
    assert np.array_equal(found, found.T)


def test_two_sentences_of_one_word_each_are_not_compared():
    assert not similarities(["Storm!", "Storm."]).any()


def test_ranks_are_those_that_the_formula_leaves_as_they_are():
    weights = np.array([[0, 2, 1, 0], [2, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=float)
    ranks = pagerank(weights)
    by_formula = np.full(4, 0.15)
    for i in range(4):
        for j in range(4):
            if weights[j].sum():
                by_formula[i] += 0.85 * weights[j, i] / weights[j].sum() * ranks[j]
    assert ranks == pytest.approx(by_formula, abs=1e-5)
    assert ranks[0] > ranks[1] > ranks[2] > ranks[3] == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, [2]),
        (2, [0, 2]),
        (3, [0, 2, 3]),
        (9, [0, 1, 2, 3]),
    ],
)
def test_the_sentences_most_like_the_others_in_the_documents_order(k, expected):
    assert textrank(" ".join(SENTENCES), k) == "\n".join(SENTENCES[i] for i in expected)


def test_of_equal_sentences_the_first_are_taken():
    assert textrank("One cat sat. Two cats ran. Nobody came.", 1) == "One cat sat."
    assert textrank("The cat sat.\n\n" * 5, 2) == "The cat sat.\nThe cat sat."


def test_chinese_is_compared_by_characters():
    assert textrank("今天发布手机。天气很好。明天召回手机。明天手机发布。", 1) == "明天手机发布。"


@pytest.mark.parametrize("document", ["", " \n", "..."])
def test_of_nothing_there_is_nothing_to_rank(document):
    assert textrank(document) == document.strip()


def test_of_a_book_the_beginning_is_ranked(monkeypatch):
    monkeypatch.setattr(module, "_MOST_SENTENCES", 2)
    assert textrank(" ".join(SENTENCES)) == "\n".join(SENTENCES[:2])
