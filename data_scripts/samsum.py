"""SAMSum: messenger chats, each with a summary (Gliwa et al. 2019).

    python data_scripts/samsum.py OUT [--from DIR]

Licence: CC BY-NC-ND 4.0, Samsung R&D Institute Poland. Use it locally, do not pass it on.
Source: knkarthick/samsum on the hub, a copy: the authors' own data set is no longer there; or DIR
with its Parquet files; or DIR with train.json, val.json and test.json, unpacked from the corpus.7z
that goes with arXiv 1911.12237 (SHA-256
a97674c66726f66b98a08ca5e8868fb8af9d4843f2b05c4f839bc5cfe91e8899).
Pairs: 14,731 train, 818 validation, 819 test. The archive has one more in train, without a
dialogue.

A turn of a chat is a line of the document. 103 dialogues of train recur in validation or test, with
another summary, and 487 occur twice.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from conversion import (
    AGAIN,
    Split,
    Table,
    folder_tables,
    hub_tables,
    identity,
    lines,
    one_line,
    read_whole,
    run,
    text,
)

from pgsum.data.rows import Row
from pgsum.errors import DataError

HUB = "knkarthick/samsum:default"
COUNTS = {"train": 14_731, "validation": 818, "test": 819}
FILES = {"train": "train.json", "validation": "val.json", "test": "test.json"}


def read(folder: Path | None) -> dict[str, Split]:
    """The splits, from the hub, from Parquet files or from the archive's JSON."""
    if folder is None:
        return from_tables(hub_tables(HUB))
    if tables := folder_tables(HUB, folder):
        return from_tables(tables)
    return {
        name: Split(pairs(from_json(folder / file)), str(folder / file), COUNTS[name])
        for name, file in FILES.items()
    }


def from_tables(tables: Mapping[str, Table]) -> dict[str, Split]:
    """The splits as the hub has them."""
    return {name: Split(pairs(table), table.where, COUNTS[name]) for name, table in tables.items()}


def from_json(path: Path) -> Iterator[Row]:
    """The objects of a file that holds one JSON array."""
    try:
        found = json.loads(read_whole(path))
    except ValueError as error:
        raise DataError(f"The file is not JSON: {error}.", where=str(path), hint=AGAIN) from None
    if not isinstance(found, list) or not all(isinstance(values, dict) for values in found):
        raise DataError("The file is no array of objects.", where=str(path), hint=AGAIN)
    for number, values in enumerate(found, 1):
        yield Row(number, f"{path}, pair {number}", values)


def pairs(rows: Iterable[Row]) -> Iterator[dict[str, str]]:
    """The pairs but the one without a dialogue, which not every copy has."""
    for row in rows:
        if document := lines(text(row, "dialogue")):
            yield {
                "id": identity(row),
                "document": document,
                "summary": one_line(text(row, "summary")),
            }


if __name__ == "__main__":
    run(read, __doc__)
