import json
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.config import DataConfig
from pgsum.data import cache, docstrings
from pgsum.data.docstrings import SourceFile
from pgsum.data.files import OptionNames
from pgsum.data.records import Pair
from pgsum.data.sources import (
    hold_out,
    open_corpus,
    open_split,
    split_digests,
    write_listing,
)
from pgsum.errors import ConfigError, DataError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSUM_CACHE", str(tmp_path / "cache"))
    cache._cache_folder.cache_clear()
    yield
    cache._cache_folder.cache_clear()


def write(path: Path, *rows: dict[str, object]) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def pair(number: int) -> dict[str, object]:
    return {"id": f"p{number}", "document": f"document {number}", "summary": f"summary {number}"}


def pairs(*numbers: int) -> list[dict[str, object]]:
    return [pair(number) for number in numbers]


def config(**settings) -> DataConfig:
    return DataConfig(name="files", **settings)


# --- finding the files ----------------------------------------------------------------------------


@pytest.mark.parametrize("validation", ["validation", "valid", "val", "dev"])
def test_folder_holds_its_splits_by_name(tmp_path, validation):
    write(tmp_path / "train.jsonl", *pairs(1, 2))
    (tmp_path / f"{validation}.csv").write_text("text,title\nd,s\n", encoding="utf-8")
    (tmp_path / "test.source").write_text("d\ne\nf\n", encoding="utf-8")
    (tmp_path / "test.target").write_text("s\nt\nu\n", encoding="utf-8")
    write(tmp_path / "leaks.json", {"other": 1})
    corpus = open_corpus(config(root=str(tmp_path)))
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (2, 1, 3)
    assert (corpus.name, corpus.notes) == ("files", ())
    assert corpus.train[0] == {
        "id": "p1",
        "document": "document 1",
        "references": ["summary 1"],
    }


def test_split_may_be_a_folder_of_text_files(tmp_path):
    for number in range(3):
        for kind in ("document", "summary"):
            path = tmp_path / "train" / f"{number}.{kind}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{kind} {number}", encoding="utf-8")
    write(tmp_path / "dev.jsonl", *pairs(9))
    assert open_corpus(config(root=str(tmp_path))).train["document"][:] == [
        f"document {number}" for number in range(3)
    ]


def test_split_may_be_a_folder_of_parquet_files_that_are_one_table(tmp_path):
    (tmp_path / "train").mkdir()
    for number in (1, 2, 10):
        table = pa.table({"text": [f"d{number}", f"e{number}"], "title": ["s", "t"]})
        pq.write_table(table, tmp_path / "train" / f"{number:04}.parquet")
    write(tmp_path / "dev.jsonl", *pairs(9))
    corpus = open_corpus(config(root=str(tmp_path)))
    assert corpus.train["document"][:] == ["d1", "e1", "d2", "e2", "d10", "e10"]
    assert corpus.train["id"][:] == ["1", "2", "3", "4", "5", "6"]


def test_named_files_are_relative_to_the_folder_and_win_over_its_own(tmp_path):
    write(tmp_path / "train.jsonl", *pairs(1))
    write(tmp_path / "other.jsonl", *pairs(2))
    write(tmp_path / "dev.jsonl", *pairs(3))
    corpus = open_corpus(config(root=str(tmp_path), train="other.jsonl"))
    assert corpus.train["id"][:] == ["p2"]


def test_two_files_that_could_be_one_split_are_refused(tmp_path):
    write(tmp_path / "dev.jsonl", *pairs(1))
    write(tmp_path / "val.jsonl", *pairs(1))
    with pytest.raises(
        DataError,
        match=r"could be in dev\.jsonl or in val\.jsonl; .*data\.validation=dev\.jsonl",
    ):
        open_corpus(config(root=str(tmp_path)))


def test_nothing_named_says_what_to_name():
    with pytest.raises(
        ConfigError,
        match=r"No file of train pairs is named; at data\.train; "
        r"add data\.train=FILE, or data\.root=FOLDER",
    ):
        open_corpus(config())


def test_folder_without_the_split_says_what_to_call_it(tmp_path):
    write(tmp_path / "train.jsonl", *pairs(1, 2))
    with pytest.raises(ConfigError, match=r"holds no file of test pairs; .*call it test\.jsonl"):
        open_split(config(root=str(tmp_path)), "test")


@pytest.mark.fault(30)
def test_missing_folder_and_missing_file_are_said_to_be_missing(tmp_path):
    with pytest.raises(DataError, match=r"no such folder; at .*nowhere"):
        open_corpus(config(root=str(tmp_path / "nowhere")))
    with pytest.raises(DataError, match="no such file"):
        open_corpus(config(train=str(tmp_path / "train.jsonl")))


def test_file_of_another_kind_says_what_is_read(tmp_path):
    (tmp_path / "train.docx").touch()
    with pytest.raises(DataError, match=r"Pairs are read from \.jsonl, \.csv, \.tsv and \.parquet"):
        open_corpus(config(train=str(tmp_path / "train.docx")))


def test_device_is_not_read_at_all():
    with pytest.raises(DataError, match="This is a device"):
        open_corpus(config(train="/dev/zero"))


@pytest.mark.parametrize("text", ["", "\n\n", "document,summary\n"])
def test_file_without_pairs_is_an_error(tmp_path, text):
    (tmp_path / "train.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"no train pairs that can be used; at .*train\.csv"):
        open_corpus(config(train=str(tmp_path / "train.csv")))


def test_pairs_that_all_lack_a_summary_are_told_from_a_file_without_pairs(tmp_path):
    path = write(tmp_path / "a.jsonl", *[{"document": "Text.", "summary": ""}] * 3)
    with pytest.raises(DataError, match=r"can be used\. a\.jsonl: 3 pairs left out, with an empty"):
        open_corpus(config(train=path))


# --- reading them ---------------------------------------------------------------------------------


def test_evaluation_keeps_all_references_and_training_takes_the_summary(tmp_path):
    row = {"document": "d", "summary": "s", "references": ["s", "t"]}
    path = write(tmp_path / "a.jsonl", row)
    corpus = open_corpus(config(train=path, validation=path, test=path))
    assert corpus.train["references"][:] == [["s"]]
    assert corpus.validation["references"][:] == [["s", "t"]]
    assert corpus.test["references"][:] == [["s", "t"]]


def test_training_on_several_references_needs_a_choice(tmp_path):
    rows = [{"document": f"d{number}", "references": ["s", "t"]} for number in range(2)]
    path = write(tmp_path / "a.jsonl", *rows)
    with pytest.raises(DataError, match=r"a\.jsonl:1; add data\.reference=first"):
        open_corpus(config(train=path))
    corpus = open_corpus(config(train=path, reference="first"))
    assert corpus.train["references"][:] == [["s"]]
    assert corpus.notes == ("a.jsonl: 2 pairs with several references learned by the first.",)


def test_bad_row_stops_or_is_skipped_with_a_note_that_stays(tmp_path):
    path = write(tmp_path / "a.jsonl", pair(1), {"document": "d", "summary": None}, pair(2))
    with pytest.raises(DataError, match=r"The summary is null.*a\.jsonl:2; .*data\.on_bad=skip"):
        open_corpus(config(train=path))
    for _ in range(2):  # read, then from the cache
        corpus = open_corpus(config(train=path, on_bad="skip"))
        assert len(corpus.train) + len(corpus.validation) == 2
        assert corpus.notes == (
            f"a.jsonl: 1 bad row skipped: The summary is null; a text is needed ({path}:2).",
        )
        split = open_split(config(train=path, on_bad="skip"), "train")
        assert (split.notes, split.skipped) == (corpus.notes, 1)


def test_split_alone_has_its_own_notes(tmp_path):
    path = write(tmp_path / "a.jsonl", pair(1), {**pair(2), "id": "p1"})
    split = open_split(config(train="nosuch.jsonl", test=path), "test")
    assert len(split.pairs) == 2
    assert (split.notes, split.skipped) == (("a.jsonl: 1 id seen before.",), 0)


def test_split_alone_may_be_told_what_a_command_calls_the_settings(tmp_path):
    path = write(tmp_path / "a.jsonl", {"document": "d", "summary": None})
    with pytest.raises(DataError, match="add --on-bad skip to leave such rows out"):
        open_split(config(test=path), "test", options=OptionNames(on_bad="--on-bad "))
    write(tmp_path / "a.jsonl", pair(1))
    one = open_split(config(test=path), "test", options=OptionNames(on_bad="--on-bad "))
    other = open_split(config(test=path), "test")
    assert one.pairs.cache_files == other.pairs.cache_files


def test_pairs_may_be_limited(tmp_path):
    path = write(tmp_path / "a.jsonl", *pairs(*range(10)))
    limited = open_corpus(config(train=path, validation=path, max_pairs=3))
    assert limited.train["id"][:] == ["p0", "p1", "p2"]
    assert len(limited.validation) == 10
    assert limited.fingerprint != open_corpus(config(train=path, validation=path)).fingerprint


def test_edited_file_is_read_anew_though_its_date_stays(tmp_path):
    path = write(tmp_path / "a.jsonl", *pairs(1, 2))
    before = open_corpus(config(train=path))
    times = os.stat(path)
    write(tmp_path / "a.jsonl", *pairs(3, 4))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = open_corpus(config(train=path))
    assert {*after.train["id"], *after.validation["id"]} == {"p3", "p4"}
    assert after.fingerprint != before.fingerprint


def test_a_file_that_changes_while_it_is_read_is_refused_and_not_kept(tmp_path, monkeypatch):
    path = Path(write(tmp_path / "a.jsonl", *pairs(1, 2)))
    before = path.read_text(encoding="utf-8")

    def changing(found, share):
        path.write_text(before.replace("1", "3"), encoding="utf-8")
        return hold_out(found, share)

    with monkeypatch.context() as patched:
        patched.setattr("pgsum.data.sources.hold_out", changing)
        with pytest.raises(DataError, match=r"changed while it was read; at .*a\.jsonl"):
            open_corpus(config(train=str(path)))
    path.write_text(before, encoding="utf-8")
    corpus = open_corpus(config(train=str(path)))
    assert {*corpus.train["id"], *corpus.validation["id"]} == {"p1", "p2"}


@pytest.mark.fault(23)
def test_all_that_was_left_out_can_be_written_beside_the_results(tmp_path):
    bad = [{"document": "d", "summary": None}] * 4
    train = write(tmp_path / "a.jsonl", *pairs(1, 2, 3), *bad, {"document": " ", "summary": "s"})
    test = write(tmp_path / "b.jsonl", pair(4), {"document": "d"})
    corpus = open_corpus(config(train=train, test=test, on_bad="skip"))
    write_listing(corpus.listings, tmp_path / "skipped.jsonl")
    lines = (tmp_path / "skipped.jsonl").read_text(encoding="utf-8").splitlines()
    listed = [(line["where"], line["row"], line["reason"]) for line in map(json.loads, lines)]
    null = "The summary is null; a text is needed."
    assert listed == [
        *[(f"{train}:{row}", row, null) for row in (4, 5, 6, 7)],
        (f"{train}:8", 8, "Document 8 is empty."),
        (f"{test}:2", 2, "The row has no summary."),
    ]
    assert open_split(config(test=test, on_bad="skip"), "test").listings == corpus.listings[1:]


def test_nothing_is_written_where_nothing_was_left_out(tmp_path):
    corpus = open_corpus(config(train=write(tmp_path / "a.jsonl", *pairs(1, 2))))
    write_listing(corpus.listings, tmp_path / "skipped.jsonl")
    assert not (tmp_path / "skipped.jsonl").exists()


def test_same_content_elsewhere_is_the_same_corpus(tmp_path):
    here = write(tmp_path / "here" / "a.jsonl", *pairs(1, 2))
    there = write(tmp_path / "there" / "a.jsonl", *pairs(1, 2))
    assert (
        open_corpus(config(train=here)).fingerprint == open_corpus(config(train=there)).fingerprint
    )


def test_other_settings_of_reading_are_another_corpus(tmp_path):
    path = write(tmp_path / "a.jsonl", *pairs(1, 2))
    whole = open_corpus(config(train=path, validation=path))
    cut = open_corpus(config(train=path, validation=path, max_chars=3))
    assert cut.train["document"][:] == ["doc", "doc"]
    assert cut.fingerprint != whole.fingerprint


# --- holding out ----------------------------------------------------------------------------------


def test_share_of_the_training_pairs_is_held_out_where_no_file_is_named(tmp_path):
    path = write(tmp_path / "a.jsonl", *pairs(*range(400)))
    corpus = open_corpus(config(train=path, holdout=0.25))
    assert len(corpus.train) + len(corpus.validation) == 400
    assert 70 < len(corpus.validation) < 130
    validation = open_split(config(train=path, holdout=0.25), "validation")
    assert validation.pairs["id"][:] == corpus.validation["id"][:]


DOCUMENTS = st.lists(st.text(max_size=3), min_size=1, max_size=30)


def split_of(documents: list[str], share: float) -> dict[str, str]:
    held = hold_out((Pair("", document, ()) for document in documents), share)
    return {item.document: split for split, item in held}


@given(DOCUMENTS, st.floats(0.01, 0.99), st.randoms(use_true_random=False))
def test_split_of_a_document_does_not_depend_on_the_order(documents, share, rng: random.Random):
    shuffled = documents.copy()
    rng.shuffle(shuffled)
    assert split_of(documents, share) == split_of(shuffled, share)


@given(DOCUMENTS, st.floats(0.01, 0.99))
def test_every_pair_is_in_one_split_and_some_are_held_out(documents, share):
    held = list(hold_out([Pair("", document, ()) for document in documents], share))
    assert sorted(item.document for _, item in held) == sorted(documents)
    assert "validation" in {split for split, _ in held}
    splits = {
        document: {s for s, item in held if item.document == document} for document in documents
    }
    assert all(len(found) == 1 for found in splits.values())


def test_single_pair_leaves_nothing_to_train_on(tmp_path):
    path = write(tmp_path / "a.jsonl", pair(1))
    with pytest.raises(
        DataError, match=r"no train pairs .*; the few there are were held out: name"
    ):
        open_corpus(config(train=path))


# --- the built-in corpus --------------------------------------------------------------------------


def test_built_in_corpus_is_harvested_once_and_then_mapped(tmp_path, monkeypatch):
    source = tmp_path / "module.py"
    source.write_text("", encoding="utf-8")
    harvests = []

    def harvest(files, *, workers, progress):
        harvests.append(files)
        progress(len(files), len(files))
        return {split: [Pair(split, "d", ("s",))] for split in ("train", "validation", "test")}

    monkeypatch.setattr(docstrings, "find_source_files", lambda: [SourceFile(source, "module")])
    monkeypatch.setattr(docstrings, "harvest", harvest)
    told = []
    for _ in range(2):
        corpus = open_corpus(DataConfig(), progress=lambda *numbers: told.append(numbers))
        assert corpus.name == "docstrings"
        assert (corpus.train["id"][0], corpus.validation["id"][0]) == ("train", "validation")
        assert open_split(DataConfig(), "test").pairs["id"][:] == ["test"]
    assert len(harvests) == len(told) == 1
    source.write_text("changed = True", encoding="utf-8")
    open_split(DataConfig(), "test", progress=lambda *numbers: told.append(numbers))
    assert len(harvests) == len(told) == 2
    assert open_corpus(DataConfig()).fingerprint != corpus.fingerprint


def test_a_split_knows_its_content_and_the_digests_of_its_files(tmp_path):
    def split_of(text):
        (tmp_path / "test.jsonl").write_text(text, encoding="utf-8")
        config = DataConfig(name="files", test=str(tmp_path / "test.jsonl"))
        return open_split(config, "test").fingerprint, split_digests(config, "test")

    once = split_of('{"document": "a", "summary": "b"}\n')
    assert once == split_of('{"document": "a", "summary": "b"}\n')
    other = split_of('{"document": "a", "summary": "c"}\n')
    assert once[0] != other[0]
    assert list(once[1]) == [str(tmp_path / "test.jsonl")]
    assert once[1] != other[1]


def test_a_split_that_was_held_out_has_the_digest_of_the_training_file(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"document": "a", "summary": "b"}\n', encoding="utf-8")
    config = DataConfig(name="files", train=str(tmp_path / "a.jsonl"))
    assert list(split_digests(config, "validation")) == [str(tmp_path / "a.jsonl")]
    assert split_digests(DataConfig(), "test") == {}
