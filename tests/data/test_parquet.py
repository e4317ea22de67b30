import datetime
import os
import random
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsum.data import parquet
from pgsum.data.documents import read_documents
from pgsum.data.parquet import read_parquet
from pgsum.data.records import Pair, Reading, Tally, read_files
from pgsum.data.rows import BadRow, Row
from pgsum.errors import DataError


@pytest.fixture
def write(tmp_path):
    def to_file(columns, **options):
        path = tmp_path / "pairs.parquet"
        pq.write_table(
            columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options
        )
        return path

    return to_file


def records(path, wanted="references"):
    return list(read_files([path], Reading(wanted), Tally("f")))


def test_values_are_those_of_json_with_file_and_row_as_their_place(write):
    path = write(
        {"text": ["a", None], "n": [1, None], "all": [["x", "y"], []], "is": [{"k": "v"}, None]}
    )
    assert list(read_parquet(path)) == [
        Row(1, f"{path}, row 1", {"text": "a", "n": 1, "all": ["x", "y"], "is": {"k": "v"}}),
        Row(2, f"{path}, row 2", {"text": None, "n": None, "all": [], "is": None}),
    ]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
)
def test_a_text_is_a_text_however_it_is_stored(write, kind):
    path = write({"document": pa.array(["a", "b"]).cast(kind), "summary": ["s", "t"]})
    assert [record.pair.document for record in records(path)] == ["a", "b"]


@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("summaries", "reason"),
    [
        (pa.array([None], pa.string()), "The summary is null; a text is needed."),
        (pa.nulls(1), "The summary is null; a text is needed."),
        ([3], "The summary is a number; a text is needed."),
        ([True], "The summary is a truth value; a text is needed."),
        ([[]], "The summary is an empty list; a text is needed."),
        ([["a", None]], "The summary holds null; a list of texts is needed."),
        ([{"a": "b"}], "The summary is an object; a text is needed."),
        ([b"bytes"], "The summary is an object; a text is needed."),
        ([datetime.date(2020, 1, 1)], "The summary is an object; a text is needed."),
    ],
)
def test_what_is_no_text_is_a_bad_row(write, summaries, reason):
    path = write({"document": ["d"], "summary": summaries})
    [row] = records(path)
    assert (row.reason, row.where) == (reason, f"{path}, row 1")


def test_dates_that_nobody_asked_for_do_no_harm(write):
    far = pa.array([2**31 - 1], pa.date32())
    assert records(write({"document": ["d"], "summary": ["s"], "when": far}))[0].pair == Pair(
        "1", "d", ("s",)
    )


@pytest.mark.fault(24)
def test_unknown_columns_are_listed(write):
    path = write({"body": ["d"], "summry": ["s"]})
    with pytest.raises(
        DataError, match=r"not known by name: body, summry; at .*row 1; .*summary_column=summry"
    ):
        records(path)


def test_two_columns_of_one_name_are_refused(write):
    table = pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    with pytest.raises(DataError, match="Two columns are called 'text'"):
        records(write(table))


@pytest.mark.fault(7)
def test_text_that_is_not_utf8_is_a_bad_row_and_its_neighbours_are_not(write):
    documents = pa.array([b"a", b"b\xff", b"c"]).cast(pa.binary())
    documents = pa.Array.from_buffers(pa.string(), 3, documents.buffers())
    path = write({"document": documents, "summary": ["s", "t", "u"]})
    first, bad, last = records(path)
    assert (first.pair.document, last.pair.document) == ("a", "c")
    assert bad == BadRow(2, f"{path}, row 2", "The row holds text that is not UTF-8.")


@pytest.mark.fault(27)
def test_a_file_cut_short_anywhere_is_refused_by_name(write):
    path = write({"document": ["word " * 20] * 9, "summary": ["s"] * 9})
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(
            DataError,
            match=r"Parquet file is damaged or cut short.*; at .*pairs\.parquet; copy it again",
        ):
            records(path)


@pytest.mark.fault(27)
def test_a_damaged_file_is_read_or_refused_and_nothing_else(write):
    path = write(
        {"document": [f"d {n}" for n in range(50)], "summary": ["s"] * 50},
        write_page_checksum=True,
    )
    whole, rng = path.read_bytes(), random.Random(3)
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= rng.randrange(1, 256)
        path.write_bytes(damaged)
        try:
            list(read_parquet(path))
        except DataError:
            refused += 1
    assert refused > 200


def test_parquet_that_is_compressed_once_more_is_to_be_unpacked(write):
    path = write({"text": ["a"]})
    path = path.rename(path.with_name("pairs.parquet.gz"))
    with pytest.raises(
        DataError, match=r"not read from a \.gz file; .*; unpack it: gunzip pairs\.parquet\.gz"
    ):
        list(read_parquet(path))


def test_a_pipe_cannot_be_read_from_its_end(tmp_path):
    os.mkfifo(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="This is a pipe; a file is needed"):
        list(read_parquet(tmp_path / "a.parquet"))


def test_documents_to_be_summarized_come_from_parquet_too(write):
    path = write({"id": ["x", "y"], "article": ["One.", "Two."]})
    assert list(read_documents(path)) == [Pair("x", "One.", ()), Pair("y", "Two.", ())]


def test_memory_does_not_grow_with_the_number_of_rows(write, monkeypatch):
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 100_000)
    path = write({"document": ["word " * 200] * 20_000})  # in one row group; 20 MB
    tracemalloc.start()
    arrow = pa.total_allocated_bytes()
    most = 0
    try:
        for number, _ in enumerate(read_parquet(path)):
            if number % 1000 == 0:
                most = max(most, pa.total_allocated_bytes() - arrow)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
    assert most < 4_000_000
