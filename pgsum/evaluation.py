"""Any system over pairs, scored: the same for models, baselines and files of predictions.

Knows texts and figures. Knows nothing of models, and of files only that others read and write them.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from pgsum.data.records import Pair
from pgsum.errors import DataError
from pgsum.metrics.bootstrap import Figure, figures
from pgsum.metrics.copying import Ratio
from pgsum.metrics.measures import (
    Average,
    Measures,
    averages,
    flag,
    novelty_to_read,
    of_references,
    of_summary,
    problems,
    repeated,
)
from pgsum.metrics.rouge import Rouge, Scores
from pgsum.metrics.tokens import letters_lost, loses_most, tokenizer_for
from pgsum.parallel import map_in_processes
from pgsum.systems import BASELINES, Baseline, System, Trace, Writer, Written

_CHUNK = 64
# Below so many characters to be read, starting a second process takes longer than it saves.
_CHARS_PER_WORKER = 2_000_000


class Measured(NamedTuple):
    """What was counted of one example: of the summary, and of its references together.

    Words are those of ROUGE's `tokenizer`. `source_sha256` tells which document it was, where there
    was one.
    """

    summary: Measures
    references: Measures
    tokenizer: str
    source_sha256: str | None


@dataclass(frozen=True)
class SystemResult:
    """What one system wrote and how it scored, example by example and over the corpus.

    `by_reference` has, for each example, the scores against each of its references.
    """

    predictions: tuple[str, ...]
    scores: tuple[Scores, ...]
    by_reference: tuple[tuple[Scores, ...], ...]
    figures: dict[str, Figure]


@dataclass(frozen=True)
class Evaluation:
    """Systems scored alike on the same pairs; the first is the one asked for.

    `averages` says how its `summaries` and the `references` were written; `measured` and `traces`
    do so of each example. `notes` say in one sentence each what a reader of the figures
    should know.
    """

    pairs: tuple[Pair, ...]
    systems: dict[str, SystemResult]
    measured: tuple[Measured, ...]
    averages: dict[str, dict[str, Average]]
    traces: tuple[Trace | None, ...]
    signature: str
    seed: int
    notes: tuple[str, ...]

    @property
    def system(self) -> str:
        """The one asked for."""
        return next(iter(self.systems))

    @property
    def measures(self) -> tuple[dict[str, dict[str, Average]], dict[str, Average]]:
        """How the system asked for wrote, under its name, and how the references did."""
        return {self.system: self.averages["summaries"]}, self.averages["references"]

    @property
    def figures(self) -> dict[str, dict[str, Figure]]:
        return {name: result.figures for name, result in self.systems.items()}


def evaluate(
    pairs: Sequence[Pair],
    systems: Mapping[str, System],
    *,
    baselines: bool = True,
    tokenizer: str | None = None,
    stemmer: str | None = None,
    multi: str = "max",
    measured: Sequence[Measured | None] | None = None,
    trials: int = 1000,
    seed: int = 12345,
    workers: int | None = None,
    where: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Scores of `systems`, then of `BASELINES` where all pairs have a document.

    Without `tokenizer`, the references' script decides. `measured` is what is known of the first
    system's summaries already, from when there was a document. `where` is what errors call the
    source of `pairs`. `progress` follows the scoring: examples done and their number. DataError
    where pairs or summaries cannot be scored.
    """
    _check_pairs(pairs, where)
    references = [pair.references for pair in pairs]
    chosen = tokenizer or tokenizer_for(chain.from_iterable(references))
    rouge = Rouge(chosen, stemmer=stemmer, multi=multi)
    if tokenizer is None and chosen == "rouge155":
        _refuse_lost_letters(pairs, where)
    everyone = dict(systems)
    if baselines and all(pair.document for pair in pairs):
        for name in BASELINES:
            everyone.setdefault(name, Baseline(name))

    written = {
        name: _run(name, system, pairs)
        for name, system in everyone.items()
        if not isinstance(system, Baseline)
    }
    by_name = {name: each for name, each in everyone.items() if isinstance(each, Baseline)}
    examine = _Examiner(rouge, tuple(everyone), by_name, seed)
    rows = [
        _Row(
            pair,
            {name: texts[i] for name, texts in written.items()},
            measured[i] if measured else None,
        )
        for i, pair in enumerate(pairs)
    ]
    examined = map_in_processes(
        examine,
        rows,
        chunk=_CHUNK,
        at_most=sum(map(_cost, rows)) // _CHARS_PER_WORKER,
        workers=workers,
        progress=progress,
    )
    results = {name: _result(name, examined, trials, seed) for name in everyone}
    first = next(iter(everyone))
    predictions = results[first].predictions
    found = [
        each.measured._replace(summary={**each.measured.summary, "repeated_summary": again})
        for each, again in zip(examined, repeated(predictions), strict=True)
    ]
    return Evaluation(
        pairs=tuple(pairs),
        systems=results,
        measured=tuple(found),
        averages={
            "summaries": averages([each.summary for each in found]),
            "references": averages([each.references for each in found]),
        },
        traces=tuple(each.trace for each in written.get(first, [Written("")] * len(pairs))),
        signature=rouge.signature(references, trials=trials, seed=seed),
        seed=seed,
        notes=(
            *_notes(rouge, pairs, first, predictions, by_script=tokenizer is None),
            *_health(first, [each.summary for each in found]),
            *_left_aside(measured or (), rouge.tokenizer),
        ),
    )


def _left_aside(measured: Iterable[Measured | None], tokenizer: str) -> Iterator[str]:
    others = sorted({each.tokenizer for each in measured if each} - {tokenizer})
    if others:
        yield (
            "What was measured against the documents is left out: it counts words of the ROUGE "
            f"tokenizer {', '.join(others)}, and this run those of {tokenizer}."
        )


class _Row(NamedTuple):
    """An example with what its systems wrote; baselines are still to write."""

    pair: Pair
    written: Mapping[str, Written]
    measured: Measured | None


class _Examined(NamedTuple):
    """What became of an example, by system."""

    texts: dict[str, str]
    by_reference: dict[str, tuple[Scores, ...]]
    scores: dict[str, Scores]
    measured: Measured


@dataclass(frozen=True)
class _Examiner:
    """All that is done with one example, in whichever process."""

    rouge: Rouge
    systems: tuple[str, ...]
    baselines: Mapping[str, Baseline]
    seed: int

    def __call__(self, rows: Sequence[_Row]) -> list[_Examined]:
        return [self._examine(row) for row in rows]

    def _examine(self, row: _Row) -> _Examined:
        texts = {
            name: row.written[name].text
            if name in row.written
            else self.baselines[name](row.pair, seed=self.seed)
            for name in self.systems
        }
        by_reference = {
            name: tuple(self.rouge.score_references(text, row.pair.references))
            for name, text in texts.items()
        }
        scores = {name: self.rouge.combine(each) for name, each in by_reference.items()}
        first = self.systems[0]
        trace = row.written[first].trace if first in row.written else None
        return _Examined(texts, by_reference, scores, self._measure(row, texts[first], trace))

    def _measure(self, row: _Row, text: str, trace: Trace | None) -> Measured:
        pair, tokenizer = row.pair, self.rouge.tokenizer
        summary = of_summary(text, pair.document, tokenizer=tokenizer)
        references = of_references(pair.references, pair.document, tokenizer=tokenizer)
        if trace is not None:
            summary |= _of_trace(trace)
            if pair.document:
                read = pair.document[: trace.read_chars] if trace.truncated else pair.document
                summary |= novelty_to_read(text, read, tokenizer=tokenizer)
        source = document_digest(pair.document)
        # What needs a document comes from when there was one.
        if row.measured is not None:
            source = source or row.measured.source_sha256
            if row.measured.tokenizer == tokenizer:
                summary = {**row.measured.summary, **summary}
                references = {**row.measured.references, **references}
        return Measured(summary, references, tokenizer, source)


def _of_trace(trace: Trace) -> dict[str, Ratio]:
    told = {
        "copied_words": Ratio(trace.copied, trace.words),
        "oov_words": Ratio(trace.oovs, trace.words),
        "reference_oovs": trace.reference_oovs,
        "p_gen": Ratio(trace.p_gen * trace.words, trace.words),
        "copy_mass": Ratio(trace.copy_mass * trace.words, trace.words),
        "at_max_tokens": flag(trace.stop == "max_tokens"),
        "truncated": flag(trace.truncated),
    }
    if trace.coverage_loss is not None:
        told["coverage_loss"] = Ratio(trace.coverage_loss * trace.words, trace.words)
    return told


def _cost(row: _Row) -> int:
    """Characters to be read, about."""
    systems = len(row.written) + bool(row.pair.document) * len(BASELINES)
    texts = chain(row.pair.references, (written.text for written in row.written.values()))
    return sum(map(len, texts)) + systems * len(row.pair.document)


def _result(name: str, examined: Sequence[_Examined], trials: int, seed: int) -> SystemResult:
    scores = tuple(each.scores[name] for each in examined)
    # A fresh generator, so that a system's interval does not depend on its neighbours.
    rng = np.random.default_rng(seed)
    return SystemResult(
        predictions=tuple(each.texts[name] for each in examined),
        scores=scores,
        by_reference=tuple(each.by_reference[name] for each in examined),
        figures=figures(scores, trials=trials, rng=rng),
    )


def _check_pairs(pairs: Sequence[Pair], where: str | None) -> None:
    if not pairs:
        raise DataError("There is nothing to evaluate: the data hold no pair.", where=where)
    times = Counter(pair.id for pair in pairs)
    if repeated := [id_ for id_, count in times.items() if count > 1]:
        raise DataError(
            f"Ids must be unique; these are not: {some(repeated)}.",
            where=where,
            hint="give each row an id of its own, or remove the column",
        )
    if bare := [pair.id for pair in pairs if not pair.references]:
        raise DataError(f"Nothing to score against: no reference for {some(bare)}.", where=where)


def _run(name: str, system: Writer, pairs: Sequence[Pair]) -> Sequence[Written]:
    written = system([pair.document for pair in pairs])
    if len(written) != len(pairs):
        raise DataError(f"{name} gave {len(written)} summaries for {len(pairs)} documents.")
    return written


def _refuse_lost_letters(pairs: Sequence[Pair], where: str | None) -> None:
    if lost := [pair.id for pair in pairs if loses_most(pair.references)]:
        raise DataError(
            "The ROUGE tokenizer rouge155 reads a-z and 0-9 only; it would drop more than half of "
            f"the letters or words in the references of {some(lost)}.",
            where=where,
            hint="use --rouge-tokenizer char, or rouge155 to score them so all the same",
        )


def _loses_some(texts: Iterable[str]) -> bool:
    counts = [letters_lost(text) for text in texts]
    return sum(lost for lost, _ in counts) > 0.05 * sum(letters for _, letters in counts)


def _notes(
    rouge: Rouge, pairs: Sequence[Pair], name: str, texts: Sequence[str], *, by_script: bool
) -> Iterator[str]:
    """Of the system asked for: what a baseline lacks is no fault of anyone's."""
    lost = [
        pair.id
        for pair, text in zip(pairs, texts, strict=True)
        if rouge.tokenizer == "rouge155" and _loses_some((text, *pair.references))
    ]
    if lost:
        yield (
            f"{name}: the ROUGE tokenizer rouge155 drops more than 5% of the letters of "
            f"{len(lost)} of {len(pairs)} examples ({some(lost)}); --rouge-tokenizer unicode "
            "or char keeps them."
        )
    yield from _empty_references(rouge, [pair.references for pair in pairs])
    if by_script and rouge.tokenizer != "rouge155":
        yield (
            "Most letters or words of the references are not a-z: ROUGE compares words of the "
            f"tokenizer {rouge.tokenizer}; --rouge-tokenizer names another."
        )


def _empty_references(rouge: Rouge, references: Sequence[Sequence[str]]) -> Iterator[str]:
    empty = [[not text.strip() for text in several] for several in references]
    if without := sum(map(all, empty)):
        yield (
            f"The references of {without:,} of {len(references):,} examples are empty: whatever "
            "is written there scores 0."
        )
    if beside := sum(sum(each) for each in empty if not all(each)):
        effect = "they change no score" if rouge.multi == "max" else "each counts as a score of 0"
        yield f"Empty references beside others: {beside:,}; {effect}."


def _health(name: str, measured: Sequence[Measures]) -> Iterator[str]:
    if found := list(problems(measured)):
        yield f"{name}, of {len(measured):,} summaries: {'; '.join(found)}."


def document_digest(document: str) -> str | None:
    """The SHA-256 of a document, by which it is known again; None of an empty one."""
    # JSON can hold half a surrogate pair.
    text = document.encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest() if text else None


def some(ids: Sequence[str]) -> str:
    """The first five, and how many more."""
    shown = ", ".join(ids[:5])
    return f"{shown} and {len(ids) - 5} more" if len(ids) > 5 else shown
