"""Evaluations on disk, read to be compared: refused where they do not measure the same thing.

Knows the files that `pgsum.results` writes. Knows no statistics: those are
`pgsum.metrics.comparison`'s.
"""

import json
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from pgsum.errors import DataError
from pgsum.evaluation import some
from pgsum.fields import Fields
from pgsum.metrics.bootstrap import Figure
from pgsum.metrics.comparison import Comparison, ScoresOfSystem, compare
from pgsum.metrics.measures import Average, averages
from pgsum.metrics.report import measures_content
from pgsum.metrics.rouge import METRICS
from pgsum.prediction_line import PredictionLine, read_line

_HINT = "a run is a folder that `pgsum evaluate --out` wrote"
_AGAIN = "evaluate again with --out"


@dataclass(frozen=True)
class Evaluated:
    """One run of `pgsum evaluate`: the system asked for, and its F1 (0 to 100) by example.

    `texts` holds, by id, what the system had to summarize (a hash, where it is known) and the
    references that it was scored against.
    """

    folder: Path
    system: str
    signature: str
    texts: Mapping[str, tuple[str | None, tuple[str, ...]]]
    scores: ScoresOfSystem
    measured: Mapping[str, Mapping[str, Average]]
    """How its `summaries` and the `references` were written."""


def compare_runs(folders: Sequence[Path]) -> Comparison:
    """The system of each folder compared with that of the first.

    Raises DataError where a folder holds no evaluation or a changed one, or where two of them have
    different ids, references or documents, with the first five, or different signatures.
    """
    first, *others = [read_evaluation(folder) for folder in folders]
    for other in others:
        _refuse_unlike(first, other)
    names = _names([first, *others])
    order = list(first.texts)
    systems = {
        name: _in_order(run, order) for name, run in zip(names, [first, *others], strict=True)
    }
    return compare(
        systems,
        signature=first.signature,
        measures={
            name: run.measured["summaries"]
            for name, run in zip(names, [first, *others], strict=True)
        },
        # The same in all, but for what needs a document: not each run may have had them.
        references=dict(ChainMap(*(dict(run.measured["references"]) for run in [first, *others]))),
    )


def read_evaluation(folder: Path) -> Evaluated:
    """The evaluation that `folder` holds."""
    path = folder / "metrics.json"
    metrics = Fields(_object(path, _text(path)), str(path), _AGAIN)
    lines = list(_lines(folder / "predictions.jsonl"))
    system = lines[0].system
    scores = {metric: np.array([line.scores[metric] for line in lines]) for metric in METRICS}
    systems = metrics.inner("systems")
    # The one asked for must be there, and the others be whole.
    means = {name: _means(systems.inner(name)) for name in (system, *systems.values)}[system]
    examples = metrics.of("n", int)
    measured = {
        "summaries": averages([line.measured.summary for line in lines]),
        "references": averages([line.measured.references for line in lines]),
    }
    # What was cut short or changed after it was scored has another mean; rounded, there.
    alike = all(abs(scores[metric].mean() - mean) < 1e-3 for metric, mean in means.items())
    alike &= metrics.of("measures", dict) == measures_content(measured)
    if examples != len(lines) or not alike:
        raise DataError(
            f"metrics.json and predictions.jsonl do not belong together: of {examples} examples "
            f"{len(lines)} are there, and their means are {'' if alike else 'not '}the same.",
            where=str(folder),
            hint=_AGAIN,
        )
    return Evaluated(
        folder,
        system,
        metrics.of("signature", str),
        {line.id: (line.measured.source_sha256, line.references) for line in lines},
        scores,
        measured,
    )


def _means(by_metric: Fields) -> dict[str, float]:
    """F1; what stands beside it is only looked at."""
    figures = {
        metric: Figure(*(by_metric.inner(metric).of(part, float) for part in Figure._fields))
        for metric in METRICS
    }
    return {metric: figure.f for metric, figure in figures.items()}


def _refuse_unlike(first: Evaluated, other: Evaluated) -> None:
    faults = {
        "only the first has": [id_ for id_ in first.texts if id_ not in other.texts],
        "only the second has": [id_ for id_ in other.texts if id_ not in first.texts],
    }
    if not any(faults.values()):
        shared = [(id_, texts, other.texts[id_]) for id_, texts in first.texts.items()]
        faults = {
            "different references for": [id_ for id_, a, b in shared if a[1] != b[1]],
            "different documents for": [
                id_ for id_, a, b in shared if None not in (a[0], b[0]) and a[0] != b[0]
            ],
        }
    if any(faults.values()):
        found = "; ".join(f"{fault} {some(ids)}" for fault, ids in faults.items() if ids)
        raise DataError(
            f"{first.folder} and {other.folder} were not scored on the same examples: {found}.",
            where=str(other.folder),
            hint="evaluate both on the same split of the same corpus",
        )
    # Last: other examples make another signature, too, which would not name them.
    if first.signature != other.signature:
        raise DataError(
            f"The scores were counted in different ways: {_unlike_fields(first, other)}.",
            where=str(other.folder),
            hint=f"evaluate both alike; {first.folder} has {first.signature}",
        )


def _unlike_fields(first: Evaluated, other: Evaluated) -> str:
    ours, theirs = (
        dict(part.partition(":")[::2] for part in run.signature.split("|"))
        for run in (first, other)
    )
    return ", ".join(
        f"{name} is {ours.get(name, 'missing')} in {first.folder} and "
        f"{theirs.get(name, 'missing')} in {other.folder}"
        for name in dict.fromkeys([*ours, *theirs])
        if ours.get(name) != theirs.get(name)
    )


def _names(runs: Sequence[Evaluated]) -> list[str]:
    """What a person calls each: by its system, or its folder where systems share a name."""
    systems = [run.system for run in runs]
    names = systems if len(set(systems)) == len(runs) else [str(run.folder) for run in runs]
    unique: list[str] = []
    for name in names:
        numbered = (f"{name} ({number})" for number in count(2))
        unique.append(next(each for each in chain([name], numbered) if each not in unique))
    return unique


def _in_order(run: Evaluated, ids: Sequence[str]) -> ScoresOfSystem:
    place = {id_: i for i, id_ in enumerate(run.texts)}
    order = np.array([place[id_] for id_ in ids])
    return {metric: scores[order] for metric, scores in run.scores.items()}


def _lines(path: Path) -> Iterator[PredictionLine]:
    """The lines of one system, at least one, each with an id of its own."""
    first: dict[str, str] = {}
    system = None
    for number, text in enumerate(_text(path).split("\n"), 1):
        if not text:
            continue
        where = f"{path}:{number}"
        line = read_line(_object(path, text, number), where=where, hint=_AGAIN)
        if line.id in first:
            raise DataError(
                f"The id {line.id!r} stands at {first[line.id]} already: ids must be unique.",
                where=where,
                hint=_AGAIN,
            )
        if line.system != (system or line.system):
            raise DataError(
                f"The system is {line.system!r}, and {system!r} in the lines before it.",
                where=where,
                hint=_AGAIN,
            )
        first[line.id], system = where, line.system
        yield line
    if not first:
        raise DataError("The file holds no prediction.", where=str(path), hint=_HINT)


def _object(path: Path, text: str, line: int | None = None) -> dict[str, Any]:
    where = str(path) if line is None else f"{path}:{line}"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"This is no JSON: {error}.", where=where, hint=_HINT) from error
    if not isinstance(content, dict):
        raise DataError("This is no JSON object.", where=where, hint=_HINT)
    return content


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(
            f"{str(path.parent)!r} holds no evaluation: it has no {path.name}."
            if path.parent.exists()
            else f"{str(path.parent)!r} does not exist.",
            where=str(path.parent),
            hint=_HINT,
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DataError(f"The file cannot be read: {reason}.", where=str(path)) from error
