"""A line of `predictions.jsonl`: one example as it was evaluated, written, and read again.

Knows what such a line holds, and refuses one that is damaged or was changed. Knows nothing of whole
files.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgsum.errors import DataError
from pgsum.evaluation import Evaluation, Measured
from pgsum.fields import Fields, is_number
from pgsum.metrics.copying import Ratio
from pgsum.metrics.measures import Measures
from pgsum.metrics.report import points
from pgsum.metrics.rouge import METRICS, Score, Scores
from pgsum.systems import Trace


@dataclass(frozen=True)
class PredictionLine:
    """What one line tells of the system asked for.

    `scores` are F1 by metric, in points (0 to 100). `trace` is there where a model wrote the
    prediction, and `baselines` has what those wrote, by name.
    """

    id: str
    system: str
    prediction: str
    references: tuple[str, ...]
    scores: Mapping[str, float]
    measured: Measured
    trace: Trace | None
    baselines: Mapping[str, str]


def prediction_lines(evaluation: Evaluation) -> Iterator[str]:
    """A line of JSON for each example: the system asked for, from which all figures can be had.

    Scores are in points (0 to 100) and not rounded. Of what was measured, each is a pair: so many
    out of so many. What baselines wrote is only there to be scored again.
    """
    name, *others = evaluation.systems
    result = evaluation.systems[name]
    for i, pair in enumerate(evaluation.pairs):
        prediction, measured, trace = (
            result.predictions[i],
            evaluation.measured[i],
            evaluation.traces[i],
        )
        row: dict[str, Any] = {
            "id": pair.id,
            "source_sha256": measured.source_sha256,
            "system": name,
            "prediction": prediction,
            "references": list(pair.references),
            **_in_points(result.scores[i]),
        }
        if len(pair.references) > 1:
            row["by_reference"] = [_in_points(scores) for scores in result.by_reference[i]]
        row |= {
            "measured": {
                "summary": measured.summary,
                "references": measured.references,
                "tokenizer": measured.tokenizer,
            },
            "model": trace and trace._asdict(),
            "baselines": {other: evaluation.systems[other].predictions[i] for other in others},
            "texts_sha256": _texts_digest(prediction, pair.references),
        }
        yield json.dumps(row, ensure_ascii=False) + "\n"


def read_line(values: Mapping[str, Any], *, where: str, hint: str) -> PredictionLine:
    """The line at `where` of a file, from its JSON.

    Raises DataError, with `hint`, where a field is missing or not what it must be, and where the
    texts are not those that were measured.
    """
    line = Fields(values, where, hint)
    prediction, references = line.of("prediction", str), line.texts("references")
    if line.of("texts_sha256", str) != _texts_digest(prediction, references):
        raise DataError(
            "The prediction or its references were changed after they were measured.",
            where=where,
            hint=hint,
        )
    baselines = line.inner("baselines")
    return PredictionLine(
        id=line.of("id", str),
        system=line.of("system", str),
        prediction=prediction,
        references=references,
        scores={metric: _f1(line.inner(metric)) for metric in METRICS},
        measured=_measured(line),
        trace=None if line.optional("model", dict) is None else _trace(line.inner("model")),
        baselines={name: baselines.of(name, str) for name in baselines.values},
    )


def _f1(score: Fields) -> float:
    """Precision and recall are only looked at."""
    *_, f = (score.of(part, float) for part in Score._fields)
    return f


def _measured(line: Fields) -> Measured:
    measured = line.inner("measured")
    return Measured(
        _ratios(measured.inner("summary")),
        _ratios(measured.inner("references")),
        measured.of("tokenizer", str),
        line.optional("source_sha256", str),
    )


def _trace(model: Fields) -> Trace:
    return Trace(
        score=model.of("score", float),
        stop=model.of("stop", str),
        truncated=model.of("truncated", bool),
        unread_tokens=model.of("unread_tokens", int),
        read_chars=model.of("read_chars", int),
        words=model.of("words", int),
        copied=model.of("copied", int),
        oovs=model.of("oovs", int),
        p_gen=model.of("p_gen", float),
        copy_mass=model.of("copy_mass", float),
        coverage_loss=model.optional("coverage_loss", float),
        reference_oovs=_ratio(model, "reference_oovs"),
    )


def _ratios(measures: Fields) -> Measures:
    return {name: _ratio(measures, name) for name in measures.values}


def _ratio(measures: Fields, name: str) -> Ratio:
    pair = measures.of(name, list)
    if len(pair) != 2 or not all(is_number(number, low=0.0) for number in pair):
        measures.refuse(name, "a pair of numbers, none of them below 0")
    return Ratio(*pair)


def _in_points(scores: Scores) -> dict[str, dict[str, float]]:
    return {
        metric: {part: points(value) for part, value in scores[metric]._asdict().items()}
        for metric in METRICS
    }


def _texts_digest(prediction: str, references: Sequence[str]) -> str:
    # Half a surrogate pair counts as JSON escapes it.
    return hashlib.sha256(json.dumps([prediction, *references]).encode("ascii")).hexdigest()
