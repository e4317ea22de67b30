"""The folder of an evaluation: metrics.json, predictions.jsonl and run.json.

Knows files and what is to be told of a run. Knows nothing of how a score is counted.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pgsum.data.files import write_whole
from pgsum.data.sources import write_listing
from pgsum.environment import git_commit, hardware, versions
from pgsum.errors import ConfigError
from pgsum.evaluation import Evaluation
from pgsum.metrics.report import metrics_json
from pgsum.prediction_line import prediction_lines


def make_output_folder(folder: Path) -> None:
    """Makes `folder`, so that nobody waits for figures that could not be written.

    Raises ConfigError where that fails, and where it is not empty: no result is written over.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise _unwritable(folder, error) from error
    if taken:
        raise ConfigError(
            "The folder holds files already.", where=str(folder), hint="name a new one with --out"
        )


def metrics_of(evaluation: Evaluation) -> str:
    """What `metrics.json` holds: the same evaluation gives the same bytes."""
    return metrics_json(
        signature=evaluation.signature,
        n=len(evaluation.pairs),
        systems=evaluation.figures,
        averages=evaluation.averages,
    )


def write_evaluation(
    folder: Path,
    evaluation: Evaluation,
    *,
    command: Sequence[str],
    config: Mapping[str, Any],
    inputs: Mapping[str, Any],
    listings: Sequence[Path] = (),
    seconds: float,
) -> None:
    """`metrics.json`, `predictions.jsonl` and `run.json` in a new or empty folder.

    And `skipped.jsonl`, where `listings` name rows that were left out.

    The same evaluation gives the same bytes but for `run.json`, which alone tells how, where, when
    and in what time (`seconds`); `inputs` name what was read, with checksums.
    """
    make_output_folder(folder)
    run = {
        "command": list(command),
        "config": dict(config),
        "inputs": dict(inputs),
        "systems": list(evaluation.systems),
        "signature": evaluation.signature,
        "seed": evaluation.seed,
        "notes": list(evaluation.notes),
        "git_commit": git_commit(),
        "versions": versions(),
        "hardware": hardware(),
        "seconds": round(seconds, 3),
    }
    try:
        write_listing(listings, folder / "skipped.jsonl")
        write_whole(folder / "predictions.jsonl", "".join(prediction_lines(evaluation)))
        write_whole(folder / "run.json", json.dumps(run, indent=2, ensure_ascii=False) + "\n")
        # Last: where it stands, all does.
        write_whole(folder / "metrics.json", metrics_of(evaluation))
    except OSError as error:
        for path in folder.iterdir():  # so that the same folder will do when there is room
            path.unlink()
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"The folder cannot be written: {error.strerror or error}.",
        where=str(folder),
        hint="name another with --out",
    )
