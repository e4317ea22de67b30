from collections import Counter
from math import log

import numpy as np
import pytest
from datasets import Dataset

from pgsum.config import TextConfig
from pgsum.data.familiarity import USUAL, Familiarity, usual_surprise
from pgsum.data.prepare import encode_rows
from pgsum.text.vocab import UNK_ID, Vocab

VOCAB = Vocab(["the", "cat", "sat", "once"], [60, 30, 9, 1])


def ids(text: str, vocab: Vocab = VOCAB) -> list[int]:
    return [vocab.id_of(word) for word in text.split()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the", -log(0.6)),
        ("the cat", -(log(0.6) + log(0.3)) / 2),
        ("cat the", -(log(0.6) + log(0.3)) / 2),
        ("sat sat", -log(0.09)),
        ("once", -log(0.01)),
        ("never", -log(0.01)),
    ],
)
def test_surprise_is_the_mean_of_how_rare_each_word_is(text, expected):
    assert Familiarity(VOCAB).surprise(ids(text)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "own", "expected"),
    [
        ("sat", "sat sat cat", -log(0.07)),
        ("the sat", "the sat", -(log(0.59) + log(0.08)) / 2),
        ("once", "once", -log(0.01)),
        ("never", "never never", -log(0.01)),
    ],
)
def test_what_a_document_gave_to_the_counts_is_taken_off(text, own, expected):
    surprise = Familiarity(VOCAB).surprise(ids(text), own_ids=ids(own))
    assert surprise == pytest.approx(expected)


def test_a_vocabulary_that_counted_nothing_surprises_nobody():
    assert Familiarity(Vocab(["the"], [0])).surprise([UNK_ID, 4]) == 0


def corpus(documents: int) -> tuple[Vocab, Dataset]:
    """Documents of common words, and a word in each that few others have."""
    rng = np.random.default_rng(1)
    rows = [
        [f"w{n}" for n in rng.geometric(0.2, size=rng.integers(5, 30))] + [f"rare{i // 2}"]
        for i in range(documents)
    ]
    targets = [row[:3] for row in rows]
    counts = Counter(word for row in [*rows, *targets] for word in row)
    vocab = Vocab.build(counts, size=10_000, min_count=1)
    columns = {"id": [str(i) for i in range(documents)], "source_forms": rows}
    cut = {"target_forms": targets, "source_cut": [False] * documents}
    encoded = encode_rows(
        {**columns, **cut, "target_cut": [False] * documents}, vocab=vocab, text=TextConfig()
    )
    return vocab, Dataset.from_dict(encoded)


def test_as_many_training_documents_are_usual_as_shall_be():
    vocab, train = corpus(documents=400)
    usual = usual_surprise(vocab, train)
    familiarity = Familiarity(vocab)
    exceed = [
        familiarity.surprise(row["source_ids"], own_ids=row["source_ids"] + row["target_input_ids"])
        > usual
        for row in train
    ]
    assert sum(exceed) / len(exceed) == pytest.approx(1 - USUAL, abs=1 / 400)
    as_seen = [familiarity.surprise(row["source_ids"]) > usual for row in train]
    assert sum(as_seen) < sum(exceed)


def test_of_many_documents_an_even_share_is_looked_at(monkeypatch):
    vocab, train = corpus(documents=401)
    every = usual_surprise(vocab, train)
    monkeypatch.setattr("pgsum.data.familiarity._DOCUMENTS", 100)
    some = usual_surprise(vocab, train)
    assert some == usual_surprise(vocab, train.select(range(0, 401, 5)))
    assert some != every
    assert some == pytest.approx(every, rel=0.1)
