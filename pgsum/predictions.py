"""Files of predictions, both ways: read and matched with pairs, and written beside their scores.

Knows files, columns and the lines of `predictions.jsonl`. Knows nothing of how a score is counted.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pgsum.data.columns import NamedColumns
from pgsum.data.files import OptionNames
from pgsum.data.records import Pair, Reading, Record, Tally, only_pairs, to_records
from pgsum.data.row_files import read_rows
from pgsum.data.rows import Row
from pgsum.errors import DataError
from pgsum.evaluation import Evaluation, Measured, some
from pgsum.metrics.measures import Measures, Ratio
from pgsum.metrics.report import points
from pgsum.metrics.rouge import METRICS, Scores
from pgsum.systems import Trace, Written

_OPTIONS = OptionNames(
    document_column="--prediction-column ",
    summary_column="--reference-column ",
    encoding="--set data.encoding=",
    on_bad="--on-bad ",
)


@dataclass(frozen=True)
class Predictions:
    """What a system wrote: one summary for each pair, in order.

    The pairs have no document, and references only where they were asked for. Of a file that
    `prediction_lines` made, `measured` has what was counted while there were documents, and
    `baselines` what those wrote, by name. `notes` say in one sentence each what was left out;
    `skipped` is the number of bad rows among that.
    """

    name: str
    pairs: tuple[Pair, ...]
    written: tuple[Written, ...]
    measured: tuple[Measured | None, ...]
    baselines: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    skipped: int


def read_predictions(
    path: Path,
    *,
    references: bool,
    prediction_column: str | None = None,
    reference_column: str | None = None,
    encoding: str | None = None,
    on_bad: Literal["error", "skip"] = "error",
) -> Predictions:
    """The predictions of a file of rows and, with `references`, theirs.

    The columns are `prediction` and `references` where not named. The system is called what the
    first row's `system` says, else what the prediction's column is called.
    """
    column = prediction_column or "prediction"
    reading = Reading(
        # To the reader, a prediction is the text that references belong to.
        wanted="references" if references else "documents",
        columns=NamedColumns(document=column, summary=reference_column),
        encoding=encoding,
        options=_OPTIONS,
    )
    tally = Tally(str(path))
    rows = list(read_rows(path, encoding=encoding, options=_OPTIONS))
    records = list(to_records(rows, reading, tally))
    read = list(only_pairs(records, on_bad=on_bad, tally=tally, options=_OPTIONS))
    if not read:
        raise DataError("The file holds no prediction.", where=str(path))
    system = rows[0].values.get("system") if isinstance(rows[0], Row) else None
    is_ours = prediction_column is None and reference_column is None
    known = [
        _known(row) if is_ours and isinstance(row, Row) else _NOTHING
        for row, record in zip(rows, records, strict=True)
        if isinstance(record, Record)
    ]
    return Predictions(
        name=system if isinstance(system, str) and prediction_column is None else column,
        pairs=tuple(Pair(pair.id, "", pair.references) for pair in read),
        written=tuple(
            Written(pair.document, each.trace) for pair, each in zip(read, known, strict=True)
        ),
        measured=tuple(each.measured for each in known),
        baselines={
            name: tuple(each.baselines[name] for each in known)
            for name in known[0].baselines
            if all(name in each.baselines for each in known)
        },
        notes=tuple(tally.notes()),
        skipped=tally.bad,
    )


def match_predictions(predictions: Predictions, pairs: Sequence[Pair]) -> list[int]:
    """Which prediction is that of each of `pairs`, by id; in order where the file has no ids.

    Raises DataError, with the first five, where ids are repeated, missing or of no pair.
    """
    ids = [pair.id for pair in predictions.pairs]
    wanted = {pair.id for pair in pairs}
    numbers = [str(number) for number in range(1, len(ids) + 1)]  # what rows without ids are called
    if ids == numbers and not wanted & {*ids}:
        if len(ids) != len(pairs):
            raise DataError(
                f"There are {len(ids)} predictions of {predictions.name} and {len(pairs)} pairs.",
                hint="give both files an id for each row to see which are missing",
            )
        return list(range(len(ids)))
    by_id = {id_: place for place, id_ in enumerate(ids)}
    faults = {
        "more than one for": [id_ for id_, times in Counter(ids).items() if times > 1],
        "none for": [pair.id for pair in pairs if pair.id not in by_id],
        "some for what is not in the data:": [id_ for id_ in by_id if id_ not in wanted],
    }
    if any(faults.values()):
        found = "; ".join(f"{fault} {some(names)}" for fault, names in faults.items() if names)
        raise DataError(
            f"The predictions of {predictions.name} do not belong to these pairs: {found}.",
            hint="evaluate on the split that was summarized",
        )
    return [by_id[pair.id] for pair in pairs]


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
            "source_sha256": _sha256(pair.document) if pair.document else None,
            "system": name,
            "prediction": prediction,
            "references": list(pair.references),
            **_in_points(result.scores[i]),
        }
        if len(pair.references) > 1:
            row["by_reference"] = [_in_points(scores) for scores in result.by_reference[i]]
        row |= {
            "measured": measured._asdict(),
            "model": trace and trace._asdict(),
            "baselines": {other: evaluation.systems[other].predictions[i] for other in others},
            "texts_sha256": _sha256([prediction, *pair.references]),
        }
        yield json.dumps(row, ensure_ascii=False) + "\n"


class _Known(NamedTuple):
    """What a line of ours tells beside the texts."""

    trace: Trace | None = None
    measured: Measured | None = None
    baselines: Mapping[str, str] = MappingProxyType({})


_NOTHING = _Known()


def _known(row: Row) -> _Known:
    """Raises DataError where the texts are not those that were measured."""
    values = row.values
    if "texts_sha256" not in values:
        return _NOTHING
    try:
        digest = _sha256([values["prediction"], *values["references"]])
        measured, trace = values["measured"], values["model"]
        known = _Known(
            trace=trace and Trace(**trace),
            measured=Measured(
                _ratios(measured["summary"]),
                _ratios(measured["references"]),
                str(measured["tokenizer"]),
            ),
            baselines={str(name): str(text) for name, text in values["baselines"].items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"The line is damaged: {type(error).__name__} {error}.",
            where=row.where,
            hint="evaluate again with --out, or remove the column texts_sha256",
        ) from error
    if digest != values["texts_sha256"]:
        raise DataError(
            "The prediction or its references were changed after they were measured.",
            where=row.where,
            hint="remove the column texts_sha256, and what was measured is left aside",
        )
    return known


def _ratios(measures: Mapping[str, Any]) -> Measures:
    return {str(name): Ratio(*counts) for name, counts in measures.items()}


def _in_points(scores: Scores) -> dict[str, dict[str, float]]:
    return {
        metric: {part: points(value) for part, value in scores[metric]._asdict().items()}
        for metric in METRICS
    }


def _sha256(content: str | Sequence[str]) -> str:
    """Of a text, or of several; half a surrogate pair counts as JSON escapes it."""
    return hashlib.sha256(
        content.encode("utf-8", "surrogatepass")
        if isinstance(content, str)
        else json.dumps(content).encode("ascii")
    ).hexdigest()
