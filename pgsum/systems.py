"""Anything that makes summaries of documents: models, baselines, files of what was written.

Knows what a system is and which baselines there are by name. Knows nothing of scores.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pgsum.baselines.first_k import first_k
from pgsum.baselines.lead import lead
from pgsum.baselines.oracle import oracle
from pgsum.baselines.random_k import random_k
from pgsum.baselines.textrank import textrank
from pgsum.data.records import Pair
from pgsum.errors import ConfigError
from pgsum.metrics.copying import Ratio

_SENTENCES = 3
_COUNTED = re.compile(r"(lead|first|random)-([1-9][0-9]{0,3})")
_PLAIN = ("textrank", "oracle", "document")

BASELINES = ("lead-1", "lead-3", "random-3", "textrank", "oracle", "document")
"""Those that stand below the system asked for."""


class Trace(NamedTuple):
    """What a model tells of a summary, beside its text.

    Of its own words: how many there are, how many of them it copied, how many of those lie outside
    its vocabulary; and means over them: `p_gen`, the probability of generating; `copy_mass`, the
    part of the word's probability that came from pointing; `coverage_loss`, None without attention.
    `reference_oovs` are words of the references outside the vocabulary, and how many of them stand
    in the summary.
    `read_chars` is how much of the document it read; `stop` and `score` are the search's.
    """

    score: float
    stop: str
    truncated: bool
    unread_tokens: int
    read_chars: int
    words: int
    copied: int
    oovs: int
    p_gen: float
    copy_mass: float
    coverage_loss: float | None
    reference_oovs: Ratio

    @classmethod
    def of(cls, fields: Sequence[Any]) -> "Trace":
        """From all fields in order, as JSON gives them back."""
        trace = cls(*fields)
        return trace._replace(reference_oovs=Ratio(*trace.reference_oovs))


class Written(NamedTuple):
    """A summary and, where a model wrote it, what it tells of it."""

    text: str
    trace: Trace | None = None


Writer = Callable[[Sequence[str]], Sequence[Written]]
"""From documents to summaries, one for each, in order."""


@dataclass(frozen=True)
class Baseline:
    """A system without parameters, by its name; it can be sent to another process.

    `lead-K` and `random-K` take K sentences, `first-K` K words, `textrank` and `oracle` three
    sentences, `document` all. Raises ConfigError for any other name.
    """

    name: str

    def __post_init__(self) -> None:
        if not _is_baseline(self.name):
            raise ConfigError(
                f"There is no system {self.name!r}.",
                hint="use lead-K, first-K, random-K, such as lead-3, textrank, oracle or document",
            )

    def __call__(self, pair: Pair, *, seed: int) -> str:
        """Its summary; only `oracle` looks at the references, and only `random-K` at the seed."""
        if self.name == "document":
            return pair.document
        if self.name == "textrank":
            return textrank(pair.document, k=_SENTENCES)
        if self.name == "oracle":
            return oracle(pair.document, pair.references, k=_SENTENCES)
        kind, _, k = self.name.partition("-")
        if kind == "lead":
            return lead(pair.document, int(k))
        if kind == "first":
            return first_k(pair.document, int(k))
        return random_k(pair.document, int(k), seed=seed)


System = Writer | Baseline


def own_name(name: str, kind: str) -> str:
    """What a system of this `kind` is called: `name`, unless that is a baseline's.

    In one table a model `lead-3` would stand in the baseline's place.
    """
    return f"{name} ({kind})" if _is_baseline(name) else name


def _is_baseline(name: str) -> bool:
    return name in _PLAIN or _COUNTED.fullmatch(name) is not None


def recorded(texts: Sequence[str | Written]) -> Writer:
    """A system that has already written its summaries, for these documents in this order."""
    written = [text if isinstance(text, Written) else Written(text) for text in texts]
    return lambda documents: written
