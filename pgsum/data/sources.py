"""A corpus by its settings: the built-in one or your own files, as Hugging Face datasets.

Knows which files make up a corpus and what its splits are. Knows no file formats and no tokens.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgsum.config import DataConfig
from pgsum.data import cache, docstrings
from pgsum.data.records import Pair
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from datasets import Dataset

SPLITS = ("train", "validation", "test")
_FORMAT = "1"  # raise it whenever the same files should be read differently


@dataclass(frozen=True)
class Corpus:
    """Pairs to train on, to choose the best model by and, perhaps, to report on.

    Each dataset has the columns id (string), document (string) and references (list of strings).
    `fingerprint` changes with the content; `notes` say in one sentence each what was left out.
    """

    name: str
    train: "Dataset"
    validation: "Dataset"
    test: "Dataset | None"
    fingerprint: str
    notes: tuple[str, ...]


def open_corpus(config: DataConfig) -> Corpus:
    """All splits of the corpus that `config` names; read once, then mapped from the cache."""
    if config.name != "docstrings":
        raise ConfigError(f"data.name is {config.name!r}; it is docstrings or files.")
    entry = _docstrings(config)
    train = entry.dataset("train")
    if config.max_pairs is not None and config.max_pairs < len(train):
        train = train.select(range(config.max_pairs))
    return Corpus(
        name="docstrings",
        train=train,
        validation=entry.dataset("validation"),
        test=entry.dataset("test"),
        fingerprint=entry.fingerprint,
        notes=entry.notes,
    )


def open_split(config: DataConfig, split: str) -> "Dataset":
    """One split of the corpus that `config` names."""
    return _docstrings(config).dataset(split)


def _docstrings(config: DataConfig) -> cache.Entry:
    files = docstrings.find_source_files()

    def read() -> Iterator[tuple[str, Pair]]:
        for split, pairs in docstrings.harvest(files, workers=config.workers).items():
            for pair in pairs:
                yield split, pair

    key = hashlib.sha256(f"{_FORMAT} {docstrings.fingerprint(files)}".encode()).hexdigest()
    return cache.cached(key, SPLITS, read)
