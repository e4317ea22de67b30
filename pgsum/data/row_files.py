"""Files of rows, whatever their format: JSON Lines, tables and Parquet, told by the name.

Knows which reader goes with which suffix. Knows no column by name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from pgsum.data.files import OptionNames, open_file, read_text
from pgsum.data.rows import BadRow, Row, read_json_lines, read_table

_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
ROW_SUFFIXES = (*_JSON_SUFFIXES, *_DELIMITERS, PARQUET)


def format_of(path: Path) -> str:
    """The suffix that says how a file is written, .gz left aside: ".jsonl" for pairs.jsonl.gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def read_parts(
    paths: Sequence[Path], *, encoding: str | None, options: OptionNames
) -> Iterator[Row | BadRow]:
    """The rows of files that are one table together, numbered through."""
    parts = (read_rows(path, encoding=encoding, options=options) for path in paths)
    for number, row in enumerate(chain.from_iterable(parts), 1):
        yield replace(row, number=number)


def read_rows(path: Path, *, encoding: str | None, options: OptionNames) -> Iterator[Row | BadRow]:
    """The rows of a file whose suffix is one of `ROW_SUFFIXES`; any other is read as JSON Lines.

    Raises DataError where it cannot be read; `encoding` is that of text, which Parquet is not.
    """
    suffix = format_of(path)
    if suffix == PARQUET:
        from pgsum.data.parquet import read_parquet  # importing Arrow takes a while

        yield from read_parquet(path)
        return
    with open_file(path) as stream:
        text = read_text(stream, name=str(path), encoding=encoding, options=options)
        if suffix in _DELIMITERS:
            yield from read_table(text, name=str(path), delimiter=_DELIMITERS[suffix])
        else:
            yield from read_json_lines(text, name=str(path))
