import json

import pytest
from datasets import Dataset

from pgsum.config import DataConfig
from pgsum.data.leaks import leaked, opening
from pgsum.data.sources import open_corpus, open_split, write_listing
from pgsum.errors import ConfigError, DataError

LETTERS = "the quick brown fox " * 20


def test_documents_are_one_by_their_first_150_letters_and_digits():
    assert opening("A b-c, 1!") == "abc1"
    assert opening(LETTERS) == opening(LETTERS.upper() + "and more")
    assert len(opening(LETTERS)) == 150
    assert opening(LETTERS[:100]) != opening(LETTERS)
    assert opening("x" * 149 + "y") != opening("x" * 149 + "z")


def test_letters_are_found_behind_a_long_beginning_without_any():
    assert opening("-" * 5000 + "abc") == "abc"


def test_documents_without_letters_are_one_only_if_they_are_equal():
    assert opening("?!") != opening("!?")


def documents(*texts: str) -> Dataset:
    return Dataset.from_dict({"id": [str(n) for n in range(len(texts))], "document": texts})


def test_rows_are_found_in_any_of_the_others():
    train = documents("One.", "two", "three", "TWO!")
    assert leaked(train, [documents("two"), documents("one", "four")]) == [0, 1, 3]
    assert leaked(train, []) == []


@pytest.fixture
def root(tmp_path):
    splits = {"train": range(8), "validation": (6, 20), "test": (7, 21)}
    for split, numbers in splits.items():
        rows = [{"id": f"{split}-{n}", "document": f"d {n}", "summary": f"{n}"} for n in numbers]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def config(root, **settings) -> DataConfig:
    return DataConfig(name="files", root=str(root), **settings)


def test_leaks_are_counted_and_kept_unless_told_otherwise(root):
    corpus = open_corpus(config(root))
    assert len(corpus.train) == 8
    assert corpus.notes == (
        "2 of 8 training documents are validation or test documents, too (data.leaks=drop leaves "
        "them out).",
    )


def test_leaks_are_dropped_counted_and_listed(root, tmp_path):
    corpus = open_corpus(config(root, leaks="drop"))
    assert corpus.train["id"][:] == [f"train-{n}" for n in range(6)]
    assert corpus.notes == (
        "2 of 8 training documents are validation or test documents, too: left out.",
    )
    assert corpus.fingerprint != open_corpus(config(root)).fingerprint
    write_listing(corpus.listings, tmp_path / "skipped.jsonl", dropped=corpus.dropped)
    lines = (tmp_path / "skipped.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["where"] for line in lines] == ["train-6", "train-7"]


def test_where_every_pair_leaked_nothing_is_trained_on(root):
    same = config(root, train="test.jsonl", leaks="drop")
    with pytest.raises(DataError, match=r"2 of 2 training documents .* none is left") as e:
        open_corpus(same)
    assert e.value.hint == "set data.leaks=keep"


def test_a_corpus_may_be_validated_on_pairs_held_out_of_train(root):
    held_out = config(root, validate_on="train", holdout=0.3)
    corpus = open_corpus(held_out)
    train, validation = set(corpus.train["id"]), set(corpus.validation["id"])
    assert validation
    assert train | validation == {f"train-{n}" for n in range(8)}
    assert corpus.fingerprint != open_corpus(config(root)).fingerprint
    reported = open_split(held_out, "validation").pairs
    assert reported["id"][:] == ["validation-6", "validation-20"]


def test_what_is_then_reported_on_is_not_trained_on(root):
    corpus = open_corpus(config(root, validate_on="train", holdout=0.01, leaks="drop"))
    assert not {"train-6", "train-7"} & set(corpus.train["id"])


def test_what_is_then_reported_on_is_part_of_the_fingerprint(root):
    settings = config(root, validate_on="train", leaks="drop")
    before = open_corpus(settings)
    line = json.dumps({"id": "validation-1", "document": "d 1", "summary": "1"}) + "\n"
    (root / "validation.jsonl").write_text(line, encoding="utf-8")
    after = open_corpus(settings)
    assert after.fingerprint != before.fingerprint
    assert "train-6" in after.train["id"]


def test_the_built_in_corpus_holds_out_its_own():
    with pytest.raises(ConfigError, match=r"data\.validate_on is train"):
        DataConfig(name="docstrings", validate_on="train").check_together()
