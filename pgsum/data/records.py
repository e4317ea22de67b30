"""Pairs of document and references, and the checked reading of files that hold them.

Turns rows into pairs of sound text, each with its place. A row that cannot be used stays in its
place as a `BadRow`; `only_pairs` stops at the first one, or counts them in a `Tally`.
"""

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pgsum.data.columns import NO_COLUMNS, Columns, NamedColumns, Wanted, recognise
from pgsum.data.files import DATA_OPTIONS, OptionNames
from pgsum.data.row_files import read_parts
from pgsum.data.rows import BadRow, Row, kind_of
from pgsum.errors import DataError

_SURROGATES = re.compile("[\ud800-\udfff]")
_LISTED_BAD_ROWS = 3


@dataclass(frozen=True)
class Pair:
    """One document with its reference summaries, as raw text.

    `references` is empty where there is nothing to learn from or to score against.
    """

    id: str
    document: str
    references: tuple[str, ...]


class Record(NamedTuple):
    """A pair and the place that it was read at."""

    number: int
    where: str
    pair: Pair


@dataclass(frozen=True)
class Reading:
    """How files are read, and what the settings of that are called."""

    wanted: Wanted
    columns: NamedColumns = NO_COLUMNS
    encoding: str | None = None
    max_chars: int = 1_000_000
    options: OptionNames = DATA_OPTIONS


@dataclass
class Tally:
    """What was left out or changed in one source of pairs."""

    name: str
    columns: Columns | None = None
    """As they were recognised, where there are columns."""
    origin: str | None = None
    """Where it was fetched from, where it was."""
    bad: int = 0
    first_bad: list[BadRow] = field(default_factory=list)
    cut: int = 0
    cut_at: int = 0
    surrogates: int = 0
    empty: int = 0
    several_references: int = 0
    repeated_ids: int = 0
    listing: Callable[[BadRow], object] | None = None
    """Called with each row and pair that is left out."""

    def skip(self, row: BadRow) -> None:
        """Count a bad row."""
        self.bad += 1
        if len(self.first_bad) < _LISTED_BAD_ROWS:
            self.first_bad.append(row)
        if self.listing:
            self.listing(row)

    def leave_out(self, pair: BadRow) -> None:
        """Count a pair that is as it should be, with nothing in it to learn from."""
        self.empty += 1
        if self.listing:
            self.listing(pair)

    @property
    def tells_all(self) -> bool:
        """Whether the notes name everything that was left out."""
        return self.bad == len(self.first_bad) and not self.empty

    def notes(self) -> Iterator[str]:
        """One sentence for each kind of thing."""
        if self.origin:
            yield f"{self.name}: {self.origin}."
        if self.bad:
            shown = "; ".join(f"{row.reason.rstrip('.')} ({row.where})" for row in self.first_bad)
            more = "; and so on" if self.bad > len(self.first_bad) else ""
            yield f"{self.name}: {_count(self.bad, 'bad row')} skipped: {shown}{more}."
        if self.empty:
            yield (
                f"{self.name}: {_count(self.empty, 'pair')} left out, with an empty document or "
                "summary."
            )
        if self.cut:
            yield (
                f"{self.name}: {_count(self.cut, 'document')} cut after {self.cut_at:,} characters "
                "(data.max_chars)."
            )
        if self.surrogates:
            yield (
                f"{self.name}: {_count(self.surrogates, 'lone surrogate')} replaced, each half a "
                "character."
            )
        if self.several_references:
            yield (
                f"{self.name}: {_count(self.several_references, 'pair')} with several references "
                "learned by the first."
            )
        if self.repeated_ids:
            yield f"{self.name}: {_count(self.repeated_ids, 'id')} seen before."


class Repeats:
    """How many of many texts stood there before: 8 bytes a text, told apart by 64-bit hashes.

    Of ten million texts, two are taken for one with a chance of less than one in 100,000.
    """

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, text: str) -> None:
        self._hashes.append(hash(text))

    def count(self) -> int:
        import numpy as np  # help is printed without it

        return len(self._hashes) - len(np.unique(np.frombuffer(self._hashes, np.int64)))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def read_files(paths: Sequence[Path], reading: Reading, tally: Tally) -> Iterator[Record | BadRow]:
    """The pairs of a file of rows, or of several that are one table together."""
    rows = read_parts(paths, encoding=reading.encoding, options=reading.options)
    yield from to_records(rows, reading, tally)


def to_records(
    rows: Iterable[Row | BadRow], reading: Reading, tally: Tally
) -> Iterator[Record | BadRow]:
    """Pairs of the columns that the first good row is seen to have."""
    columns: Columns | None = None
    for row in rows:
        if isinstance(row, BadRow):
            yield row
            continue
        if columns is None:
            columns = tally.columns = recognise(
                row.values,
                reading.columns,
                wanted=reading.wanted,
                where=row.where,
                options=reading.options,
            )
        yield _to_record(row, columns, reading, tally)


def sound_text(text: str, tally: Tally, *, max_chars: int | None = None) -> str:
    """Text that can be written as UTF-8, and cut where it is too long; both are counted."""
    if max_chars is not None and len(text) > max_chars:
        text = text[:max_chars]
        tally.cut += 1
        tally.cut_at = max_chars
    if text.isascii():
        return text
    text, surrogates = _SURROGATES.subn("\ufffd", text)
    tally.surrogates += surrogates
    return text


def is_blank(text: str) -> bool:
    """Nothing to be seen: only spaces, control characters and those of no width."""
    return all(unicodedata.category(c) in _INVISIBLE for c in text)


_INVISIBLE = {"Zs", "Zl", "Zp", "Cc", "Cf"}


def for_training(
    records: Iterable[Record | BadRow],
    *,
    reference: Literal["error", "first"],
    tally: Tally,
    options: OptionNames = DATA_OPTIONS,
) -> Iterator[Record | BadRow]:
    """Each pair with one reference; without those there is nothing to learn from.

    Raises DataError at a document with several references, unless `reference` is `first`.
    """
    for record in records:
        if isinstance(record, BadRow):
            yield record
            continue
        pair = record.pair
        if len(pair.references) > 1:
            if reference == "error":
                raise DataError(
                    f"The document has {len(pair.references)} references, and training takes one.",
                    where=record.where,
                    hint=f"add {options.others}reference=first to train on the first",
                )
            tally.several_references += 1
            pair = Pair(pair.id, pair.document, pair.references[:1])
        if is_blank(pair.document):
            tally.leave_out(_empty(record, "Document"))
        elif is_blank(pair.references[0]):
            tally.leave_out(_empty(record, "Summary"))
        else:
            yield record._replace(pair=pair)


def for_evaluation(
    records: Iterable[Record | BadRow], *, tally: Tally
) -> Iterator[Record | BadRow]:
    """Pairs that can be scored; one without a document or a reference is a bad row."""
    ids = Repeats()
    for record in for_summarizing(records):
        if isinstance(record, BadRow):
            yield record
        elif any(map(is_blank, record.pair.references)):
            yield _empty(record, "Summary")
        else:
            ids.add(record.pair.id)
            yield record
    tally.repeated_ids = ids.count()


def for_summarizing(records: Iterable[Record | BadRow]) -> Iterator[Record | BadRow]:
    """Documents with something in them; an empty one is a bad row."""
    for record in records:
        if isinstance(record, Record) and is_blank(record.pair.document):
            yield _empty(record, "Document")
        else:
            yield record


def _empty(record: Record, what: str) -> BadRow:
    reason = f"{what} {record.number} is empty."
    return BadRow(record.number, record.where, reason, is_empty=True)


def only_pairs(
    records: Iterable[Record | BadRow],
    *,
    on_bad: Literal["error", "skip"],
    tally: Tally,
    options: OptionNames,
) -> Iterator[Pair]:
    """The pairs; bad rows are counted with `skip`, and the first raises DataError with `error`."""
    for record in records:
        if isinstance(record, Record):
            yield record.pair
        elif on_bad == "skip":
            tally.skip(record)
        else:
            raise bad_row_error(record, options)


def bad_row_error(row: BadRow, options: OptionNames) -> DataError:
    """The error of a row that is not to be skipped."""
    skip = f"add {options.on_bad}skip to leave such rows out"
    return DataError(
        row.reason, where=row.where, hint=f"{row.hint}; or {skip}" if row.hint else skip
    )


class _RefusedError(Exception):
    """A value that is no text: why, and what to do."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason, hint)
        self.reason = reason
        self.hint = hint


def _to_record(row: Row, columns: Columns, reading: Reading, tally: Tally) -> Record | BadRow:
    try:
        document = _text(row, columns.document)
        references = () if columns.summary is None else _texts(row, columns.summary)
        identity = _identity(row, columns.id)
    except _RefusedError as refused:
        return BadRow(row.number, row.where, refused.reason, refused.hint)
    pair = Pair(
        sound_text(identity, tally),
        sound_text(document, tally, max_chars=reading.max_chars),
        tuple(sound_text(reference, tally) for reference in references),
    )
    return Record(row.number, row.where, pair)


def _text(row: Row, column: str) -> str:
    if column not in row.values:
        raise _RefusedError(f"The row has no {column}.")
    value = row.values[column]
    if not isinstance(value, str):
        hint = None if value is None else "write it as a text, in quotes"
        raise _RefusedError(f"The {column} is {kind_of(value)}; a text is needed.", hint)
    return value


def _texts(row: Row, column: str) -> tuple[str, ...]:
    value: Any = row.values.get(column)
    if not isinstance(value, list):
        return (_text(row, column),)
    if not value:
        raise _RefusedError(f"The {column} is an empty list; a text is needed.")
    for item in value:
        if not isinstance(item, str):
            raise _RefusedError(f"The {column} holds {kind_of(item)}; a list of texts is needed.")
    return tuple(value)


def _identity(row: Row, column: str | None) -> str:
    value = None if column is None else row.values.get(column)
    if value is None or value == "":
        return str(row.number)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _RefusedError(
            f"The {column} is {kind_of(value)}; a text or a whole number is needed."
        )
    return str(value)
