"""Which columns hold the document, its references and its id.

Knows the names that published corpora use. Knows no files and no values.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from pgsum.data.files import OptionNames, visible
from pgsum.errors import DataError

_PAIRS = (
    ("document", "summary"),
    ("article", "highlights"),
    ("dialogue", "summary"),
    ("text", "summary"),
    ("text", "title"),
    ("email_body", "subject_line"),
    ("content", "title"),
    ("source", "target"),
)
_DOCUMENTS = tuple(dict.fromkeys(document for document, _ in _PAIRS))
_SUMMARIES = tuple(dict.fromkeys(summary for _, summary in _PAIRS))
# Several summaries of one document, beside a column of one or in place of it.
_REFERENCES = "references"

Wanted = Literal["documents", "pairs", "references"]
"""Documents alone, each with one summary, or each with all its references."""


@dataclass(frozen=True)
class NamedColumns:
    """What the settings say; None is to be recognised."""

    document: str | None = None
    summary: str | None = None
    id: str | None = None


NO_COLUMNS = NamedColumns()


@dataclass(frozen=True)
class Columns:
    """What a file has; no summary where only documents are wanted, and perhaps no id."""

    document: str
    summary: str | None
    id: str | None


def recognise(
    found: Iterable[str], named: NamedColumns, *, wanted: Wanted, where: str, options: OptionNames
) -> Columns:
    """The columns to read among those `found`: those `named`, and known ones for the rest.

    Raises DataError, which lists what was found, where a column is missing.
    """
    columns = {column.strip().casefold(): column for column in found}
    columns |= {column: column for column in columns.values()}
    for name, option in (
        (named.document, options.document_column),
        (named.summary, options.summary_column),
        (named.id, options.id_column),
    ):
        if name is not None and name not in columns:
            raise DataError(
                f"There is no column {visible(name)!r} among: {_listed(columns)}.",
                where=where,
                hint=_did_you_mean({option: _nearest([name], columns)}),
            )
    for document, summary in _candidates(named, wanted):
        if document in columns and (summary is None or summary in columns):
            return Columns(
                columns[document],
                None if summary is None else columns[summary],
                named.id or columns.get("id"),
            )
    needed = {options.document_column: named.document or _nearest(_DOCUMENTS, columns)}
    if wanted != "documents":
        summaries = (*_SUMMARIES, _REFERENCES)
        needed[options.summary_column] = named.summary or _nearest(summaries, columns)
    raise DataError(
        f"The columns are not known by name: {_listed(columns)}.",
        where=where,
        hint=_did_you_mean(needed),
    )


def _candidates(named: NamedColumns, wanted: Wanted) -> list[tuple[str, str | None]]:
    """Columns to look for, the likeliest first."""
    one: list[tuple[str, str | None]] = [
        (named.document or document, named.summary or summary) for document, summary in _PAIRS
    ]
    if wanted == "documents":
        return [(document, None) for document, _ in one]
    if named.summary:
        return one
    several: list[tuple[str, str | None]] = [(document, _REFERENCES) for document, _ in one]
    return several + one if wanted == "references" else one + several


def _listed(columns: Mapping[str, str]) -> str:
    names = list(dict.fromkeys(columns.values()))
    listed = ", ".join(visible(name) for name in names[:20])
    return f"{listed} and {len(names) - 20} more" if len(names) > 20 else listed


def _nearest(wanted: Iterable[str], columns: Mapping[str, str]) -> str | None:
    for name in wanted:
        if near := get_close_matches(name.casefold(), columns, n=1, cutoff=0.75):
            return columns[near[0]]
    return None


def _did_you_mean(needed: Mapping[str, str | None]) -> str:
    settings = " ".join(f"{option}{name or 'NAME'}" for option, name in needed.items())
    return f"did you mean {settings}?" if all(needed.values()) else f"name them: {settings}"
