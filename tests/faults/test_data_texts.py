"""Bad texts in every format that is read: nothing to be seen, encodings, odd characters."""

import gzip
import io
import json
import sys
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.corpus_files import (
    FORMATS,
    SOUND,
    TABLES,
    TEXT_FORMATS,
    documents,
    refused,
    trained_on,
    write_file,
)

from pgsum.data import cache
from pgsum.data.documents import read_documents
from pgsum.data.records import Pair
from pgsum.data.rows import BadRow
from pgsum.errors import DataError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSUM_CACHE", str(tmp_path / "cache"))
    cache._cache_folder.cache_clear()
    yield
    cache._cache_folder.cache_clear()


# --- 1: nothing to be seen ------------------------------------------------------------------------

BLANK = ["", "   ", "\u200b\u200d\ufeff", "\u00a0\u2003"]


@pytest.mark.fault(1)
@pytest.mark.parametrize("suffix", FORMATS)
def test_blank_texts_are_left_out_of_training_counted_and_listed(tmp_path, suffix):
    blank = [(text, "s") for text in BLANK] + [("d", text) for text in BLANK]
    corpus = trained_on(write_file(tmp_path, [*SOUND, *blank], suffix))
    assert len(corpus.train) == len(SOUND)
    assert "8 pairs left out, with an empty document or summary" in corpus.notes[0]
    [listing] = corpus.listings
    assert len(listing.read_text(encoding="utf-8").splitlines()) == 8


@pytest.mark.fault(1)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet", ".jsonl.gz"])
@pytest.mark.parametrize("text", BLANK)
def test_a_blank_document_is_not_summarized(tmp_path, suffix, text):
    path = write_file(tmp_path, [("One.", "s"), (text, "s")], suffix)
    with pytest.raises(DataError, match="Document 2 is empty"):
        list(read_documents(path))
    first, empty = read_documents(path, on_bad="skip")
    assert isinstance(first, Pair)
    assert isinstance(empty, BadRow)
    assert empty.is_empty


@pytest.mark.fault(1)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".source", ".jsonl.gz"])
@pytest.mark.parametrize("data", [b"", b"\n", b"\n \n\r\n", b"\xef\xbb\xbf"])
def test_a_file_with_nothing_in_it_has_no_pairs(tmp_path, suffix, data):
    refused(write_file(tmp_path, SOUND, suffix, lambda _: data), "no train pairs that can be used")


# --- 6: many small documents ----------------------------------------------------------------------


class ManyLines(io.BufferedIOBase):
    """JSON Lines that are made as they are read."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.made = 0

    def read(self, size: int | None = -1) -> bytes:
        first = self.made
        self.made = min(self._number, first + (size or 0) // 1000)
        text = b"word " * 190
        lines = (b'{"id":"%d","text":"%s"}\n' % (n, text) for n in range(first, self.made))
        return b"".join(lines)


@pytest.mark.fault(6)
def test_many_documents_stream_through_in_order_and_few_are_held(monkeypatch):
    lines = ManyLines(10_000)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=lines, isatty=lambda: False))
    most_held = 0
    for number, pair in enumerate(read_documents("-")):
        assert pair.id == str(number)
        most_held = max(most_held, lines.made - number)
    assert number == 9_999
    assert most_held < 3_000  # of a kilobyte each: two pieces of a megabyte


# --- 7 and 8: encodings ---------------------------------------------------------------------------

FOREIGN = [("Der Bär aß Käse für fünf, größer als süß.", "Bär isst Käse über Öl."), *SOUND]


@pytest.mark.fault(7)
@pytest.mark.parametrize("suffix", [*TEXT_FORMATS, ".csv.gz"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_another_encoding_is_refused_with_offset_and_guess_and_then_read(
    tmp_path, suffix, encoding
):
    path = write_file(tmp_path, FOREIGN, suffix, lambda data: data.decode().encode(encoding))
    refused(path, r"not UTF-8: byte 0xe4 at offset \d+; at .*:\d; .*add data\.encoding=latin-1")
    corpus = trained_on(path, encoding=encoding)
    assert documents(corpus)[0] == FOREIGN[0][0]


@pytest.mark.fault(7)
@pytest.mark.parametrize("suffix", TEXT_FORMATS)
def test_chinese_of_an_older_encoding_is_guessed(tmp_path, suffix):
    rows = [("我们在中国的一个大学里。" * 5, "这是不是人的？"), *SOUND]
    path = write_file(tmp_path, rows, suffix, lambda data: data.decode().encode("gb18030"))
    refused(path, r"not UTF-8.*add data\.encoding=gb18030")
    assert documents(trained_on(path, encoding="gb18030"))[0] == rows[0][0]


@pytest.mark.fault(7)
@pytest.mark.fault(8)
@pytest.mark.parametrize("suffix", [*TEXT_FORMATS, ".tsv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_believed_and_removed(tmp_path, suffix, encoding):
    path = write_file(tmp_path, FOREIGN, suffix, lambda data: data.decode().encode(encoding))
    corpus = trained_on(path)
    assert documents(corpus)[0] == FOREIGN[0][0]
    assert all("data.leaks" in note for note in corpus.notes)  # it is validated on the same file


@pytest.mark.fault(7)
@pytest.mark.parametrize("suffix", TEXT_FORMATS)
def test_utf_16_without_its_mark_is_refused_with_its_name(tmp_path, suffix):
    path = write_file(tmp_path, SOUND, suffix, lambda data: data.decode().encode("utf-16-le"))
    refused(path, r"UTF-16 without a byte order mark; .*add data\.encoding=utf-16-le")


# --- 9 to 11: characters --------------------------------------------------------------------------

BREAKS = "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven"


@pytest.mark.fault(9)
@pytest.mark.parametrize("suffix", FORMATS)
def test_breaks_of_unicode_part_no_rows(tmp_path, suffix):
    rows = [(BREAKS, BREAKS), *SOUND]
    assert documents(trained_on(write_file(tmp_path, rows, suffix))) == [d for d, _ in rows]


@pytest.mark.fault(9)
@pytest.mark.parametrize("suffix", [*TEXT_FORMATS, ".csv.gz"])
def test_lines_may_end_as_on_windows(tmp_path, suffix):
    path = write_file(tmp_path, SOUND, suffix, lambda data: data.replace(b"\n", b"\r\n"))
    assert documents(trained_on(path)) == [d for d, _ in SOUND]


@pytest.mark.fault(9)
@pytest.mark.parametrize("suffix", TABLES)
def test_tables_may_end_their_lines_as_old_spreadsheets_do(tmp_path, suffix):
    path = write_file(tmp_path, SOUND, suffix, lambda data: data.replace(b"\n", b"\r"))
    assert documents(trained_on(path)) == [d for d, _ in SOUND]


@pytest.mark.fault(9)
@pytest.mark.parametrize("suffix", [".jsonl", *TABLES, ".parquet"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_document_keeps_its_own_line_ends(tmp_path, suffix, end):
    rows = [(f"one{end}two{end}{end}three", f"a{end}b"), *SOUND]
    assert documents(trained_on(write_file(tmp_path, rows, suffix)))[0] == rows[0][0]


@pytest.mark.fault(10)
@pytest.mark.parametrize("suffix", FORMATS)
def test_control_characters_stay_in_the_data_and_part_nothing(tmp_path, suffix):
    rows = [("a\x00b \x1b[31mred\x1b[0m \x07 \x7f", "s\x08"), *[("long enough " * 20, "s")] * 9]
    corpus = trained_on(write_file(tmp_path, rows, suffix))
    assert documents(corpus)[0] == rows[0][0]


@pytest.mark.fault(10)
@pytest.mark.parametrize("suffix", [".jsonl", *TABLES, ".parquet"])
def test_control_characters_of_a_file_never_reach_a_message_as_they_are(tmp_path, suffix):
    path = write_file(tmp_path, SOUND, suffix)
    rows = [{"doc\x1b[2J": "d", "sum\x1b7": "s"}]
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        mark = "\t" if ".tsv" in suffix else ","
        table = mark.join(rows[0]) + "\n" + mark.join(rows[0].values()) + "\n" * 2
        data = (json.dumps(rows[0]) if suffix == ".jsonl" else table).encode()
        path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    with pytest.raises(DataError, match=r"doc\\x1b\[2J, sum\\x1b7") as error:
        trained_on(path)
    assert str(error.value).isprintable()


@pytest.mark.fault(11)
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_half_characters_are_replaced_and_counted(tmp_path, suffix):
    path = write_file(
        tmp_path,
        SOUND,
        suffix,
        lambda data: data.replace(b"document 1", b"x \\ud800\\udc41 \\ude00"),
    )
    corpus = trained_on(path)
    assert documents(corpus)[1] == "x \U00010041 \ufffd"
    assert "1 lone surrogate replaced" in corpus.notes[0]


@pytest.mark.fault(11)
@pytest.mark.parametrize("suffix", TEXT_FORMATS)
def test_bytes_of_half_a_character_are_no_utf8(tmp_path, suffix):
    path = write_file(
        tmp_path, SOUND, suffix, lambda data: data.replace(b"document 1", b"\xed\xa0\x80")
    )
    refused(path, r"not UTF-8: byte 0xed at offset \d+")
