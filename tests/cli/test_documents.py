import io
import os
import sys
import threading

import pytest

from pgsum.cli.documents import Documents, expand
from pgsum.data.records import Pair
from pgsum.errors import ConfigError, DataError


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(*names: str, on_bad: str = "error") -> list[tuple[str, str]]:
    documents = Documents(names, column=None, encoding=None, on_bad=on_bad)
    return [
        (file, document.document if isinstance(document, Pair) else document.reason)
        for file, document in documents
    ]


def send(monkeypatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8"))))


def test_a_pattern_is_its_files_in_order_and_a_name_stays(here):
    (here / "d").mkdir()
    for name in ("b.txt", "a.txt", "c.md"):
        (here / "d" / name).touch()
    (here / "[x].txt").touch()
    assert expand(["z.txt", "d/*.txt", "[x].txt", "-"]) == [
        "z.txt",
        "d/a.txt",
        "d/b.txt",
        "[x].txt",
        "-",
    ]
    with pytest.raises(DataError, match=r"No file matches the pattern; at d/\*\.pdf"):
        expand(["d/*.pdf"])


def test_documents_come_with_their_files_in_order(here):
    (here / "a.txt").write_text("One.", encoding="utf-8")
    (here / "b.jsonl").write_text('{"text": "Two."}\n{"text": "Three."}\n', encoding="utf-8")
    assert read("b.jsonl", "a.txt") == [
        ("b.jsonl", "Two."),
        ("b.jsonl", "Three."),
        ("a.txt", "One."),
    ]


@pytest.mark.parametrize("names", [(), ("-",)])
def test_standard_input_is_read_once(monkeypatch, names):
    send(monkeypatch, '{"text": "Two."}\n{"text": "Three."}\n')
    assert read(*names) == [("-", "Two."), ("-", "Three.")]


def test_standard_input_named_twice_is_refused(monkeypatch):
    send(monkeypatch, "Text.")
    with pytest.raises(ConfigError, match="Standard input can be read only once"):
        read("-", "-")


def test_a_pipe_is_read_once_as_bash_gives_it(here):
    """As in `pgsum summarize <(command) a.txt`."""
    (here / "a.txt").write_text("One.", encoding="utf-8")
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w", encoding="utf-8") as pipe:
        pipe.write("Through a pipe.")
        pipe.close()
        name = f"/dev/fd/{reading}"
        assert read(name, "a.txt") == [(name, "Through a pipe."), ("a.txt", "One.")]


def test_rows_of_a_named_pipe_are_read_once(here):
    os.mkfifo(here / "rows.jsonl")
    rows = '{"text": "Two."}\n{"text": "Three."}\n'
    writer = threading.Thread(target=(here / "rows.jsonl").write_text, args=(rows,))
    writer.start()
    assert read("rows.jsonl") == [("rows.jsonl", "Two."), ("rows.jsonl", "Three.")]
    writer.join()


def test_every_file_is_looked_into_before_the_first_is_read(here):
    (here / "a.txt").write_text("One.", encoding="utf-8")
    (here / "b.txt").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match=r"not UTF-8: byte 0xe9 at offset 3; at b\.txt:1"):
        Documents(["a.txt", "b.txt"], column=None, encoding=None, on_bad="error")


def test_an_empty_document_is_refused_or_kept_in_its_place(here):
    (here / "a.txt").write_text(" \u200b\n", encoding="utf-8")
    (here / "b.txt").write_text("Two.", encoding="utf-8")
    with pytest.raises(DataError, match=r"Document 1 is empty; at a\.txt"):
        read("a.txt", "b.txt")
    assert read("a.txt", "b.txt", on_bad="skip") == [
        ("a.txt", "Document 1 is empty."),
        ("b.txt", "Two."),
    ]


def test_a_file_without_rows_holds_no_document(here):
    (here / "a.jsonl").touch()
    with pytest.raises(DataError, match=r"holds no document; at a\.jsonl"):
        read("a.jsonl")


def test_a_closed_standard_input_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ConfigError, match="Nothing comes from standard input"):
        read()
