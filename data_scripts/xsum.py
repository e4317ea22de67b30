"""XSum: BBC articles and the sentence that each begins with (Narayan et al. 2018).

    python data_scripts/xsum.py OUT [--from DIR]

Licence: none is stated for the articles, which are copyright of the BBC and were collected for
research. Use it locally, do not pass it on.
Source: EdinburghNLP/xsum on the hub; or DIR with its Parquet files; or DIR with the unpacked
XSUM-EMNLP18-Summary-Data-Original.tar.gz, bbc-summary-data/*.summary, and beside it
XSum-TRAINING-DEV-TEST-SPLIT-90-5-5.json (github.com/EdinburghNLP/XSum), whose checksum is verified.
Pairs: 204,045 train, 11,332 validation, 11,334 test, as published. A few dozen of them have no
document; they are left out, and it is said how many.

An id is the BBC's. A paragraph of an article is a line of the document; lines that only say where
to share a page are cut.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from conversion import (
    AGAIN,
    Split,
    Table,
    check_digest,
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

HUB = "EdinburghNLP/xsum:default"
COUNTS = {"train": 204_045, "validation": 11_332, "test": 11_334}
SPLIT_FILE = "XSum-TRAINING-DEV-TEST-SPLIT-90-5-5.json"
DIGEST = "9c0c5d8f048a90bd68b19a34e4c30577ed270d3247b2119fa06a04ef46292068"
SECTIONS = re.compile(
    r"\[SN\]FIRST-SENTENCE\[SN\](?P<sentence>.*)\[SN\]RESTBODY\[SN\](?P<body>.*)", re.DOTALL
)
SHARING = {
    "Share this with",
    "Email",
    "Facebook",
    "Messenger",
    "Twitter",
    "Pinterest",
    "WhatsApp",
    "Linkedin",
    "LinkedIn",
    "Copy this link",
    "These are external links and will open in a new window",
}


def read(folder: Path | None) -> dict[str, Split]:
    """The splits, from the hub, from Parquet files or from summary files."""
    if folder is None:
        return from_tables(hub_tables(HUB))
    if tables := folder_tables(HUB, folder):
        return from_tables(tables)
    split_file = folder / SPLIT_FILE
    check_digest(split_file, DIGEST)
    ids = json.loads(read_whole(split_file))
    articles = folder / "bbc-summary-data"
    return {
        name: Split(from_files(articles, ids[name]), str(articles), count)
        for name, count in COUNTS.items()
    }


def from_tables(tables: Mapping[str, Table]) -> dict[str, Split]:
    """The splits as the hub has them."""
    return {
        name: Split(map(from_row, table), table.where, COUNTS[name])
        for name, table in tables.items()
    }


def from_row(row: Row) -> dict[str, str]:
    """A pair of theirs."""
    return {
        "id": identity(row),
        "document": lines(text(row, "document")),
        "summary": one_line(text(row, "summary")),
    }


def from_files(folder: Path, ids: Iterable[str]) -> Iterator[dict[str, str]]:
    """The pairs of the .summary files of these ids."""
    for name in ids:
        path = folder / f"{name}.summary"
        match = SECTIONS.search(read_whole(path))
        if match is None:
            raise DataError(
                "The file has no [SN]FIRST-SENTENCE[SN] with [SN]RESTBODY[SN] below it.",
                where=str(path),
                hint=AGAIN,
            )
        paragraphs = lines(match["body"]).splitlines()
        yield {
            "id": name,
            "document": "\n".join(line for line in paragraphs if line not in SHARING),
            "summary": one_line(match["sentence"]),
        }


if __name__ == "__main__":
    run(read, __doc__)
