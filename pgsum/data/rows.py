"""Text to rows of named values: JSON Lines, and tables parted by commas or tabs.

Strict where a lenient reader would shift columns or turn text into nothing. A row that is bad comes
out as a `BadRow`, so that whoever asked may stop or go on. Knows no column by name.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgsum.data.files import MAX_LINE_CHARS, split_lines, visible
from pgsum.errors import DataError

_TABLE_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")


@dataclass(frozen=True)
class Row:
    """Named values. `number` counts the rows of a file from 1, header and empty lines left out."""

    number: int
    where: str
    """The file and the line that the row begins on, counted from 1."""
    values: Mapping[str, Any]


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be used: where it is, and why, in one sentence.

    `is_empty` says that nothing is wrong with it but that its text holds nothing to be seen.
    """

    number: int
    where: str
    reason: str
    hint: str | None = None
    is_empty: bool = False


def read_json_lines(text: Iterator[str], *, name: str) -> Iterator[Row | BadRow]:
    """One JSON object a line; empty lines are passed over."""
    number = 0
    for line_number, line in enumerate(split_lines(text, name=name), 1):
        if line.strip():
            number += 1
            yield _json_row(line, number, f"{name}:{line_number}")


def _json_row(line: str, number: int, where: str) -> Row | BadRow:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return BadRow(
            number,
            f"{where}:{error.colno}",
            f"The line is not JSON: {error.msg[:1].lower()}{error.msg[1:]}.",
            _array_hint(line, number),
        )
    except (ValueError, RecursionError):  # a number of thousands of digits; thousands of brackets
        return BadRow(number, where, "The line is too deep, or holds too long a number, to read.")
    if not isinstance(value, dict):
        reason = f"The line is {kind_of(value)}; a JSON object is needed."
        return BadRow(number, where, reason, _array_hint(line, number))
    return Row(number, where, value)


def _array_hint(line: str, number: int) -> str | None:
    if number == 1 and line.lstrip().startswith("["):
        return "the file holds one JSON array: write each of its objects on a line of its own"
    return None


def read_table(text: Iterator[str], *, name: str, delimiter: str) -> Iterator[Row | BadRow]:
    """Rows below a header; quoted as RFC 4180 says, and each as many fields as the header.

    Nothing but text is made of a field: `NA` and `1` stay what they are.
    """
    csv.field_size_limit(MAX_LINE_CHARS)  # its own default refuses what is longer than 131,072
    reader = csv.reader(_table_lines(text, name), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    number = 0
    while True:
        where = f"{name}:{reader.line_num + 1}"
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "unexpected end of data" in str(error):  # all the rows below went into one field
                raise DataError(
                    "A quote opens here and never closes.",
                    where=where,
                    hint='close it, or write a quote inside a field as ""',
                ) from None
            number += 1
            yield BadRow(
                number,
                where,
                f"The quotes are not as they should be: {visible(str(error))}.",
                'write a quote inside a field as "", and quote the whole field',
            )
            continue
        if not fields:
            continue
        if header is None:
            header = fields
            _check_header(header, where=where)
            continue
        number += 1
        if len(fields) == len(header):
            yield Row(number, where, dict(zip(header, fields, strict=True)))
        else:
            yield BadRow(
                number,
                where,
                f"The row has {len(fields)} fields and the header {len(header)}.",
                "quote a field that holds the character between fields",
            )


def _check_header(header: list[str], *, where: str) -> None:
    if len(header) == 1 and (other := re.search("[;\t|]", header[0])):
        raise DataError(
            f"The columns seem to be parted by {visible(other[0])!r}.",
            where=where,
            hint="part them by commas in a .csv file and by tabs in a .tsv file",
        )
    check_names(header, where=where)


def check_names(columns: Sequence[str], *, where: str) -> None:
    """Raises DataError where two columns are called the same."""
    repeated = sorted({column for column in columns if columns.count(column) > 1})
    if repeated:
        raise DataError(
            f"Two columns are called {visible(repeated[0])!r}.", where=where, hint="rename one"
        )


def _table_lines(text: Iterator[str], name: str) -> Iterator[str]:
    r"""Lines with their ends: "\n", "\r\n" or, as old spreadsheets write, "\r"."""
    for line in split_lines(text, name=name):
        yield from _TABLE_LINE.findall(line + "\n")


def kind_of(value: object) -> str:
    """What a value is, in a word or two: one of JSON, or something else that only Parquet has."""
    if value is None:
        return "null"
    kinds = {bool: "a truth value", int: "a number", float: "a number", str: "a text"}
    return kinds.get(type(value), "a list" if isinstance(value, list) else "an object")
