"""A corpus that a tiny model learns something from in a few steps, and settings for that."""

import json
from pathlib import Path

NAMES = ["Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Alan", "Radia"]
THINGS = ["tea", "bread", "a lamp", "two pens", "old maps", "a clock"]
TINY = [
    "data=files",
    "model.embedding_size=8",
    "model.hidden_size=12",
    "text.min_count=1",
    "decode.beam_size=2",
    "decode.max_tokens=12",
    "trainer.batch_size=8",
    "trainer.validation_pairs=4",
    "trainer.threads=1",
    "trainer.log_every=2",
    "optim.warmup_steps=2",
]


def write_corpus(folder: Path) -> Path:
    """train, validation and test as JSON Lines; names of the test occur in training, too."""
    folder.mkdir()
    for split, names in (("train", NAMES), ("validation", NAMES[:2]), ("test", NAMES[2:4])):
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for i, (name, thing) in enumerate((n, t) for n in names for t in THINGS):
                pair = {
                    "id": f"{split}-{i}",
                    "document": f"{name} went to town. There {name} bought {thing}, and came home.",
                    "summary": f"{name} bought {thing}.",
                }
                file.write(json.dumps(pair) + "\n")
    return folder
