"""Pairs as memory-mapped Arrow files, written once for each fingerprint of what they came from.

Knows folders, Arrow and Hugging Face `datasets`. Does not know where pairs come from: a fingerprint
must name everything that they depend on, since an entry that stands is never read anew.
"""

import atexit
import functools
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pyarrow as pa

from pgsum.data.records import Pair, Tally
from pgsum.data.rows import BadRow
from pgsum.errors import DataError

if TYPE_CHECKING:
    from datasets import Dataset

SCHEMA = pa.schema(
    {"id": pa.string(), "document": pa.string(), "references": pa.list_(pa.string())}
)
_BATCH_PAIRS = 1_000
_BATCH_CHARS = 16_000_000  # an Arrow string column holds 2 GB at most
MAX_LISTED = 100_000
"""Rows left out that are listed one by one; of the rest, how many there are."""
_TALLY = "tally.json"
_LISTING = "skipped.jsonl"
# Folders of ours, and files that `datasets` and `data.prepare` put beside them.
_UNFINISHED = re.compile(r"[0-9a-f]{16}\..+|tmp.+|[0-9a-f]+-surface\.json\..+")
_ABANDONED_SECONDS = 2 * 24 * 60 * 60


@dataclass(frozen=True)
class Entry:
    """A corpus in the cache: one Arrow file for each split, and how reading it went.

    `notes` say that in sentences; `skipped` is the number of bad rows that were left out, and
    `listing` the file that names each, where anything was left out.
    """

    folder: Path
    fingerprint: str
    notes: tuple[str, ...]
    skipped: int
    listing: Path | None

    def dataset(self, split: str) -> "Dataset":
        """The pairs of `split`, memory-mapped: columns id, document, references.

        Raises DataError where the file was damaged after it was written.
        """
        from datasets import Dataset  # takes seconds, and a warm `pgsum summarize` needs none
        from datasets.table import MemoryMappedTable

        path = self.folder / f"{split}.arrow"
        try:
            table = MemoryMappedTable.from_file(str(path))
        except (pa.ArrowException, OSError):
            raise DataError(
                "The corpus in the cache is damaged.",
                where=str(path),
                hint=f"remove the folder {self.folder.name} there, and it is read anew",
            ) from None
        return Dataset(table, fingerprint=f"{self.fingerprint[:32]}-{split}")


def cached(
    fingerprint: str,
    splits: Iterable[str],
    read: Callable[[], Iterable[tuple[str, Pair]]],
    tally: Tally,
) -> Entry:
    """The entry of `fingerprint`; where there is none that is whole, what `read` gives is written.

    `read` gives each pair with its split, and fills `tally` meanwhile. An entry appears whole or
    not at all, whoever else writes the same one. Raises DataError where none can be written.
    """
    root, root_notes = _cache_folder()
    folder = root / fingerprint
    stored = _stored(folder)
    if stored is None:
        shutil.rmtree(folder, ignore_errors=True)  # damaged, if it is there
        _remove_abandoned(root)
        _write(folder, splits, read, tally)
        stored = _stored(folder)
    if stored is None:
        raise DataError(
            "The corpus in the cache is damaged and cannot be replaced.",
            where=str(folder),
            hint="remove that folder, or set PGSUM_CACHE to another",
        )
    listing = folder / _LISTING if _LISTING in stored["bytes"] else None
    notes = (*root_notes, *stored["notes"])
    if listing and not stored["tells_all"] and not root_notes:  # else it goes when we do
        notes += (f"All that was left out is listed in {listing}.",)
    return Entry(folder, fingerprint, notes, stored["skipped"], listing)


def _stored(folder: Path) -> dict[str, Any] | None:
    """How reading an entry went; None where there is no entry, or one that is not whole."""
    try:
        stored: dict[str, Any] = json.loads((folder / _TALLY).read_text(encoding="utf-8"))
        sizes = {name: (folder / name).stat().st_size for name in stored["bytes"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return stored if sizes == stored["bytes"] else None


def _write(
    folder: Path,
    splits: Iterable[str],
    read: Callable[[], Iterable[tuple[str, Pair]]],
    tally: Tally,
) -> None:
    try:
        unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name[:16]}.", dir=folder.parent))
        try:
            with ExitStack() as stack:
                writers = {
                    split: stack.enter_context(_PairWriter(unfinished / f"{split}.arrow"))
                    for split in splits
                }
                tally.listing = stack.enter_context(_Listing(unfinished / _LISTING))
                for split, pair in read():
                    writers[split].write(pair)
            stored = {
                "notes": list(tally.notes()),
                "tells_all": tally.tells_all,
                "skipped": tally.bad,
                "bytes": {path.name: path.stat().st_size for path in unfinished.iterdir()},
            }
            (unfinished / _TALLY).write_text(json.dumps(stored), encoding="utf-8")
            if not folder.is_dir():
                unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        if folder.is_dir():  # another process was faster; its entry is the same
            return
        raise unwritable(folder, error) from error


def unwritable(path: Path, error: OSError) -> DataError:
    """What is said where something of a corpus cannot be put at `path` in the cache."""
    return DataError(
        f"The corpus cannot be written to the cache: {error.strerror or error}.",
        where=str(path.parent),
        hint="make room there, or set PGSUM_CACHE to a folder that has some",
    )


def remove_damaged(path: Path) -> None:
    """Remove the Arrow file at `path`, and parts of it by several processes, if they are cut short.

    What is gone is made anew, as if it had never been there.
    """
    for part in path.parent.glob(f"{path.stem}*{path.suffix}"):
        try:
            with pa.memory_map(str(part)) as source:
                pa.ipc.open_stream(source).read_all()  # maps the columns, and reads none
        except (pa.ArrowException, OSError):
            part.unlink(missing_ok=True)


def _remove_abandoned(root: Path) -> None:
    """Remove what processes that were killed left half written, once nobody can be writing it."""
    for path in root.iterdir():
        if _UNFINISHED.fullmatch(path.name):
            with suppress(OSError):  # it is gone already, or not ours
                parts = [path, *(path.iterdir() if path.is_dir() else ())]
                newest = max(part.stat().st_mtime for part in parts)
                if time.time() - newest < _ABANDONED_SECONDS:
                    continue
                shutil.rmtree(path) if path.is_dir() else path.unlink()


class _Listing:
    """A line of JSON for each row that is left out; no file where there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._rows = 0

    def __enter__(self) -> "_Listing":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file:
            if self._rows > MAX_LISTED:
                self._file.write(json.dumps({"not_listed": self._rows - MAX_LISTED}) + "\n")
            self._file.close()

    def __call__(self, row: BadRow) -> None:
        self._rows += 1
        if self._rows > MAX_LISTED:
            return
        if self._file is None:
            self._file = self._path.open("w", encoding="utf-8")
        line = {"where": row.where, "row": row.number, "reason": row.reason}
        self._file.write(json.dumps(line) + "\n")


class _PairWriter:
    """Pairs to an Arrow stream, in batches of bounded size."""

    def __init__(self, path: Path) -> None:
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_stream(self._sink, SCHEMA)
        self._batch: list[dict[str, object]] = []
        self._chars = 0

    def __enter__(self) -> "_PairWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        with self._sink, self._writer:
            if exception[0] is None:
                self._flush()

    def write(self, pair: Pair) -> None:
        self._batch.append(
            {"id": pair.id, "document": pair.document, "references": list(pair.references)}
        )
        self._chars += len(pair.document) + sum(map(len, pair.references))
        if len(self._batch) >= _BATCH_PAIRS or self._chars >= _BATCH_CHARS:
            self._flush()

    def _flush(self) -> None:
        if self._batch:
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._batch, schema=SCHEMA))
        self._batch, self._chars = [], 0


def folder() -> Path:
    """Where entries lie, and whatever else is kept under a fingerprint."""
    return _cache_folder()[0]


@functools.cache
def _cache_folder() -> tuple[Path, tuple[str, ...]]:
    """PGSUM_CACHE, XDG_CACHE_HOME/pgsum, ~/.cache/pgsum, or else a folder that ends with us."""
    wanted = None
    try:
        if named := os.environ.get("PGSUM_CACHE"):
            wanted = Path(named)
        elif named := os.environ.get("XDG_CACHE_HOME"):
            wanted = Path(named, "pgsum")
        else:
            wanted = Path.home() / ".cache" / "pgsum"
        corpora = wanted.absolute() / "corpora"
        corpora.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=corpora):
            return corpora, ()
    except (OSError, RuntimeError):  # RuntimeError: nobody knows where home is
        temporary = Path(tempfile.mkdtemp(prefix="pgsum-"))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return temporary, (
            f"The cache folder {wanted or '~/.cache/pgsum'} cannot be written: the corpus is read "
            "anew each time (PGSUM_CACHE names another folder).",
        )
