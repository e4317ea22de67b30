"""Examples of a model's summaries: some of the best, of the middling and of the worst, by lot."""

import json
import random
import textwrap
from pathlib import Path
from typing import Any

from pgsum.errors import ConfigError, DataError
from pgsum.prediction_line import PredictionLine, read_line

SEED = 12345
RANKED_BY = ("rouge1", "rouge2", "rougeL")
SHOWN_CHARS = 500  # of a document


def draw_examples(predictions: Path, count: int) -> dict[str, list[dict[str, Any]]]:
    """`count` each by lot from the best, the middle and the worst tenth by R-1 + R-2 + R-L.

    Raises DataError where `predictions` cannot be read or has no documents, ConfigError where it
    has too few examples.
    """
    lines = _read(predictions)
    if len(lines) < 3 * count:
        raise ConfigError(f"There are {len(lines)} examples, too few for {count} of each kind.")
    best_first = sorted(lines, key=lambda line: (-_score(line), line.id))
    tenth = max(count, len(lines) // 10)
    middle = (len(lines) - tenth) // 2
    rng = random.Random(SEED)
    parts = {
        "good": best_first[:tenth],
        "middling": best_first[middle : middle + tenth],
        "bad": best_first[-tenth:],
    }
    return {
        kind: [_shown(part[i]) for i in sorted(rng.sample(range(tenth), count))]
        for kind, part in parts.items()
    }


def _read(predictions: Path) -> list[PredictionLine]:
    hint = "evaluate again with --out, and without --no-baselines"
    try:
        rows = predictions.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as error:
        raise DataError(
            f"The file cannot be read: {error.strerror}.", where=str(predictions), hint=hint
        ) from error
    lines = [
        read_line(json.loads(row), where=f"{predictions}:{number}", hint=hint)
        for number, row in enumerate(rows, start=1)
    ]
    if not all("document" in line.baselines for line in lines):
        raise DataError("The file has no documents.", where=str(predictions), hint=hint)
    return lines


def _score(line: PredictionLine) -> float:
    return sum(line.scores[metric] for metric in RANKED_BY)


def _shown(line: PredictionLine) -> dict[str, Any]:
    document = line.baselines["document"]
    return {
        "id": line.id,
        "rouge": [round(line.scores[metric], 2) for metric in RANKED_BY],
        "document": textwrap.shorten(document, SHOWN_CHARS, placeholder=" [...]"),
        "references": list(line.references),
        "summary": line.prediction,
    }
