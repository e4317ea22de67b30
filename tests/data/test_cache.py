import errno
import json
import os
import time
import tracemalloc

import pyarrow as pa
import pytest

from pgsum.data import cache
from pgsum.data.cache import cached
from pgsum.data.records import Pair, Tally
from pgsum.data.rows import BadRow
from pgsum.errors import DataError

PAIRS = [Pair(str(n), f"document {n} 🙂", ("one", "two")[: n % 2 + 1]) for n in range(5)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSUM_CACHE", str(tmp_path / "cache"))
    cache._cache_folder.cache_clear()
    yield tmp_path / "cache" / "corpora"
    cache._cache_folder.cache_clear()


def read():
    return (("train", pair) for pair in PAIRS)


def never():
    raise AssertionError("the entry was to be found in the cache")


def test_pairs_come_back_as_they_were_written():
    dataset = cached("key", ["train"], read, Tally("f")).dataset("train")
    assert dataset.column_names == ["id", "document", "references"]
    assert [Pair(r["id"], r["document"], tuple(r["references"])) for r in dataset] == PAIRS


def test_pairs_are_mapped_from_the_file_and_not_held(folder):
    dataset = cached("key", ["train"], read, Tally("f")).dataset("train")
    assert [file["filename"] for file in dataset.cache_files] == [str(folder / "key/train.arrow")]


def test_entry_is_written_once_with_its_notes():
    first = cached("key", ["train"], read, Tally("f", bad=3, repeated_ids=1))
    again = cached("key", ["train"], never, Tally("f"))
    assert again == first
    assert again.notes[1:] == ("f: 1 id seen before.",)
    assert again.skipped == 3


def test_another_fingerprint_is_another_entry():
    cached("key", ["train"], read, Tally("f"))
    other = cached("other", ["train"], lambda: [("train", PAIRS[0])], Tally("f"))
    assert len(other.dataset("train")) == 1


def test_split_without_pairs_is_an_empty_dataset():
    dataset = cached("key", ["train", "test"], read, Tally("f")).dataset("test")
    assert len(dataset) == 0
    assert dataset.column_names == ["id", "document", "references"]


def test_large_documents_are_written_in_batches_of_bounded_size(monkeypatch, folder):
    monkeypatch.setattr(cache, "_BATCH_CHARS", 10)
    entry = cached("key", ["train"], read, Tally("f"))
    assert len(entry.dataset("train")) == 5
    with pa.memory_map(str(folder / "key/train.arrow")) as source:
        assert len(list(pa.ipc.open_stream(source))) == 5


def test_memory_does_not_grow_with_the_number_of_pairs():
    def many():
        for n in range(20_000):
            yield "train", Pair(str(n), f"{n} " + "word " * 100, ("summary",))

    cached("warm up", ["train"], read, Tally("f"))
    tracemalloc.start()
    try:
        entry = cached("key", ["train"], many, Tally("f"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(entry.dataset("train")) == 20_000  # ten million characters
    assert peak < 4_000_000


# --- what was left out ----------------------------------------------------------------------------


def skipping(tally: Tally, number: int):
    def read():
        for n in range(1, number + 1):
            tally.skip(BadRow(n, f"f:{n}", "It is bad."))
        yield "train", PAIRS[0]

    return read


def listed(entry: cache.Entry) -> list[dict[str, object]]:
    return [json.loads(line) for line in entry.listing.read_text(encoding="utf-8").splitlines()]


@pytest.mark.fault(23)
def test_every_row_left_out_is_listed_where_the_notes_name_only_some(folder):
    tally = Tally("f")
    first = cached("key", ["train"], skipping(tally, 5), tally)
    again = cached("key", ["train"], never, Tally("f"))
    assert again == first
    assert listed(again) == [
        {"where": f"f:{n}", "row": n, "reason": "It is bad."} for n in range(1, 6)
    ]
    assert again.notes[0].startswith("f: 5 bad rows skipped: It is bad (f:1)")
    assert again.notes[1] == f"All that was left out is listed in {folder / 'key/skipped.jsonl'}."


def test_a_list_that_says_no_more_than_the_notes_is_not_pointed_at():
    tally = Tally("f")
    entry = cached("key", ["train"], skipping(tally, 2), tally)
    assert (len(entry.notes), len(listed(entry))) == (1, 2)
    assert cached("other", ["train"], read, Tally("f")).listing is None


@pytest.mark.fault(23)
def test_a_list_of_very_many_rows_ends_with_how_many_more_there_are(monkeypatch):
    monkeypatch.setattr(cache, "MAX_LISTED", 3)
    tally = Tally("f")
    entry = cached("key", ["train"], skipping(tally, 10), tally)
    assert [line.get("row") for line in listed(entry)] == [1, 2, 3, None]
    assert listed(entry)[-1] == {"not_listed": 7}
    assert entry.skipped == 10


# --- what is damaged or abandoned -----------------------------------------------------------------


def cut_short(entry):
    os.truncate(entry / "train.arrow", 100)


def emptied(entry):
    (entry / "train.arrow").write_bytes(b"")


def without_tally(entry):
    (entry / "tally.json").unlink()


def with_half_a_tally(entry):
    os.truncate(entry / "tally.json", 10)


def of_an_older_form(entry):
    (entry / "tally.json").write_text('{"notes": [], "skipped": 0}', encoding="utf-8")


def without_pairs(entry):
    (entry / "train.arrow").unlink()


@pytest.mark.fault(27)
@pytest.mark.fault(40)
@pytest.mark.parametrize(
    "damage",
    [cut_short, emptied, without_tally, with_half_a_tally, of_an_older_form, without_pairs],
)
def test_a_damaged_entry_is_made_anew(folder, damage):
    cached("key", ["train"], read, Tally("f"))
    damage(folder / "key")
    entry = cached("key", ["train"], read, Tally("f"))
    assert entry.dataset("train")["id"][:] == [pair.id for pair in PAIRS]
    cached("key", ["train"], never, Tally("f"))


@pytest.mark.fault(27)
def test_an_entry_overwritten_by_something_else_is_refused_in_a_sentence(folder):
    entry = cached("key", ["train"], read, Tally("f"))
    size = (folder / "key/train.arrow").stat().st_size
    (folder / "key/train.arrow").write_bytes(b"x" * size)
    with pytest.raises(
        DataError, match=r"cache is damaged; at .*train\.arrow; remove the folder key"
    ):
        entry.dataset("train")


def test_an_entry_that_cannot_be_replaced_is_refused_in_a_sentence(folder, monkeypatch):
    cached("key", ["train"], read, Tally("f"))
    without_tally(folder / "key")
    monkeypatch.setattr(cache.shutil, "rmtree", lambda path, **_: None)
    with pytest.raises(DataError, match=r"damaged and cannot be replaced; at .*key; remove"):
        cached("key", ["train"], read, Tally("f"))


@pytest.mark.fault(40)
def test_what_a_killed_process_left_is_removed_when_it_is_old_and_nothing_else_is(folder):
    cached("a" * 64, ["train"], read, Tally("f"))
    left = folder / f"{'b' * 16}.half"
    left.mkdir()
    (left / "train.arrow").write_bytes(b"half")
    (folder / "tmpabc").touch()
    (folder / f"{'c' * 64}-surface.json.17").touch()
    kept = {"a" * 64, "d" * 64, f"{'c' * 64}-ids.arrow", f"{'c' * 64}-surface.json"}
    for name in kept - {"a" * 64, "d" * 64}:
        (folder / name).touch()
    cached("d" * 64, ["train"], read, Tally("f"))
    assert left.is_dir()  # someone may still be writing it
    old = time.time() - 3 * 24 * 60 * 60
    for path in (*folder.iterdir(), left / "train.arrow"):
        os.utime(path, (old, old))
    (left / "train.arrow").touch()
    cached("e" * 64, ["train"], read, Tally("f"))
    assert {path.name for path in folder.iterdir()} == {*kept, left.name, "e" * 64}
    os.utime(left / "train.arrow", (old, old))
    cached("f" * 64, ["train"], read, Tally("f"))
    assert {path.name for path in folder.iterdir()} == {*kept, "e" * 64, "f" * 64}


def test_error_while_reading_leaves_nothing_behind(folder):
    def failing():
        yield "train", PAIRS[0]
        raise DataError("a bad row")

    with pytest.raises(DataError, match="a bad row"):
        cached("key", ["train"], failing, Tally("f"))
    assert list(folder.iterdir()) == []


def test_full_disk_is_one_sentence_and_leaves_nothing_behind(folder, monkeypatch):
    def full(path, mode):
        return pa.PythonFile(FullDisk(), mode="w")

    class FullDisk:
        closed = False

        def write(self, data: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def flush(self) -> None: ...

        def close(self) -> None: ...

    monkeypatch.setattr(cache.pa, "OSFile", full)
    with pytest.raises(
        DataError, match=r"cannot be written to the cache.*No space left.*PGSUM_CACHE"
    ):
        cached("key", ["train"], read, Tally("f"))
    assert list(folder.iterdir()) == []


def test_two_processes_that_write_one_entry_both_get_it(folder):
    def while_another_writes():
        cached("key", ["train"], read, Tally("f"))
        yield from read()

    entry = cached("key", ["train"], while_another_writes, Tally("f"))
    assert len(entry.dataset("train")) == 5
    assert [path.name for path in folder.iterdir()] == ["key"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PGSUM_CACHE": "P", "XDG_CACHE_HOME": "X", "HOME": "H"}, "P/corpora"),
        ({"XDG_CACHE_HOME": "X", "HOME": "H"}, "X/pgsum/corpora"),
        ({"HOME": "H"}, "H/.cache/pgsum/corpora"),
    ],
)
def test_cache_lies_where_the_environment_says(tmp_path, monkeypatch, environment, expected):
    for name in ("PGSUM_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    cache._cache_folder.cache_clear()
    assert cached("key", ["train"], read, Tally("f")).folder == tmp_path / expected / "key"


@pytest.mark.fault(44)
def test_cache_that_cannot_be_written_is_replaced_by_a_temporary_one_with_a_note(
    tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PGSUM_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    cache._cache_folder.cache_clear()
    entry = cached("key", ["train"], read, Tally("f"))
    assert len(entry.dataset("train")) == 5
    assert entry.folder.parent.parent == tmp_path
    assert "cannot be written: the corpus is read anew each time" in entry.notes[0]


@pytest.mark.fault(44)
def test_home_that_nobody_knows_is_no_error(tmp_path, monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    for name in ("PGSUM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.Path, "home", unknown)
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    cache._cache_folder.cache_clear()
    assert "~/.cache/pgsum cannot be written" in cached("key", ["train"], read, Tally("f")).notes[0]
