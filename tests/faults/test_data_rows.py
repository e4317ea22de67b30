"""Bad rows and bad files in every format that is read."""

import gzip
import json
import os
import re
import socket
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.corpus_files import (
    FORMATS,
    SOUND,
    TABLES,
    documents,
    encoded,
    refused,
    trained_on,
    write_file,
)

from pgsum.config import DataConfig
from pgsum.data import cache
from pgsum.data.documents import read_documents
from pgsum.data.records import Pair
from pgsum.data.sources import open_corpus, open_split
from pgsum.errors import DataError
from pgsum.predictions import match_predictions, read_predictions


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSUM_CACHE", str(tmp_path / "cache"))
    cache._cache_folder.cache_clear()
    yield
    cache._cache_folder.cache_clear()


# --- 23 to 26: rows -------------------------------------------------------------------------------


def with_a_bad_row(data: bytes) -> bytes:
    """The last row but one cannot be read."""
    lines = data.split(b"\n")
    bad = lines[-3]
    lines[-3] = bad[:-1] if bad.startswith(b"{") else bad + bad[len('"document 1233"') :]
    return b"\n".join(lines)


@pytest.mark.fault(23)
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", *TABLES])
def test_one_bad_row_among_many_is_named_by_its_line_and_may_be_skipped(tmp_path, suffix):
    rows = [(f"document {n}", f"summary {n}") for n in range(1235)]
    path = write_file(tmp_path, rows, suffix, with_a_bad_row)
    line = 1234 if suffix.startswith(".jsonl") else 1235  # below a header
    refused(path, rf"a{suffix}:{line}.*data\.on_bad=skip")
    corpus = trained_on(path, on_bad="skip")
    assert documents(corpus) == [d for d, _ in rows if d != "document 1233"]
    assert re.search(r"1 bad row skipped: The (line is not JSON|row has 3 fields)", corpus.notes[0])


@pytest.mark.fault(24)
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", *TABLES, ".parquet"])
def test_wrong_columns_are_listed_with_those_that_were_meant(tmp_path, suffix):
    rows = [("d", "s"), ("e", "t")]

    def renamed(data: bytes) -> bytes:
        return data.replace(b"document", b"documnet").replace(b"summary", b"sumary")

    path = write_file(tmp_path, rows, suffix, renamed)
    if suffix == ".parquet":
        pq.write_table(pa.table({"documnet": ["d"], "sumary": ["s"]}), path)
    refused(
        path,
        r"not known by name: documnet, sumary; .*did you mean "
        r"data\.document_column=documnet data\.summary_column=sumary\?",
    )
    named = {"document_column": "documnet", "summary_column": "sumary"}
    config = DataConfig(name="files", train=str(path), validation=str(path), **named)
    assert documents(open_corpus(config))[0] == "d"


@pytest.mark.fault(25)
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".jsonl.gz"])
@pytest.mark.parametrize(
    ("summary", "message"),
    [
        (None, r"The summary is null; a text is needed; .*on_bad=skip"),
        (3, r"The summary is a number; .*write it as a text, in quotes; or add data\.on_bad=skip"),
        (False, "The summary is a truth value"),
        ([], "The summary is an empty list"),
        ([1], "The summary holds a number; a list of texts is needed"),
        ({"a": "b"}, "The summary is an object"),
    ],
)
def test_a_summary_that_is_no_text_is_a_bad_row(tmp_path, suffix, summary, message):
    path = write_file(tmp_path, [("d", summary)], suffix)
    refused(path, message)
    refused(path, "no train pairs that can be used. .*1 bad row skipped", on_bad="skip")


@pytest.mark.fault(25)
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_several_references_are_for_evaluation_unless_the_first_is_asked_for(tmp_path, suffix):
    path = write_file(tmp_path, [("d", ["s", "t"]), ("e", ["u", "v"])], suffix)
    refused(path, r"has 2 references, and training takes one; .*data\.reference=first")
    assert trained_on(path, reference="first").train["references"][:] == [["s"], ["u"]]
    split = open_split(DataConfig(name="files", test=str(path)), "test")
    assert split.pairs["references"][:] == [["s", "t"], ["u", "v"]]


@pytest.mark.fault(26)
@pytest.mark.parametrize("suffix", TABLES)
@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b'"d"M"s"M"x"', r"The row has 3 fields and the header 2"),
        (b'"d"', r"The row has 1 fields and the header 2"),
        (b'"d"x"M"s"', r"The quotes are not as they should be"),
        (b'"dM"s', r"(quote opens here and never closes|quotes are not as they should be)"),
    ],
)
def test_a_table_is_read_strictly(tmp_path, suffix, row, message):
    mark = b"\t" if ".tsv" in suffix else b","
    path = write_file(tmp_path, SOUND, suffix, lambda data: data + row.replace(b"M", mark) + b"\n")
    refused(path, rf"{message}.*a{suffix}:8")


@pytest.mark.fault(26)
@pytest.mark.parametrize("suffix", [*FORMATS])
@pytest.mark.parametrize("word", ["NA", "nan", "null", "None", "1", "true", "-inf", "1e5", "#N/A"])
def test_a_word_that_others_take_for_nothing_stays_text(tmp_path, suffix, word):
    corpus = trained_on(write_file(tmp_path, [(word, word), *SOUND], suffix))
    assert corpus.train[0] == {"id": "1", "document": word, "references": [word]}


# --- 27 to 30: files ------------------------------------------------------------------------------


@pytest.mark.fault(27)
@pytest.mark.parametrize("suffix", [".jsonl.gz", *TABLES[2:], ".source.gz", ".parquet"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_compressed_file_that_is_cut_short_is_refused(tmp_path, suffix, share):
    rows = [(os.urandom(20).hex(), "s") for _ in range(200)]
    path = write_file(tmp_path, rows, suffix)
    os.truncate(path, int(share * path.stat().st_size))
    refused(path, "damaged or cut short")
    refused(path, "damaged or cut short", on_bad="skip")  # it is no bad row: nobody knows the rest


@pytest.mark.fault(27)
@pytest.mark.parametrize("suffix", [".jsonl.gz", ".parquet"])
def test_documents_of_a_damaged_file_are_not_summarized(tmp_path, suffix):
    path = write_file(tmp_path, SOUND, suffix)
    os.truncate(path, path.stat().st_size - 9)
    with pytest.raises(DataError, match="damaged or cut short"):
        list(read_documents(path, on_bad="skip"))


@pytest.mark.fault(28)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet", ".csv.gz"])
def test_predictions_of_other_pairs_are_refused_with_the_first_five(tmp_path, suffix):
    rows = [{"id": f"p{n}", "prediction": "x"} for n in range(2, 9)]
    path = tmp_path / f"p{suffix}"
    mark = "\t" if suffix == ".tsv" else ","
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        lines = [json.dumps(row) for row in rows]
        if suffix != ".jsonl":
            lines = [f"id{mark}prediction", *(mark.join(row.values()) for row in rows)]
        data = "".join(line + "\n" for line in lines).encode()
        path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    predictions = read_predictions(path, references=False)
    assert match_predictions(predictions, [Pair(f"p{n}", "d", ("r",)) for n in range(2, 9)]) == [
        *range(7)
    ]
    with pytest.raises(DataError, match=r"none for .*q0.*q4.*not in the data: .*p2"):
        match_predictions(predictions, [Pair(f"q{n}", "d", ("r",)) for n in range(6)])


@pytest.mark.fault(29)
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_ids_that_come_again_are_counted_where_they_matter(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    rows = [{"id": "same", "document": f"d{n}", "summary": "s"} for n in range(3)]
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    split = open_split(DataConfig(name="files", test=str(path)), "test")
    assert split.notes == (f"t{suffix}: 2 ids seen before.",)
    assert len(split.pairs) == 3


def socket_file(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
    return path


def loop(path: Path) -> Path:
    path.symlink_to(path)
    return path


def dangling(path: Path) -> Path:
    path.symlink_to(path.parent / "nowhere")
    return path


def device(path: Path) -> Path:
    path.symlink_to("/dev/zero")
    return path


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


@pytest.mark.fault(30)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".jsonl.gz", ".source"])
@pytest.mark.parametrize("make", [socket_file, loop, dangling, device, pipe])
def test_what_is_no_file_is_not_read(tmp_path, monkeypatch, suffix, make):
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    make(Path(f"a{suffix}"))
    refused(tmp_path / f"a{suffix}", r"This is a|no such file|cannot be read: ")
    if make is not pipe:  # which can be read as documents, once
        with pytest.raises(DataError, match=r"This is a|no such file|cannot be read: "):
            list(read_documents(tmp_path / f"a{suffix}"))


@pytest.mark.fault(30)
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".jsonl.gz"])
def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch, suffix):
    path = write_file(tmp_path, SOUND, suffix)

    def forbidden(*arguments: Any, **_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    monkeypatch.setattr(pq, "ParquetFile", forbidden)
    with pytest.raises(DataError, match=r"[Pp]ermission denied"):
        list(read_documents(path))


# --- 31 and 43: names -----------------------------------------------------------------------------


@pytest.mark.fault(31)
@pytest.mark.parametrize("id_", ["../../x", "/tmp/x", "..", "a/b", "a\0b", "x" * 300])
def test_no_file_is_named_after_an_id(pgsum, tmp_path, monkeypatch, id_):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    row = {"id": id_, "prediction": "a cat", "references": ["a cat sat"], "system": id_}
    Path("p.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    before = {path for path in tmp_path.rglob("*") if "cache" not in path.parts}
    done = pgsum("evaluate", "--predictions", "p.jsonl", "--out", "out", "--report", "r.html")
    assert done.code == 0, done.err
    made = {path for path in tmp_path.rglob("*") if "cache" not in path.parts} - before
    here = tmp_path / "here"
    assert made == {here / "r.html", here / "out", *(here / "out").iterdir()}
    assert {path.name for path in (here / "out").iterdir()} <= {
        "metrics.json",
        "predictions.jsonl",
        "run.json",
    }


@pytest.mark.fault(31)
@pytest.mark.parametrize("name", ["../x", "a/b", "/tmp/x", "..", "a\\b"])
def test_a_run_is_not_called_like_a_path(pgsum, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    done = pgsum("train", str(write_file(tmp_path, SOUND, ".jsonl")), f"name={name}")
    assert (done.code, "a folder is called after it" in done.err) == (2, True)


@pytest.mark.fault(43)
@pytest.mark.parametrize("verb", ["check", "train", "evaluate"])
def test_offline_a_data_set_of_the_hub_is_refused_in_three_lines(pgsum, monkeypatch, verb):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    options = ["--system", "lead-1"] if verb == "evaluate" else []
    done = pgsum(verb, "owner/news:default@test", *options)
    assert (done.code, done.out) == (3, "")
    assert done.err.splitlines()[-3:] == [
        "error: HF_HUB_OFFLINE is set, and the hub is not asked.",
        "  --> owner/news",
        "hint: offline: give a local path",
    ]


@pytest.mark.fault(43)
def test_a_path_that_is_not_there_is_not_asked_for_elsewhere(pgsum, monkeypatch):
    def never(self, *arguments, **options):
        raise AssertionError("the hub was asked")

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", never)
    done = pgsum("check", "./nosuch")
    assert done.code == 3
    assert "There is no file, no folder and no corpus called './nosuch'" in done.err


# --- what general loaders do to files -------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_numbers_among_texts_are_bad_rows_and_change_no_text(tmp_path, suffix):
    """A general loader takes the column for JSON, and texts get quotes."""
    path = write_file(tmp_path, [*SOUND, (7, "s")], suffix)
    refused(path, "The document is a number")
    assert documents(trained_on(path, on_bad="skip")) == [d for d, _ in SOUND]


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_a_key_that_is_missing_is_a_bad_row_and_one_too_many_is_ignored(tmp_path, suffix):
    extra = b'{"document": "d", "summary": "s", "new": [1]}\n'
    path = write_file(tmp_path, SOUND, suffix, lambda data: data + extra)
    assert documents(trained_on(path))[-1] == "d"
    path = write_file(tmp_path, SOUND, suffix, lambda data: data + b'{"document": "d"}\n')
    refused(path, r"The row has no summary; at .*:7; add data\.on_bad=skip")


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".jsonl.gz", ".tsv.gz"])
def test_empty_lines_are_no_rows(tmp_path, suffix):
    path = write_file(tmp_path, SOUND, suffix, lambda data: b"\n" + data.replace(b"\n", b"\n\n"))
    assert documents(trained_on(path)) == [d for d, _ in SOUND]


def test_other_files_of_a_folder_are_let_alone(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "train.jsonl").write_bytes(encoded(SOUND, ".jsonl"))
    for name in (
        "train.md",
        "README.md",
        "train.toml",
        "validation.yaml",
        ".train.jsonl",
        "train.log",
    ):
        (folder / name).write_text("not data", encoding="utf-8")
    corpus = open_corpus(DataConfig(name="files", root=str(folder)))
    assert len(corpus.train) + len(corpus.validation) == len(SOUND)
