"""AESLC, the Annotated Enron Subject Line Corpus: mails and subjects (Zhang and Tetreault 2019).

    python data_scripts/aeslc.py OUT [--from DIR]

Licence: CC BY-NC-SA 4.0. The mails are real: they hold names, numbers and addresses of people, and
some are spam for adults. Read an example before you show it.
Source: Yale-LILY/aeslc on the hub; or DIR with its Parquet files; or DIR with
enron_subject_line/{train,dev,test}/*.subject of github.com/ryanzhumich/AESLC, whose ids are
verified.
Pairs: 14,436 train, 1,960 validation (dev), 1,906 test.

From the .subject files, an id is the file's name, a sentence is a line of the document, and the
references of validation and test are the subject that was written and three that annotators wrote,
who copy more: say which were scored against. The hub has neither ids nor annotators.
171 mails of train begin as one of validation or test does, and 222 of validation as one of test.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from conversion import (
    AGAIN,
    Split,
    Table,
    folder_tables,
    hub_tables,
    lines,
    one_line,
    read_whole,
    run,
    text,
)

from pgsum.data.files import list_folder
from pgsum.data.rows import Row
from pgsum.errors import DataError

HUB = "Yale-LILY/aeslc:default"
COUNTS = {"train": 14_436, "validation": 1_960, "test": 1_906}
FOLDERS = {"train": "train", "validation": "dev", "test": "test"}
IDS = {
    "train": "f322318febc04300f0e52de2564265cd38b72527ba2384196cddea2c7c0bc2cf",
    "validation": "cd24e378eea2345b13f536111468e4fd03e5994bb7a8e0adbce70fcf136095d2",
    "test": "27184aeab381a2eaf5ffba5639fd99d0cdc26b145e2d169a5e69f2d0ca415941",
}
HEADING = re.compile(r"^@(subject|ann\d)[ \t]*$", re.MULTILINE)


def read(folder: Path | None) -> dict[str, Split]:
    """The splits, from the hub, from Parquet files or from .subject files."""
    if folder is None:
        return from_tables(hub_tables(HUB))
    if tables := folder_tables(HUB, folder):
        return from_tables(tables)
    root = folder / "enron_subject_line"
    return {
        name: Split(from_files(name, root / part), str(root / part), COUNTS[name], IDS[name])
        for name, part in FOLDERS.items()
    }


def from_tables(tables: Mapping[str, Table]) -> dict[str, Split]:
    """The splits as the hub has them."""
    return {
        name: Split(from_rows(name, table), table.where, COUNTS[name])
        for name, table in tables.items()
    }


def from_rows(split: str, rows: Iterable[Row]) -> Iterator[dict[str, str]]:
    """The pairs of a split of theirs, numbered."""
    for row in rows:
        yield {
            "id": f"{split}-{row.number}",
            "document": clean(text(row, "email_body")),
            "summary": one_line(clean(text(row, "subject_line"))),
        }


def from_files(split: str, folder: Path) -> Iterator[dict[str, object]]:
    """The pairs of the files of a folder, by name."""
    for path in list_folder(folder):
        if path.suffix != ".subject":
            continue
        body, *parts = HEADING.split(read_whole(path))
        subjects = [one_line(clean(part)) for part in parts[1::2]]
        if parts[:1] != ["subject"]:
            raise DataError("The mail has no @subject below it.", where=str(path), hint=AGAIN)
        pair: dict[str, object] = {"id": path.stem, "document": clean(body), "summary": subjects[0]}
        yield pair if split == "train" else {**pair, "references": subjects}


def clean(part: str) -> str:
    """Composed characters, no control characters, and no blanks but single ones."""
    composed = unicodedata.normalize("NFC", part)
    return lines("".join(c for c in composed if c.isspace() or unicodedata.category(c) != "Cc"))


if __name__ == "__main__":
    run(read, __doc__)
