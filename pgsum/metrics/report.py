"""Figures of several systems as a table to read and as JSON to keep; nothing is computed here.

Both show percentages: scores and shares from 0 to 1 times 100, rounded as Python's `round` does
(the nearest, a tie to the even digit), to 2 decimals in the table and 4 in the file.
"""

import json
from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from pgsum.metrics.bootstrap import Figure
from pgsum.metrics.measures import MEASURES, Average, Measure

Figures = Mapping[str, Mapping[str, Figure]]
"""By system, then by metric."""

Averages = Mapping[str, Mapping[str, Average]]
"""By who wrote, then by measure; of one evaluation, `summaries` and `references`."""

HEADINGS = {"rouge1": "R-1", "rouge2": "R-2", "rougeL": "R-L", "rougeLsum": "R-Lsum"}


def points(value: float) -> float:
    """A score of one example as it stands in files: from 0 to 100, not rounded."""
    return 100 * value


def percent(value: float) -> float:
    """A figure as it stands in files."""
    return round(points(value), 4)


def metrics_json(*, signature: str, n: int, systems: Figures, averages: Averages) -> str:
    """What `metrics.json` holds; the same figures give the same bytes."""
    figures = {
        name: {
            metric: {part: percent(value) for part, value in figure._asdict().items()}
            for metric, figure in by_metric.items()
        }
        for name, by_metric in systems.items()
    }
    content = {
        "signature": signature,
        "n": n,
        "systems": figures,
        "measures": measures_content(averages),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def measures_content(averages: Averages) -> dict[str, dict[str, dict[str, float]]]:
    """Averages as they stand in files: shares in percent, others as they are."""
    return {
        name: {
            measure: {
                part: percent(value) if MEASURES[measure].is_share else round(value, 4)
                for part, value in average._asdict().items()
            }
            for measure, average in by_measure.items()
        }
        for name, by_measure in averages.items()
    }


def rows(systems: Figures) -> list[list[str]]:
    """A heading, then a row for each system: its name, and F1 with its interval for each metric."""
    return [["system", *HEADINGS.values()]] + [
        [name, *(_cell(by_metric[metric]) for metric in HEADINGS)]
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


def measures_rows(systems: Averages, references: Mapping[str, Average]) -> list[list[str]]:
    """A heading, then a row for each measure that there is: how systems and references wrote.

    Shares are micro averages: all that was found out of all there was.
    """
    columns = [*systems.values(), references]
    return [["", *systems, "references"]] + [
        [measure.label, *(_average(column.get(name), measure) for column in columns)]
        for name, measure in MEASURES.items()
        if any(name in column for column in columns)
    ]


def measures_table(systems: Averages, references: Mapping[str, Average]) -> Table:
    """`measures_rows` for a terminal."""
    heading, *body = measures_rows(systems, references)
    drawn = Table(box=None, padding=(0, 2, 0, 0))
    for column in heading:
        drawn.add_column(Text(column), overflow="fold", justify="left" if not column else "right")
    for cells in body:
        drawn.add_row(*map(Text, cells))
    return drawn


def captions(systems: Figures) -> list[str]:
    """What the figures are not, in sentences."""
    said = []
    if "oracle" in systems:
        said.append("oracle chooses sentences by looking at the references: a bound, no system.")
    if "document" in systems:
        said.append("document is each document whole, as if nothing had been summarized.")
    return [
        *said,
        "ROUGE and the proxies count shared words: overlap, neither truth nor style. Intervals say "
        "what other examples would change, not what another seed would.",
    ]


def _average(average: Average | None, measure: Measure) -> str:
    if average is None:
        return ""
    return f"{100 * average.micro:.2f}%" if measure.is_share else f"{average.micro:.2f}"


def _cell(figure: Figure) -> str:
    f, low, high = (100 * value for value in (figure.f, figure.low, figure.high))
    return f"{f:.2f} [{low:.2f}, {high:.2f}]"
