"""Pairs as memory-mapped Arrow files, written once for each fingerprint of what they came from.

Knows folders, Arrow and Hugging Face `datasets`. Does not know where pairs come from: a fingerprint
must name everything that they depend on, since an entry that stands is never read anew.
"""

import atexit
import functools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from pgsum.data.records import Pair, Tally
from pgsum.errors import DataError

if TYPE_CHECKING:
    from datasets import Dataset

SCHEMA = pa.schema(
    {"id": pa.string(), "document": pa.string(), "references": pa.list_(pa.string())}
)
_BATCH_PAIRS = 1_000
_BATCH_CHARS = 16_000_000  # an Arrow string column holds 2 GB at most


@dataclass(frozen=True)
class Entry:
    """A corpus in the cache: one Arrow file for each split, and how reading it went.

    `notes` say that in sentences; `skipped` is the number of bad rows that were left out.
    """

    folder: Path
    fingerprint: str
    notes: tuple[str, ...]
    skipped: int

    def dataset(self, split: str) -> "Dataset":
        """The pairs of `split`, memory-mapped: columns id, document, references."""
        from datasets import Dataset  # takes seconds, and a warm `pgsum summarize` needs none
        from datasets.table import MemoryMappedTable

        table = MemoryMappedTable.from_file(str(self.folder / f"{split}.arrow"))
        return Dataset(table, fingerprint=f"{self.fingerprint[:32]}-{split}")


def cached(
    fingerprint: str,
    splits: Iterable[str],
    read: Callable[[], Iterable[tuple[str, Pair]]],
    tally: Tally,
) -> Entry:
    """The entry of `fingerprint`; where there is none, what `read` gives is written first.

    `read` gives each pair with its split, and fills `tally` meanwhile. An entry appears whole or
    not at all, whoever else writes the same one.
    """
    root, root_notes = _cache_folder()
    folder = root / fingerprint
    if not folder.is_dir():
        _write(folder, splits, read, tally)
    stored = json.loads((folder / "tally.json").read_text(encoding="utf-8"))
    return Entry(folder, fingerprint, (*root_notes, *stored["notes"]), stored["skipped"])


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
                for split, pair in read():
                    writers[split].write(pair)
            stored = {"notes": list(tally.notes()), "skipped": tally.bad}
            (unfinished / "tally.json").write_text(json.dumps(stored), encoding="utf-8")
            if not folder.is_dir():
                unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        if folder.is_dir():  # another process was faster; its entry is the same
            return
        raise DataError(
            f"The corpus cannot be written to the cache: {error.strerror or error}.",
            where=str(folder.parent),
            hint="make room there, or set PGSUM_CACHE to a folder that has some",
        ) from error


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
