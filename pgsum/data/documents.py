"""The documents of any readable file, to be summarized: one a row, or the file as a whole.

Reads as it is asked to, from standard input too, and holds one document at a time.
"""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from typing import Literal, cast

from pgsum.data.columns import NamedColumns
from pgsum.data.files import OptionNames, open_file, read_text
from pgsum.data.markdown import is_markdown, prose
from pgsum.data.records import (
    Pair,
    Reading,
    Record,
    Tally,
    bad_row_error,
    for_summarizing,
    read_files,
    to_records,
)
from pgsum.data.row_files import ROW_SUFFIXES, format_of
from pgsum.data.rows import BadRow, read_json_lines
from pgsum.data.text_files import whole_text
from pgsum.errors import ConfigError

SUMMARIZE_OPTIONS = OptionNames(
    document_column="--column ",
    summary_column="--reference-column ",
    encoding="--encoding ",
    on_bad="--on-bad ",
)
_STANDARD_INPUT = "standard input"
_JSON_LINES = re.compile(r'\s*\{\s*"')


def read_documents(
    path: Path | str,
    *,
    column: str | None = None,
    reference_column: str | None = None,
    encoding: str | None = None,
    on_bad: Literal["error", "skip"] = "error",
    max_chars: int = 1_000_000,
    note: Callable[[str], object] | None = None,
) -> Iterator[Pair | BadRow]:
    """The documents of a file, or of standard input where `path` is "-".

    They have references where a `reference_column` is named and there are rows.

    A .jsonl, .csv, .tsv or .parquet file holds a document in each row. Any other file is one
    document, of which only the prose is read where the name ends in .md; and so is standard input
    unless it begins as JSON Lines do. With `skip`, a row that
    cannot be used is given as a `BadRow` in its place; with `error` it raises DataError. `note` is
    called with what was changed, a sentence each, when all is read.
    """
    reading = Reading(
        "documents" if reference_column is None else "references",
        NamedColumns(column, reference_column),
        encoding,
        max_chars,
        SUMMARIZE_OPTIONS,
    )
    tally = Tally(_STANDARD_INPUT if str(path) == "-" else str(path))
    records = (
        _of_standard_input(reading, tally)
        if str(path) == "-"
        else _of_file(Path(path), reading, tally)
    )
    for record in for_summarizing(records):
        if isinstance(record, Record):
            yield record.pair
        elif on_bad == "skip":
            yield record
        else:
            raise bad_row_error(record, reading.options)
    if note:
        for sentence in tally.notes():
            note(sentence)


def _of_file(path: Path, reading: Reading, tally: Tally) -> Iterator[Record | BadRow]:
    if format_of(path) in ROW_SUFFIXES:
        yield from read_files([path], reading, tally)
        return
    with open_file(path) as stream:
        record = _whole(_text(stream, str(path), reading), str(path), reading, tally)
    if is_markdown(path):
        pair = replace(record.pair, document=prose(record.pair.document))
        record = record._replace(pair=pair)
    yield record


def _of_standard_input(reading: Reading, tally: Tally) -> Iterator[Record | BadRow]:
    if sys.stdin is None or sys.stdin.isatty():
        raise ConfigError(
            "Nothing comes from standard input.",
            where="-",
            hint="name a file, or send text: cat FILE | pgsum summarize -",
        )
    text = _text(cast(BufferedIOBase, sys.stdin.buffer), _STANDARD_INPUT, reading)
    beginning = next(text, "")
    text = chain([beginning], text)
    if _JSON_LINES.match(beginning):
        yield from to_records(read_json_lines(text, name=_STANDARD_INPUT), reading, tally)
    else:
        yield _whole(text, _STANDARD_INPUT, reading, tally)


def _text(stream: BufferedIOBase, name: str, reading: Reading) -> Iterator[str]:
    return read_text(stream, name=name, encoding=reading.encoding, options=reading.options)


def _whole(text: Iterator[str], name: str, reading: Reading, tally: Tally) -> Record:
    return Record(1, name, Pair(name, whole_text(text, reading, tally), ()))
