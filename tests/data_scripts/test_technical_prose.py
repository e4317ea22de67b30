import json

import pytest

from pgsum.data import docstrings
from pgsum.data.records import Pair
from pgsum.errors import DataError

SPLITS = ("train", "validation", "test")


@pytest.fixture
def harvested(monkeypatch):
    """A docstring for each split, in place of those of the packages here."""
    pairs = {s: [Pair(f"os.{s}", f"Docstring of {s}.", (f"{s} line",))] for s in SPLITS}
    monkeypatch.setattr(docstrings, "harvest", lambda files: pairs)


def write(folder, name: str, **more: object) -> None:
    (folder / name).mkdir(parents=True)
    for split in SPLITS:
        row = {"id": split, "document": f"{name} {split} text", "summary": f"{name} {split}"}
        line = json.dumps({**row, **more}) + "\n"
        (folder / name / f"{split}.jsonl").write_text(line, encoding="utf-8")


@pytest.mark.usefixtures("harvested")
def test_three_corpora_become_one_split_by_split(convert, tmp_path):
    write(tmp_path / "made", "debian", source="pkg")
    write(tmp_path / "made", "scitldr", references=["one", "another"])
    found = convert("technical_prose", tmp_path / "made")
    for split in SPLITS:
        assert found[split] == [
            {
                "id": f"{name}:{split}",
                "document": f"{name} {split} text",
                "summary": f"{name} {split}",
            }
            for name in ("debian", "scitldr")
        ] + [
            {
                "id": f"docstrings:os.{split}",
                "document": f"Docstring of {split}.",
                "summary": f"{split} line",
            }
        ]


@pytest.mark.usefixtures("harvested")
def test_a_corpus_that_is_not_there_is_named(convert, tmp_path):
    write(tmp_path / "made", "debian")
    with pytest.raises(DataError) as e:
        convert("technical_prose", tmp_path / "made")
    assert e.value.where == str(tmp_path / "made" / "scitldr" / "train.jsonl")
