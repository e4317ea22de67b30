"""Ten times as many pairs take hardly more memory: texts are read, used and let go."""

import json
import sys
from pathlib import Path
from random import Random

import pytest
from reference.command_line import save_tiny_model
from reference.memory import peak_memory
from reference.small_corpus import TINY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process holds"),
]

FEW, MANY = 3_000, 12_000
WORD_CHARS, WORDS = 200, 20
"""Few words, and long ones: much text to hold, and little to do."""
TEXT_BYTES = WORD_CHARS * WORDS
ROOM = TEXT_BYTES / 4
"""Bytes a pair: where all texts were held at once, it would be four times that or more."""

SETTINGS = ["text.vocab_size=100", "trainer.accelerator=cpu", *TINY]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """A file of so many pairs, for each number."""
    folder = tmp_path_factory.mktemp("corpora")
    return {pairs: write_pairs(folder / f"{pairs}.jsonl", pairs) for pairs in (FEW, MANY)}


def write_pairs(path: Path, pairs: int) -> Path:
    random = Random(4)
    words = ["".join(random.choices("abcdefgh", k=WORD_CHARS)) for _ in range(300)]
    with path.open("w", encoding="utf-8") as file:
        for number in range(pairs):
            chosen = random.choices(words, k=WORDS)
            row = {"id": f"pair {number}", "document": " ".join(chosen), "summary": chosen[0][:9]}
            file.write(json.dumps(row) + "\n")
    return path


def bytes_a_pair(corpora: dict[int, Path], *arguments: str | Path) -> float:
    """How much more memory a command takes with each pair more."""
    peaks = [
        peak_memory([sys.executable, "-m", "pgsum", arguments[0], corpora[pairs], *arguments[1:]])
        for pairs in (FEW, MANY)
    ]
    return (peaks[1] - peaks[0]) / (MANY - FEW)


def test_training_starts_without_holding_the_texts(corpora, tmp_path):
    settings = [*SETTINGS, "trainer.max_steps=2", f"--out={tmp_path / 'run'}", "--overwrite"]
    assert bytes_a_pair(corpora, "train", *settings) < ROOM


def test_a_check_does_not_hold_the_texts(corpora):
    assert bytes_a_pair(corpora, "check", "--no-timing", *SETTINGS, "text.min_count=2") < ROOM


def test_summarizing_does_not_hold_the_texts(corpora, tmp_path):
    model = save_tiny_model(tmp_path / "model")
    flags = ["--beam-size=1", "--max-tokens=2", "--batch-size=64", "--threads=1", "--device=cpu"]
    assert bytes_a_pair(corpora, "summarize", "--jsonl", f"--model={model}", *flags) < ROOM
