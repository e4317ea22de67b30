"""Copying at its purest: what is to be said was never seen in training.

A source is small talk in which one to three new names follow the word `named`; the summary is those
names. With a pointer that is learned in seconds; without one there is no way to say them.
"""

import json
import random
import string
from pathlib import Path

import pytest

from pgsum.config import load_config
from pgsum.summarizer import Summarizer
from pgsum.training.run import train

SMALL_TALK = ["the", "a", "of", "to", "and", "it", "was", "on", "for", "by", "with", "from"]
SETTINGS = [
    "data=files",
    "data.workers=1",
    "text.min_count=3",  # a name is met twice: no name is in the vocabulary
    "model.embedding_size=24",
    "model.hidden_size=48",
    "model.dropout=0",
    "optim.lr=0.01",
    "optim.warmup_steps=20",
    "trainer.max_steps=300",
    "trainer.validate_every=300",
    "trainer.validation_pairs=10",
    "trainer.threads=1",
    "decode.max_tokens=6",
]


def draw_pairs(seed: int, count: int) -> list[dict[str, str]]:
    rng = random.Random(seed)

    def new_words(least: int, most: int) -> list[str]:
        return [
            "".join(rng.choices(string.ascii_lowercase, k=7))
            for _ in range(rng.randint(least, most))
        ]

    pairs = []
    for _ in range(count):
        names, others = new_words(1, 3), new_words(2, 4)
        around = [*others, *rng.choices(SMALL_TALK, k=rng.randint(2, 5))]
        rng.shuffle(around)
        place = rng.randint(0, len(around))
        words = [*around[:place], "named", *names, "here", *around[place:]]
        pairs.append({"document": " ".join(words), "summary": " ".join(names)})
    return pairs


def exact_matches(folder: Path, *settings: str) -> float:
    """Of 200 pairs of names that no training pair holds."""
    corpus = folder / "corpus"
    corpus.mkdir()
    splits = {"train": draw_pairs(1, 2000), "validation": draw_pairs(2, 20)}
    for split, pairs in splits.items():
        lines = "".join(json.dumps(pair) + "\n" for pair in pairs)
        (corpus / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    config = load_config([*SETTINGS, f"data.root={corpus}", *settings])
    result = train(config, out=folder / "run", say=lambda line: None)
    unseen = draw_pairs(3, 200)
    met = {word for pair in splits["train"] for word in pair["document"].split()}
    assert not any(met & set(pair["summary"].split()) for pair in unseen)
    summarizer = Summarizer.load(result.run_dir)
    found = summarizer.summarize([pair["document"] for pair in unseen])
    return sum(
        best[0].text == pair["summary"] for best, pair in zip(found, unseen, strict=True)
    ) / len(unseen)


@pytest.mark.slow
def test_words_never_seen_in_training_are_copied_with_a_pointer(tmp_path):
    assert exact_matches(tmp_path) > 0.95


@pytest.mark.slow
def test_words_never_seen_in_training_cannot_be_said_without_a_pointer(tmp_path):
    assert exact_matches(tmp_path, "model.pointer=false") < 0.05
