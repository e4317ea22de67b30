"""Dates as people write them to ISO 8601: learned, and with attention where a person would look.

The task of docs/dates.md, smaller: four forms of a date, where the page has fourteen.
"""

import json
from pathlib import Path

import pytest

from data_scripts.dates import draw_pairs
from pgsum.config import load_config
from pgsum.summarizer import Summarizer
from pgsum.training.run import train

SETTINGS = [
    "experiment=dates",
    "data.workers=1",
    "model.embedding_size=64",
    "trainer.batch_size=64",
    "trainer.max_steps=1000",
    "trainer.validate_every=1000",
    "trainer.validation_pairs=20",
    "trainer.precision=float32",
    "optim.lr=0.007",
    "optim.warmup_steps=50",
]


FORMS = (
    "{weekday}, {month} {day}, {year}",
    "{month} {day}, {year}",
    "{day} {month} {year}",
    "{year} {month} {day}",
)


def splits() -> dict[str, list[dict[str, str]]]:
    return draw_pairs(3, {"train": 6000, "validation": 30, "test": 300}, forms=FORMS)


def test_no_date_is_in_two_splits_and_each_is_drawn_alike():
    dates = [pair["summary"] for pairs in splits().values() for pair in pairs]
    assert len(set(dates)) == len(dates)
    assert splits() == splits()


@pytest.mark.slow
def test_dates_that_were_held_out_come_right_and_the_year_is_looked_at(tmp_path: Path):
    pairs = splits()
    for split in ("train", "validation"):
        lines = "".join(json.dumps(pair) + "\n" for pair in pairs[split])
        (tmp_path / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    config = load_config([*SETTINGS, f"data.root={tmp_path}"])
    result = train(config, out=tmp_path / "run", say=lambda line: None)
    summarizer = Summarizer.load(result.run_dir)
    found = [
        best for best, *_ in summarizer.summarize([pair["document"] for pair in pairs["test"]])
    ]
    right = [
        summary.text == pair["summary"] for summary, pair in zip(found, pairs["test"], strict=True)
    ]
    assert sum(right) > 0.9 * len(right)
    looked = [
        summary.source_tokens[summary.attention[0].argmax()] == pair["summary"][:4]
        for summary, pair in zip(found, pairs["test"], strict=True)
    ]
    assert sum(looked) > 0.95 * len(looked)
