import gzip
import io
import os
import threading

import pytest

from pgsum.data.documents import read_documents
from pgsum.data.records import Pair
from pgsum.data.rows import BadRow
from pgsum.errors import ConfigError, DataError


@pytest.fixture
def standard_input(monkeypatch):
    def send(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    return send


def test_text_file_is_one_document(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("One.\n\nTwo.\n", encoding="utf-8")
    assert list(read_documents(path)) == [Pair(str(path), "One.\n\nTwo.\n", ())]


def test_compressed_text_file_is_one_document(tmp_path):
    path = tmp_path / "a.md.gz"
    path.write_bytes(gzip.compress("naïve".encode()))
    assert [pair.document for pair in read_documents(str(path))] == ["naïve"]


def test_rows_of_json_lines_are_documents_in_order(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "x", "text": "One."}\n{"text": "Two."}\n', encoding="utf-8")
    assert list(read_documents(path)) == [Pair("x", "One.", ()), Pair("2", "Two.", ())]


def test_column_may_be_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("body,text\nOne.,no\n", encoding="utf-8")
    assert [pair.document for pair in read_documents(path, column="body")] == ["One."]


def test_unknown_column_is_asked_for_as_the_command_calls_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("body,date\nOne.,1999\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"not known by name: body, date; .*; name them: --column NAME"
    ):
        list(read_documents(path))


def test_encoding_is_asked_for_as_the_command_calls_it_and_then_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Müller".encode("latin-1"))
    with pytest.raises(DataError, match="add --encoding latin-1"):
        list(read_documents(path))
    assert [pair.document for pair in read_documents(path, encoding="latin-1")] == ["Müller"]


@pytest.mark.parametrize("text", ["", " \n", "\u200b\ufeff"])
def test_empty_file_is_an_error_or_an_item_of_its_own(tmp_path, text):
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"Document 1 is empty; at .*a\.txt; add --on-bad skip"):
        list(read_documents(path))
    assert list(read_documents(path, on_bad="skip")) == [
        BadRow(1, str(path), "Document 1 is empty.", is_empty=True)
    ]


def test_bad_rows_stay_in_their_places_when_they_are_skipped(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "One."}\n{"text": \n{"text": null}\n{"text": "Four."}\n', "utf-8")
    one, broken, null, four = read_documents(path, on_bad="skip")
    assert (one.document, four.document, four.id) == ("One.", "Four.", "4")
    assert (broken.where, broken.number) == (f"{path}:2:10", 2)
    assert null.reason == "The text is null; a text is needed."


def test_notes_come_when_all_is_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a long document", encoding="utf-8")
    notes: list[str] = []
    documents = read_documents(path, max_chars=6, note=notes.append)
    assert next(documents).document == "a long"
    assert notes == []
    assert list(documents) == []
    assert notes == [f"{path}: 1 document cut after 6 characters (data.max_chars)."]


def test_pipe_is_read_like_a_file(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("Through a pipe.",))
    writer.start()
    assert [pair.document for pair in read_documents(path)] == ["Through a pipe."]
    writer.join()


def test_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="This is a folder; a file is needed"):
        list(read_documents(tmp_path))


# --- standard input -------------------------------------------------------------------------------


def test_standard_input_is_one_document(standard_input):
    standard_input("\ufeffEin Text über\nalles.".encode())
    assert list(read_documents("-")) == [Pair("standard input", "Ein Text über\nalles.", ())]


def test_standard_input_that_begins_as_json_lines_do_is_rows(standard_input):
    standard_input(b' {"id": 7, "document": "One."}\n{"document": "Two."}\n')
    assert list(read_documents("-")) == [Pair("7", "One.", ()), Pair("2", "Two.", ())]


def test_brace_alone_does_not_make_json_lines(standard_input):
    standard_input(b"{ brackets } in prose")
    assert [pair.document for pair in read_documents("-")] == ["{ brackets } in prose"]


def test_empty_standard_input_is_an_empty_document(standard_input):
    standard_input(b"")
    with pytest.raises(DataError, match="Document 1 is empty; at standard input"):
        list(read_documents("-"))


def test_rows_are_given_before_the_next_are_read(monkeypatch):
    class Slow(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1) -> bytes:
            Slow.reads += 1
            return b'{"document": "One."}\n' if Slow.reads < 1_000 else b""

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Slow()))
    documents = read_documents("-")
    next(documents)
    assert Slow.reads < 5


@pytest.mark.parametrize("stdin", [None, "terminal"])
def test_closed_standard_input_and_a_terminal_are_refused_at_once(monkeypatch, stdin):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal() if stdin else None)
    with pytest.raises(ConfigError, match=r"Nothing comes from standard input; .* cat FILE \|"):
        list(read_documents("-"))
