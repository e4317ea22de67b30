import subprocess
import sys
from collections import Counter

import pytest

from pgsum.baselines.random_k import random_k

SENTENCES = [f"The cat number {i} sat down." for i in range(6)]
DOCUMENT = " ".join(SENTENCES)


@pytest.mark.parametrize("k", [1, 2, 6, 9])
def test_k_sentences_in_the_documents_order_one_a_line(k):
    drawn = random_k(DOCUMENT, k, seed=1).split("\n")
    assert len(set(drawn)) == min(k, 6)
    assert drawn == [sentence for sentence in SENTENCES if sentence in drawn]


def test_all_sentences_are_drawn_about_as_often():
    drawn = Counter(random_k(DOCUMENT, 1, seed=seed) for seed in range(600))
    assert all(70 <= drawn[sentence] <= 130 for sentence in SENTENCES)


def test_another_process_draws_the_same():
    program = (
        f"from pgsum.baselines.random_k import random_k; print(random_k({DOCUMENT!r}, 3, seed=7))"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert other.stdout == random_k(DOCUMENT, 3, seed=7) + "\n"


def test_documents_are_drawn_from_apart():
    """Equal draws for documents of one length would make all of them err together."""
    documents = [DOCUMENT.replace("cat", f"cat{i}") for i in range(30)]
    assert len({random_k(d, 1, seed=1)[len("The cat0") :][:10] for d in documents}) > 1


@pytest.mark.parametrize("document", ["", " \n"])
def test_of_nothing_nothing_is_drawn(document):
    assert random_k(document, 3, seed=1) == ""


def test_half_of_a_character_is_no_hindrance():
    assert random_k("The cat \ud83d sat.", 1, seed=1) == "The cat \ud83d sat."
