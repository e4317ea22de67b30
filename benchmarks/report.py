"""What was measured, as tables to read and as JSON to keep: the ratios first."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timing


@dataclass(frozen=True)
class Figures:
    """Of one side, for one unit of what it does."""

    time: Timing
    memory: int | None = None
    """Bytes at the peak, above what there was before."""
    floor: Timing | None = None


@dataclass(frozen=True)
class Result:
    """Of one measurement: each side's figures, and what was found equal before."""

    name: str
    unit: str
    details: Mapping[str, object]
    sides: Mapping[str, Figures]
    baseline: str | None = None
    """The side that the others are compared with."""
    checks: Mapping[str, float] = field(default_factory=dict)

    def ratios(self) -> dict[str, dict[str, float]]:
        """Of each side but the baseline: how many times better it is, and how many floors it takes.

        Sides that can be compared with nothing are left out.
        """
        found = {}
        for name, figures in self.sides.items():
            ratios = {}
            if self.baseline is not None and name != self.baseline:
                baseline = self.sides[self.baseline]
                ratios |= baseline.time.over(figures.time)._asdict()
                if figures.memory and baseline.memory:
                    ratios["memory"] = baseline.memory / figures.memory
            if figures.floor is not None:
                floors = figures.time.over(figures.floor)
                ratios |= {f"floors_{clock}": value for clock, value in floors._asdict().items()}
            if ratios:
                found[name] = ratios
        return found


def as_json(results: Iterable[Result], machine: Mapping[str, Any]) -> dict[str, Any]:
    """Everything; times in seconds, memory in bytes."""
    results = list(results)
    return {
        "ratios": {result.name: result.ratios() for result in results if result.ratios()},
        "machine": dict(machine),
        "figures": {
            result.name: {
                "unit": result.unit,
                "baseline": result.baseline,
                "details": dict(result.details),
                "checks": dict(result.checks),
                "sides": {
                    name: {
                        "cpu": figures.time.cpu,
                        "wall": figures.time.wall,
                        "memory": figures.memory,
                        "floor": figures.floor and figures.floor._asdict(),
                    }
                    for name, figures in result.sides.items()
                },
            }
            for result in results
        },
    }


def show(results: Iterable[Result], machine: Mapping[str, Any], console: Console) -> None:
    """Two tables: how the sides compare, and what each takes."""
    results = list(results)
    console.print(_ratio_table(results))
    console.print(_figure_table(results))
    for name, value in machine.items():
        console.print(f"{name}: {value}", highlight=False)


def _ratio_table(results: Iterable[Result]) -> Table:
    table = _table(
        "Times faster and smaller than the baseline; times the floor",
        *("what", "side", "baseline", "CPU", "wall", "memory", "floors, CPU", "floors, wall"),
    )
    for result in results:
        for what, (side, ratios) in _named(result.name, result.ratios()):
            keys = ("cpu", "wall", "memory", "floors_cpu", "floors_wall")
            cells = (f"{ratios[key]:.2f}" if key in ratios else "" for key in keys)
            table.add_row(what, side, result.baseline or "", *cells)
    return table


def _figure_table(results: Iterable[Result]) -> Table:
    table = _table(
        "What each takes",
        *("what", "side", "unit", "CPU ms", "wall ms", "per second", "peak MB", "floor, wall ms"),
    )
    for result in results:
        for what, (side, figures) in _named(result.name, result.sides):
            table.add_row(
                what,
                side,
                result.unit,
                f"{1e3 * figures.time.cpu:,.3f}",
                f"{1e3 * figures.time.wall:,.3f}",
                f"{1 / figures.time.wall:,.1f}",
                "" if figures.memory is None else f"{figures.memory / 1e6:,.0f}",
                "" if figures.floor is None else f"{1e3 * figures.floor.wall:,.3f}",
            )
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    texts = {"what", "side", "baseline", "unit"}
    for column in columns:
        table.add_column(column, justify="left" if column in texts else "right", no_wrap=True)
    return table


def _named(name: str, sides: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Each side with the measurement's name, which is said once."""
    for number, side in enumerate(sides.items()):
        yield name if number == 0 else "", side
