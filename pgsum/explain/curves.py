"""curves.html: how a training goes, drawn from the lines of its metrics.jsonl.

Knows what a metrics.jsonl holds. Knows nothing of models, nor of who trains them.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pgsum.explain.one_file import render, write

MOST_POINTS = 300
"""Points of a curve that are drawn: about as many as its picture is wide."""

# The picture, in the units of its viewBox: pixels on a narrow telephone.
_WIDTH, _HEIGHT = 340, 216
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 314, 26, 178
_FEW_POINTS = 40  # so few that each is marked


Line = Mapping[str, int | float]
"""A line of metrics.jsonl: `step`, and by its key each value that was logged then."""


class Chart(NamedTuple):
    """Curves that share an axis."""

    title: str
    unit: str
    curves: Mapping[str, str]
    """What the curve of each key of metrics.jsonl is called."""
    ends: tuple[int, ...] = ()
    """Values that the axis always reaches."""


CHARTS = (
    Chart(
        "Loss",
        "nats per target token",
        {"train_loss": "training", "val_loss": "validation"},
    ),
    Chart(
        "ROUGE",
        "F1 of the validation sample, 0 to 100",
        {"val_rouge1": "ROUGE-1", "val_rouge2": "ROUGE-2", "val_rougeL": "ROUGE-L"},
        ends=(0,),
    ),
    Chart(
        "p_gen",
        "probability to generate, mean over target tokens",
        {"train_p_gen": "training"},
        ends=(0, 1),
    ),
    Chart(
        "Coverage loss",
        "attention paid twice, per target token",
        {"train_coverage_loss": "training"},
        ends=(0,),
    ),
    Chart("Learning rate", "optim.lr times its schedule", {"learning_rate": "training"}, ends=(0,)),
    Chart(
        "Gradient norm",
        "L2 norm of all gradients, before clipping",
        {"grad_norm": "training"},
        ends=(0,),
    ),
    Chart(
        "Speed",
        "tokens per second, source and target, mean so far",
        {"tokens_per_second": "training"},
        ends=(0,),
    ),
    Chart("Memory", "MiB of the process", {"memory_mb": "training"}, ends=(0,)),
)

VALIDATION = {
    "val_loss": ("loss", 4),
    "val_rouge1": ("R-1", 2),
    "val_rouge2": ("R-2", 2),
    "val_rougeL": ("R-L", 2),
    "val_rougeLsum": ("R-Lsum", 2),
    "val_rouge_mean": ("mean of 1, 2, L", 2),
}
"""Columns of the table of validations: heading and decimals."""


class Point(NamedTuple):
    """A value that was logged."""

    step: int
    value: int | float


class Tick(NamedTuple):
    """A mark on an axis: where it is in the picture, and what stands there."""

    at: float
    text: str


class Curve(NamedTuple):
    """A curve as it is drawn: `places` holds x and y of each of its `points`."""

    name: str
    points: Sequence[Point]
    places: Sequence[tuple[float, float]]
    logged: int
    """How many values there were, before what is no number was left out and the rest thinned."""

    @property
    def path(self) -> str:
        return "M" + "L".join(f"{x:g} {y:g}" for x, y in self.places)

    @property
    def marks(self) -> Sequence[tuple[float, float]]:
        return self.places if len(self.places) <= _FEW_POINTS else ()

    @property
    def said(self) -> list[tuple[float, float, str]]:
        """The places, and what is said of each."""
        return [
            (*place, f"{figure(point.value)} at step {point.step:,}")
            for place, point in zip(self.places, self.points, strict=True)
        ]


class Drawn(NamedTuple):
    """A chart as it is drawn."""

    title: str
    unit: str
    curves: Sequence[Curve]
    steps: Sequence[Tick]
    values: Sequence[Tick]


def write_curves(metrics: Path, *, metric: str) -> None:
    """Draw `metrics`, a run's metrics.jsonl, into the curves.html beside it.

    `metric` chooses the best validation. Raises ConfigError where the page cannot be written.
    """
    page = curves_page(read_metrics(metrics), name=metrics.resolve().parent.name, metric=metric)
    write(metrics.with_name("curves.html"), page, option="--out")


def read_metrics(path: Path) -> list[Line]:
    """The lines of a metrics.jsonl, if there is one; without a last line that was cut short."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def curves_page(metrics: Sequence[Line], *, name: str, metric: str) -> str:
    """The page of a run called `name`, whose best validation has the highest `val_{metric}`."""
    last_step = max((int(line["step"]) for line in metrics), default=0)
    charts = [
        draw(chart, curves, last_step=last_step)
        for chart in CHARTS
        if (curves := dict(logged(chart, metrics)))
    ]
    validated = [line for line in metrics if f"val_{metric}" in line]
    return render(
        "curves.html",
        styles=["curves.css"],
        scripts=["curves.js"],
        data=[[curve.said for curve in chart.curves] for chart in charts],
        title=f"{name}: curves",
        name=name,
        width=_WIDTH,
        height=_HEIGHT,
        plot={"left": _LEFT, "right": _RIGHT, "top": _TOP, "bottom": _BOTTOM},
        last_step=last_step,
        lines=len(metrics),
        charts=charts,
        validation=VALIDATION,
        validated=validated,
        best=max(validated, key=lambda line: line[f"val_{metric}"], default=None),
        metric=metric,
    )


def logged(chart: Chart, metrics: Sequence[Line]) -> Iterator[tuple[str, list[Point]]]:
    """Each curve of `chart` that can be drawn, by its name: of a step logged twice, the latter."""
    for key, name in chart.curves.items():
        values = {int(line["step"]): line[key] for line in metrics if key in line}
        if any(math.isfinite(value) for value in values.values()):
            yield name, [Point(step, values[step]) for step in sorted(values)]


def draw(chart: Chart, curves: Mapping[str, Sequence[Point]], *, last_step: int) -> Drawn:
    """The curves on their axes: steps from 0 to the last, values between round numbers.

    What is no finite number, as of a training that diverged, has no place on them.
    """
    finite = {
        name: [point for point in points if math.isfinite(point.value)]
        for name, points in curves.items()
    }
    values = [*chart.ends, *(point.value for points in finite.values() for point in points)]
    marks = round_numbers(min(values), max(values))
    low, high = marks[0], marks[-1]

    def x(step: int | float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * step / last_step, 1)

    def y(value: int | float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (value - low) / (high - low), 1)

    drawn = []
    for name, points in finite.items():
        kept = thinned(points, MOST_POINTS)
        places = [(x(point.step), y(point.value)) for point in kept]
        drawn.append(Curve(name, kept, places, logged=len(curves[name])))
    steps = [step for step in round_numbers(0, last_step) if step <= last_step and step % 1 == 0]
    return Drawn(
        chart.title,
        chart.unit,
        drawn,
        [Tick(x(step), f"{step:,.0f}") for step in steps],
        [Tick(y(value), figure(value)) for value in marks],
    )


def thinned(points: Sequence[Point], most: int) -> Sequence[Point]:
    """At most `most` of the points: first, last, and of each stretch the lowest and the highest.

    So each point that is drawn was logged, and no peak is lost.
    """
    if len(points) <= most:
        return points
    kept = {0, len(points) - 1}
    stretches = most // 2 - 1
    for stretch in range(stretches):
        inside = range(stretch * len(points) // stretches, (stretch + 1) * len(points) // stretches)
        kept |= {pick(inside, key=lambda i: points[i].value) for pick in (min, max)}
    return [points[i] for i in sorted(kept)]


def round_numbers(low: int | float, high: int | float) -> list[float]:
    """At most eight multiples of 1, 2 or 5 times a power of ten, the outer ones around all else."""
    if high - low <= 1e-6 * max(abs(low), abs(high)):  # one value, but for what was rounded
        around = abs(high) / 10 or 1.0
        low, high = low - around, high + around
    least = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def figure(value: int | float) -> str:
    """All that metrics.jsonl has of it: six digits that count."""
    return f"{value:,.6g}"
