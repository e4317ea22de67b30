"""Predictions on disk: read and matched with their pairs, and written beside what they scored.

Knows files and columns. Knows nothing of how a score is counted.
"""

import json
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

import pgsum
from pgsum.data.columns import NamedColumns
from pgsum.data.files import OptionNames, open_file
from pgsum.data.records import Pair, Reading, Tally, only_pairs, to_records
from pgsum.data.rows import Row, format_of, read_rows
from pgsum.errors import ConfigError, DataError
from pgsum.evaluation import Evaluation, some
from pgsum.metrics.report import metrics_json, percent

_OPTIONS = OptionNames(
    document_column="--prediction-column ",
    summary_column="--reference-column ",
    encoding="--set data.encoding=",
    on_bad="--on-bad ",
)
_LIBRARIES = ("rouge-score", "nltk", "numpy", "torch")


@dataclass(frozen=True)
class Predictions:
    """What a system wrote: one text for each pair, in order.

    The pairs have no document, and references only where they were asked for. `notes` say in one
    sentence each what was left out; `skipped` is the number of bad rows among that.
    """

    name: str
    pairs: tuple[Pair, ...]
    texts: tuple[str, ...]
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
    """The predictions of a JSON Lines, CSV or TSV file and, with `references`, theirs.

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
    with open_file(path) as stream:
        rows = read_rows(
            stream, name=str(path), suffix=format_of(path), encoding=encoding, options=_OPTIONS
        )
        head = list(islice(rows, 1))
        records = to_records(chain(head, rows), reading, tally)
        read = list(only_pairs(records, on_bad=on_bad, tally=tally, options=_OPTIONS))
    if not read:
        raise DataError("The file holds no prediction.", where=str(path))
    system = head[0].values.get("system") if isinstance(head[0], Row) else None
    return Predictions(
        name=system if isinstance(system, str) and prediction_column is None else column,
        pairs=tuple(Pair(pair.id, "", pair.references) for pair in read),
        texts=tuple(pair.document for pair in read),
        notes=tuple(tally.notes()),
        skipped=tally.bad,
    )


def match_predictions(predictions: Predictions, pairs: Sequence[Pair]) -> list[str]:
    """The prediction for each of `pairs`, by id; in their order where the file has no ids.

    Raises DataError, with the first five, where ids are repeated, missing or of no pair.
    """
    ids = [pair.id for pair in predictions.pairs]
    if ids == [
        str(number) for number in range(1, len(ids) + 1)
    ]:  # what rows without ids are called
        if len(ids) != len(pairs):
            raise DataError(
                f"There are {len(ids)} predictions of {predictions.name} and {len(pairs)} pairs.",
                hint="give both files an id for each row to see which are missing",
            )
        return list(predictions.texts)
    by_id = dict(zip(ids, predictions.texts, strict=True))
    wanted = {pair.id for pair in pairs}
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


def check_output_folder(folder: Path) -> None:
    """Raises ConfigError where `folder` is there and not empty: no result is written over."""
    try:
        taken = folder.exists() and any(folder.iterdir())
    except OSError as error:
        raise _unwritable(folder, error) from error
    if taken:
        raise ConfigError(
            "The folder holds files already.", where=str(folder), hint="name a new one with --out"
        )


def write_evaluation(
    folder: Path,
    evaluation: Evaluation,
    *,
    command: Sequence[str],
    config: Mapping[str, Any],
    inputs: Mapping[str, str],
    seconds: float,
) -> None:
    """`metrics.json`, `predictions.jsonl` and `run.json` in a new or empty folder.

    The same evaluation gives the same bytes but for `run.json`, which alone tells how, where, when
    and in what time (`seconds`); `inputs` are the paths and names of what was read.
    """
    check_output_folder(folder)
    run = {
        "command": list(command),
        "config": dict(config),
        "inputs": dict(inputs),
        "systems": list(evaluation.systems),
        "signature": evaluation.signature,
        "seed": evaluation.seed,
        "notes": list(evaluation.notes),
        "versions": {
            "pgsum": pgsum.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in _LIBRARIES},
        },
        "platform": platform.platform(),
        "seconds": round(seconds, 3),
    }
    metrics = metrics_json(
        signature=evaluation.signature, n=len(evaluation.pairs), systems=evaluation.figures
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "predictions.jsonl", "".join(_prediction_lines(evaluation)))
        _write(folder / "run.json", json.dumps(run, indent=2, ensure_ascii=False) + "\n")
        _write(folder / "metrics.json", metrics)  # last: where it stands, the rest does
    except OSError as error:
        raise _unwritable(folder, error) from error


def _prediction_lines(evaluation: Evaluation) -> Iterator[str]:
    """The first system's, from which its figures can be had again."""
    name, result = next(iter(evaluation.systems.items()))
    rows = zip(evaluation.pairs, result.predictions, result.scores, strict=True)
    for pair, prediction, scores in rows:
        row = {
            "id": pair.id,
            "system": name,
            "prediction": prediction,
            "references": list(pair.references),
        } | {
            metric: {part: percent(value) for part, value in score._asdict().items()}
            for metric, score in scores.items()
        }
        yield json.dumps(row, ensure_ascii=False) + "\n"


def _write(path: Path, content: str) -> None:
    """Whole or not at all."""
    unfinished = path.with_name(f".{path.name}.part")
    try:
        # Half a surrogate pair, which UTF-8 cannot hold, is escaped as JSON would escape it.
        unfinished.write_text(content, encoding="utf-8", errors="backslashreplace", newline="\n")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _unwritable(folder: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"The folder cannot be written: {error.strerror or error}.",
        where=str(folder),
        hint="name another with --out",
    )
