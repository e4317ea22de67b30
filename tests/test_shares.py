"""Of several processes: who reads what, and how it comes together. They run in tests/end_to_end."""

import json
from collections.abc import Iterator
from io import StringIO

import pytest

from pgsum.errors import DataError
from pgsum.shares import Share, merged


def chunks() -> Iterator[list[int]]:
    yield from ([0, 1], [2, 3], [4, 5], [6, 7], [8])


def broken() -> Iterator[list[int]]:
    yield [0, 1]
    yield [2, 3]
    raise DataError("Row 5 is bad.")


def share(given, rank, processes, failed_before=lambda number: False):
    return list(Share(given, rank=rank, processes=processes, failed_before=failed_before))


def lines(*records: dict) -> StringIO:
    return StringIO("".join(json.dumps(record) + "\n" for record in records))


def results(number: int) -> dict:
    return {"chunk": number, "results": [f"{number}a", f"{number}b"]}


END = {"chunks": 3, "items": 6}


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_each_chunk_is_one_process_s_and_all_know_how_many_there_are(processes):
    shares = [share(chunks(), rank, processes) for rank in range(processes)]
    given = [each for own in shares for each in own[:-1]]
    assert sorted(chunk for _, _, chunk in given) == list(chunks())
    assert all(
        number % processes == rank for rank in range(processes) for number, *_ in shares[rank][:-1]
    )
    assert {own[-1] for own in shares} == {(5, 9, None)}


def test_an_error_of_reading_stands_in_place_of_the_chunk_it_prevents():
    for rank in range(2):
        *_, (number, items, error) = share(broken(), rank, 2)
        assert (number, items, str(error)) == (2, 4, "Row 5 is bad")


def test_nothing_is_read_beyond_a_chunk_that_went_wrong():
    read = share(chunks(), 0, 1, failed_before=lambda number: number > 2)
    assert [number for number, *_ in read] == [0, 1, 2]


def test_results_come_in_the_order_of_their_chunks():
    files = [lines(results(0), results(2), END), lines(results(1), END)]
    assert list(merged(files)) == ["0a", "0b", "1a", "1b", "2a", "2b"]
    assert all(file.closed for file in files)


def test_more_processes_than_chunks_are_no_harm():
    end = {"chunks": 1, "items": 2}
    assert list(merged([lines(results(0), end), lines(end), lines(end)])) == ["0a", "0b"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([results(0), results(2), END], [results(1), {"chunks": 2, "items": 6}]),
        ([results(0), results(2), END], [results(1), {"chunks": 3, "items": 5}]),
        ([results(0), results(2), END], [results(1), results(3), {"chunks": 4, "items": 8}]),
        ([results(0), results(2), END], [results(3), END]),
        ([results(0), results(0), END], [results(1), END]),
        ([results(0), END], [results(1), END]),
        ([results(0), results(2), END], [END]),
    ],
    ids=["fewer", "shorter", "more", "skipped", "twice", "missing", "missing from another"],
)
def test_processes_that_read_different_documents_are_found_out(first, second):
    with pytest.raises(DataError, match="did not read the same documents"):
        list(merged([lines(*first), lines(*second)]))


def test_an_error_comes_after_all_that_was_before_it_and_as_what_it_was():
    parts = {"message": "No.", "where": "a.txt:3", "hint": "look"}
    failed = {"chunk": 1, "error": {"parts": parts, "exit_code": 3, "traceback": "there"}}
    found = merged([lines(results(0), results(2), END), lines(failed)])
    assert [next(found), next(found)] == ["0a", "0b"]
    with pytest.raises(Exception, match=r"No; at a\.txt:3; look") as raised:
        next(found)
    assert raised.value.exit_code == 3
    assert raised.value.__notes__ == ["there"]
