"""How a summary was written, counted: what it copies, repeats and leaves unsaid.

Each measure of one text is a ratio, so that a corpus's figure is either the ratio of all sums (the
micro average) or the mean of all ratios (the macro average). `copying`, `fragments` and `support`
count; which measures there are, and what they are called, is decided here.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from pgsum.metrics.copying import LENGTHS, Ratio, health, novelty, repetition, words_of
from pgsum.metrics.fragments import fragments
from pgsum.metrics.support import support

Measures = Mapping[str, Ratio]
"""Of one text, by the names in `MEASURES`."""


class Average(NamedTuple):
    """Of one measure over a corpus: the ratio of sums, and the mean of ratios."""

    micro: float
    macro: float


class Measure(NamedTuple):
    """What a measure is called in a table, whether it is a share, and what summaries are said to be
    where it is a fault.
    """

    label: str
    is_share: bool = True
    problem: str | None = None


def _by_length(name: str, label: str) -> dict[str, Measure]:
    return {name.format(n): Measure(label.format(n)) for n in LENGTHS}


MEASURES = {
    "words": Measure("words", is_share=False),
    **_by_length("novel_{}grams", "novel {}-grams"),
    **_by_length("novel_{}grams_of_read", "novel {}-grams, to what was read"),
    "copied_sentences": Measure("copied sentences"),
    "coverage": Measure("coverage"),
    "density": Measure("density", is_share=False),
    "compression": Measure("compression", is_share=False),
    "copied_span": Measure("copied span, words", is_share=False),
    "longest_span": Measure("longest copied span, words", is_share=False),
    **_by_length("repeated_{}grams", "repeated {}-grams"),
    "repeated_sentences": Measure("repeated sentences"),
    "supported_numbers": Measure("numbers in the document (proxy)"),
    "supported_names": Measure("names in the document (proxy)"),
    "p_gen": Measure("p_gen, mean", is_share=False),
    "copy_mass": Measure("copy mass, mean", is_share=False),
    "coverage_loss": Measure("coverage loss of a word", is_share=False),
    "copied_words": Measure("words copied by the model"),
    "oov_words": Measure("words outside its vocabulary"),
    "reference_oovs": Measure("such words of references, copied"),
    "empty": Measure("empty", problem="empty"),
    "at_max_tokens": Measure("at decode.max_tokens", problem="cut off at decode.max_tokens"),
    "unknown_word": Measure("with a mark for unknown words", problem="with UNK"),
    "repeated_trigram": Measure("with a trigram twice", problem="with a trigram twice"),
    "repeated_summary": Measure("the same as an earlier one", problem="the same as an earlier one"),
    "truncated": Measure("of documents cut", problem="of documents longer than the model reads"),
}
"""By name, in the order of the table."""


def of_summary(text: str, document: str, *, tokenizer: str) -> dict[str, Ratio]:
    """What can be told of a summary by its text and, unless that is empty, its document."""
    state = health(text, tokenizer=tokenizer)
    return {
        **_of_text(text, document, tokenizer=tokenizer),
        "empty": flag(state.empty),
        "unknown_word": flag(state.unknown_word),
        "repeated_trigram": flag(state.repeated_trigram),
    }


def novelty_to_read(text: str, read: str, *, tokenizer: str) -> dict[str, Ratio]:
    """The summary's n-grams that stand nowhere in what of the document the model read."""
    return _lengths("novel_{}grams_of_read", novelty(text, read, tokenizer=tokenizer).ngrams)


def of_references(references: Sequence[str], document: str, *, tokenizer: str) -> dict[str, Ratio]:
    """The same of all references of one document together, but for what must not be."""
    each = [_of_text(text, document, tokenizer=tokenizer) for text in references]
    return {name: added([measures[name] for measures in each]) for name in each[0]}


def repeated(texts: Sequence[str]) -> list[Ratio]:
    """Of each of a corpus's summaries, whether an earlier one is the same; empty ones are not."""
    seen: set[str] = set()
    flags = []
    for text in map(str.strip, texts):
        flags.append(flag(text in seen and bool(text)))
        seen.add(text)
    return flags


def problems(measured: Sequence[Measures]) -> Iterator[str]:
    """What some of the summaries have and should not have: how many, and what."""
    for name, measure in MEASURES.items():
        if measure.problem and (many := sum(m[name].found > 0 for m in measured if name in m)):
            yield f"{many:,} {measure.problem}"


def averages(measured: Sequence[Measures]) -> dict[str, Average]:
    """Of each measure that any text has something to say of, in the order of `MEASURES`."""
    return {
        name: _average(ratios)
        for name in MEASURES
        if (ratios := [m[name] for m in measured if name in m and m[name].total > 0])
    }


def _average(ratios: Sequence[Ratio]) -> Average:
    micro = fsum(ratio.found for ratio in ratios) / fsum(ratio.total for ratio in ratios)
    return Average(micro, fsum(found / total for found, total in ratios) / len(ratios))


def _of_text(text: str, document: str, *, tokenizer: str) -> dict[str, Ratio]:
    said_again = repetition(text, tokenizer=tokenizer)
    alone = {
        "words": Ratio(len(words_of(text, tokenizer)), 1),
        **_lengths("repeated_{}grams", said_again.ngrams),
        "repeated_sentences": said_again.sentences,
    }
    if not document:
        return alone
    new = novelty(text, document, tokenizer=tokenizer)
    pieces = fragments(text, document, tokenizer=tokenizer)
    supported = support(text, document)
    return alone | {
        **_lengths("novel_{}grams", new.ngrams),
        "copied_sentences": new.copied_sentences,
        "coverage": pieces.coverage,
        "density": pieces.density,
        "compression": pieces.compression,
        "copied_span": pieces.mean_length,
        "longest_span": Ratio(pieces.longest, 1),
        "supported_numbers": supported.numbers,
        "supported_names": supported.names,
    }


def _lengths(name: str, ratios: Sequence[Ratio]) -> dict[str, Ratio]:
    return {name.format(n): ratio for n, ratio in zip(LENGTHS, ratios, strict=True)}


def added(ratios: Sequence[Ratio]) -> Ratio:
    """One of several: what was found in all of them, out of all there was."""
    return Ratio(sum(ratio.found for ratio in ratios), sum(ratio.total for ratio in ratios))


def flag(value: bool) -> Ratio:
    """Of one summary, whether it is so."""
    return Ratio(int(value), 1)
