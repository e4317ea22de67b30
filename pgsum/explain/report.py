"""An evaluation as one page: figures with intervals, every row, and some rows explained.

Takes plain data, so it knows neither who evaluated nor how. The rows are drawn by the page's
script, a few at a time, however many there are.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgsum.explain.content import Explained, for_page, rounded
from pgsum.explain.one_file import render, write
from pgsum.explain.page import SCRIPTS


@dataclass(frozen=True)
class Row:
    """One example: what was written, how it scored, and what was counted of it."""

    id: str
    prediction: str
    references: tuple[str, ...]
    scores: Mapping[str, float]
    """F1 by metric, from 0 to 1; the same metrics in all rows."""
    statistics: Mapping[str, float]
    """By name; a row may lack some."""
    flags: frozenset[str] = frozenset()
    """What can be filtered by, in words, such as "repeats itself"."""


@dataclass(frozen=True)
class Report:
    """All that a page shows.

    `figures` and `measures` are tables as they are to be read, their headings first, the former
    with the `signature` of how it was counted. `settings` are those of the search that were
    changed, each as `key=value`. `explained` are some of the `rows`, under their ids.
    """

    title: str
    figures: Sequence[Sequence[str]]
    signature: str
    measures: Sequence[Sequence[str]]
    rows: Sequence[Row]
    settings: Sequence[str] = ()
    explained: Sequence[Explained] = ()
    notes: Sequence[str] = ()


def write_report(path: Path, report: Report) -> None:
    """The page, whole or not at all. Raises ConfigError where it cannot be written."""
    write(path, report_page(report), option="--report")


def report_page(report: Report) -> str:
    """The page of a report."""
    return render(
        "report.html",
        styles=["page.css", "report.css"],
        scripts=[*SCRIPTS, "report.js"],
        data={"explained": [for_page(each) for each in report.explained], **_table(report.rows)},
        title=report.title,
        figures=report.figures,
        signature=report.signature,
        settings=report.settings,
        measures=report.measures,
        notes=report.notes,
    )


def examples(scores: Sequence[float], count: int, *, seed: int) -> list[int]:
    """Which rows to explain: a third of `count` the best, a third the worst, the rest by chance.

    In that order, without repeats; all rows where there are no more.
    """
    best_first = sorted(range(len(scores)), key=lambda i: -scores[i])
    if len(scores) <= count:
        return best_first
    third = count // 3
    best, worst = best_first[:third], best_first[len(scores) - third :]
    others = best_first[third : len(scores) - third]
    return best + worst + sorted(random.Random(seed).sample(others, count - 2 * third))


def _table(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows as lists under names that are said once; a statistic that is missing is null."""
    metrics = list(rows[0].scores) if rows else []
    statistics = list(dict.fromkeys(name for row in rows for name in row.statistics))
    flags = sorted({flag for row in rows for flag in row.flags})
    return {
        "metrics": metrics,
        "statistics": statistics,
        "flags": flags,
        "rows": [
            [
                row.id,
                row.prediction,
                list(row.references),
                [rounded(row.scores[metric]) for metric in metrics],
                [
                    None if (value := row.statistics.get(name)) is None else rounded(value)
                    for name in statistics
                ],
                [flags.index(flag) for flag in sorted(row.flags)],
            ]
            for row in rows
        ],
    }
