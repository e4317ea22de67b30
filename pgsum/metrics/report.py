"""Figures of several systems as a table to read and as JSON to keep; nothing is computed here.

Both show percentages: figures from 0 to 1 times 100, rounded as Python's `round` does (the nearest,
a tie to the even digit), to 2 decimals in the table and 4 in the file.
"""

import json
from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from pgsum.metrics.bootstrap import Figure

Figures = Mapping[str, Mapping[str, Figure]]
"""By system, then by metric."""

_HEADINGS = {"rouge1": "R-1", "rouge2": "R-2", "rougeL": "R-L", "rougeLsum": "R-Lsum"}


def percent(value: float) -> float:
    """A figure as it stands in files."""
    return round(100 * value, 4)


def metrics_json(*, signature: str, n: int, systems: Figures) -> str:
    """What `metrics.json` holds; the same figures give the same bytes."""
    figures = {
        name: {
            metric: {part: percent(value) for part, value in figure._asdict().items()}
            for metric, figure in by_metric.items()
        }
        for name, by_metric in systems.items()
    }
    content = {"signature": signature, "n": n, "systems": figures}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def rows(systems: Figures) -> list[list[str]]:
    """A heading, then a row for each system: its name, and F1 with its interval for each metric."""
    return [["system", *_HEADINGS.values()]] + [
        [name, *(_cell(by_metric[metric]) for metric in _HEADINGS)]
        for name, by_metric in systems.items()
    ]


def table(systems: Figures) -> Table:
    """`rows` for a terminal, at most 80 columns wide for names of usual length."""
    heading, *body = rows(systems)
    drawn = Table(box=None, padding=(0, 1, 0, 0))
    for column in heading:
        drawn.add_column(column, overflow="fold")
    for name, *cells in body:
        # Text, so that brackets are not taken for markup; the interval below its figure.
        drawn.add_row(Text(name), *(Text(cell.replace(" [", "\n[")) for cell in cells))
    return drawn


def _cell(figure: Figure) -> str:
    f, low, high = (100 * value for value in (figure.f, figure.low, figure.high))
    return f"{f:.2f} [{low:.2f}, {high:.2f}]"
