"""Any system over pairs, scored: the same for models, baselines and files of predictions.

Knows texts and figures. Knows nothing of models: a system is a function from documents to
summaries. Files are `pgsum.predictions`' to read and write.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from pgsum.baselines.lead import lead
from pgsum.data.records import Pair
from pgsum.errors import ConfigError, DataError
from pgsum.metrics.bootstrap import Figure, figures
from pgsum.metrics.rouge import Rouge, Scores
from pgsum.metrics.tokens import letters_lost, tokenizer_for

System = Callable[[Sequence[str]], list[str]]
"""From documents to summaries, one for each, in order."""

_LEAD = re.compile(r"lead-([1-9][0-9]{0,3})")
_BASELINES = ("lead-1", "lead-3")


@dataclass(frozen=True)
class SystemResult:
    """What one system wrote and how it scored, example by example and over the corpus."""

    predictions: tuple[str, ...]
    scores: tuple[Scores, ...]
    figures: dict[str, Figure]


@dataclass(frozen=True)
class Evaluation:
    """Systems scored alike on the same pairs; the first is the one asked for.

    `notes` say in one sentence each what a reader of the figures should know.
    """

    pairs: tuple[Pair, ...]
    systems: dict[str, SystemResult]
    signature: str
    seed: int
    notes: tuple[str, ...]

    @property
    def figures(self) -> dict[str, dict[str, Figure]]:
        return {name: result.figures for name, result in self.systems.items()}


def named_system(name: str) -> System:
    """The baseline called `name`: lead-K, the first K sentences."""
    match = _LEAD.fullmatch(name)
    if match is None:
        raise ConfigError(
            f"There is no system {name!r}.",
            hint="use lead-K, such as lead-3: the first K sentences",
        )
    return partial(_lead_all, k=int(match[1]))


def recorded(predictions: Sequence[str]) -> System:
    """A system that has already written its summaries, for these documents in this order."""
    return lambda documents: list(predictions)


def evaluate(
    pairs: Sequence[Pair],
    systems: Mapping[str, System],
    *,
    baselines: bool = True,
    tokenizer: str | None = None,
    stemmer: str | None = None,
    trials: int = 1000,
    seed: int = 12345,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Scores of `systems`, then of lead-1 and lead-3 where all pairs have a document.

    Without `tokenizer`, the references' script decides. `progress` follows the scoring: examples
    done and their number, over all systems. DataError where pairs or summaries cannot be scored.
    """
    _check_pairs(pairs)
    references = [pair.references for pair in pairs]
    chosen = tokenizer or tokenizer_for(chain.from_iterable(references))
    rouge = Rouge(chosen, stemmer=stemmer)
    if tokenizer is None and chosen == "rouge155":
        _refuse_lost_letters(pairs)
    rows = dict(systems)
    if baselines and all(pair.document for pair in pairs):
        for name in _BASELINES:
            rows.setdefault(name, named_system(name))

    predictions = {name: _run(name, system, pairs) for name, system in rows.items()}
    scores = rouge.score_all(
        list(chain.from_iterable(predictions.values())),
        references * len(predictions),
        workers=workers,
        progress=progress,
    )
    results = {}
    for i, (name, texts) in enumerate(predictions.items()):
        own = scores[i * len(pairs) : (i + 1) * len(pairs)]
        # A fresh generator, so that a system's interval does not depend on its neighbours.
        rng = np.random.default_rng(seed)
        results[name] = SystemResult(tuple(texts), tuple(own), figures(own, trials=trials, rng=rng))

    notes = list(_notes(rouge, pairs, predictions))
    if tokenizer is None and chosen != "rouge155":
        notes.append(
            "Most letters of the references are not a-z: ROUGE compares words of the tokenizer "
            f"{chosen}; --rouge-tokenizer names another."
        )
    return Evaluation(
        pairs=tuple(pairs),
        systems=results,
        signature=rouge.signature(references, trials=trials, seed=seed),
        seed=seed,
        notes=tuple(notes),
    )


def _check_pairs(pairs: Sequence[Pair]) -> None:
    if not pairs:
        raise DataError("There is nothing to evaluate: the data hold no pair.")
    times = Counter(pair.id for pair in pairs)
    if repeated := [id_ for id_, count in times.items() if count > 1]:
        raise DataError(f"Ids must be unique; these are not: {some(repeated)}.")
    if bare := [pair.id for pair in pairs if not pair.references]:
        raise DataError(f"Nothing to score against: no reference for {some(bare)}.")


def _run(name: str, system: System, pairs: Sequence[Pair]) -> list[str]:
    texts = system([pair.document for pair in pairs])
    if len(texts) != len(pairs):
        raise DataError(f"{name} gave {len(texts)} summaries for {len(pairs)} documents.")
    if missing := [p.id for p, text in zip(pairs, texts, strict=True) if not isinstance(text, str)]:
        raise DataError(f"{name} gave no text for {some(missing)}.")
    return texts


def _lead_all(documents: Sequence[str], k: int) -> list[str]:
    return [lead(document, k) for document in documents]


def _refuse_lost_letters(pairs: Sequence[Pair]) -> None:
    if lost := [pair.id for pair in pairs if _loses(pair.references, more_than=0.5)]:
        raise DataError(
            "The ROUGE tokenizer rouge155 reads a-z and 0-9 only; it would drop more than half of "
            f"the letters in the references of {some(lost)}.",
            hint="use --rouge-tokenizer char, or rouge155 to score them so all the same",
        )


def _loses(texts: Iterable[str], *, more_than: float) -> bool:
    counts = [letters_lost(text) for text in texts]
    return sum(lost for lost, _ in counts) > more_than * sum(letters for _, letters in counts)


def _notes(
    rouge: Rouge, pairs: Sequence[Pair], predictions: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    for name, texts in predictions.items():
        if empty := sum(not text.strip() for text in texts):
            yield f"{name}: {empty} of {len(texts)} summaries are empty and score 0."
        lost = [
            pair.id
            for pair, text in zip(pairs, texts, strict=True)
            if rouge.tokenizer == "rouge155" and _loses((text, *pair.references), more_than=0.05)
        ]
        if lost:
            yield (
                f"{name}: the ROUGE tokenizer rouge155 drops more than 5% of the letters of "
                f"{len(lost)} of {len(pairs)} examples ({some(lost)}); --rouge-tokenizer unicode "
                "or char keeps them."
            )
    if empty := sum(not text.strip() for pair in pairs for text in pair.references):
        yield f"Empty references: {empty}; they score 0."


def some(ids: Sequence[str]) -> str:
    """The first five, and how many more."""
    shown = ", ".join(ids[:5])
    return f"{shown} and {len(ids) - 5} more" if len(ids) > 5 else shown
