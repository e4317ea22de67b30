"""Files of predictions, read and matched with pairs: anyone's, or those that pgsum wrote.

Knows files and columns. Knows nothing of how a score is counted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pgsum.data.columns import NamedColumns
from pgsum.data.files import OptionNames
from pgsum.data.records import Pair, Reading, Record, Tally, only_pairs, to_records
from pgsum.data.row_files import read_rows
from pgsum.data.rows import Row
from pgsum.errors import DataError
from pgsum.evaluation import Measured, document_digest, some
from pgsum.prediction_line import PredictionLine, read_line
from pgsum.systems import Written, own_name

_PREDICTION, _REFERENCES = "prediction", "references"
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
    first row's `system` says, else what the prediction's column is called; where a baseline has
    that name, `(predictions)` follows.
    """
    column = prediction_column or _PREDICTION
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
    may_be_ours = column == _PREDICTION and reference_column in (None, _REFERENCES)
    known = [
        _known(row) if may_be_ours and isinstance(row, Row) else None
        for row, record in zip(rows, records, strict=True)
        if isinstance(record, Record)
    ]
    name = system if isinstance(system, str) and column == _PREDICTION else column
    return Predictions(
        # What pgsum wrote as a baseline's is that.
        name=name if known[0] else own_name(name, "predictions"),
        pairs=tuple(Pair(pair.id, "", pair.references) for pair in read),
        written=tuple(
            Written(pair.document, line.trace if line else None)
            for pair, line in zip(read, known, strict=True)
        ),
        measured=tuple(line.measured if line else None for line in known),
        baselines=_baselines(known),
        notes=tuple(tally.notes()),
        skipped=tally.bad,
    )


def _known(row: Row) -> PredictionLine | None:
    """What a line of ours tells beside the texts."""
    if "texts_sha256" not in row.values:
        return None
    return read_line(
        row.values,
        where=row.where,
        hint="evaluate again with --out, or remove the column texts_sha256: then what was measured "
        "is left aside",
    )


def _baselines(known: Sequence[PredictionLine | None]) -> dict[str, tuple[str, ...]]:
    """What each baseline wrote that all lines know."""
    lines = [line.baselines for line in known if line]
    if len(lines) < len(known):
        return {}
    names = [name for name in lines[0] if all(name in line for line in lines)]
    return {name: tuple(line[name] for line in lines) for name in names}


def match_predictions(predictions: Predictions, pairs: Sequence[Pair]) -> list[int]:
    """Which prediction is that of each of `pairs`, by id; in order where the file has no ids.

    Raises DataError, with the first five, where ids are repeated, missing or of no pair, or where
    the documents are known to be others.
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
    if not any(faults.values()):
        measured = [predictions.measured[by_id[pair.id]] for pair in pairs]
        faults = {
            "other documents for": [
                pair.id
                for pair, known in zip(pairs, measured, strict=True)
                if known and known.source_sha256 not in (None, document_digest(pair.document))
            ]
        }
    if any(faults.values()):
        found = "; ".join(f"{fault} {some(names)}" for fault, names in faults.items() if names)
        raise DataError(
            f"The predictions of {predictions.name} do not belong to these pairs: {found}.",
            hint="evaluate on the split that was summarized",
        )
    return [by_id[pair.id] for pair in pairs]
