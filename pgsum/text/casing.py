"""How words are written inside a sentence and at its start, learned from raw text."""

from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import Enum

import regex

from pgsum.text.sentences import ABBREVIATIONS

_HAS_LETTER = regex.compile(r"[\p{L}\p{N}]")
_SENTENCE_END = regex.compile(r"\.|[!?]+|[。！？｡।؟۔]+")
_INSIDE_MARK = regex.compile(r"[,;&%/+=$£€¥)\]}，、；\p{Pd}]+")
_IDENTIFIER = regex.compile(r"[\p{N}_.]|(?<=.)\p{Lu}")

_CLEARLY = 0.9
_MIN_CLEARLY = 3


class Place(Enum):
    """Where in its sentence a word stands."""

    START = "start"
    INSIDE = "inside"
    UNSURE = "unsure"
    """After a colon, an ellipsis, an opening quote: some sentences start there."""


def places(forms: Sequence[str], line_starts: Sequence[bool] | None = None) -> list[Place]:
    """Where each form of a text stands; `line_starts` says which are the first of a line."""
    found: list[Place] = []
    place = Place.START
    for i, form in enumerate(forms):
        if line_starts is not None and line_starts[i]:
            place = Place.START
        found.append(place)
        if _HAS_LETTER.search(form):
            place = Place.INSIDE
        elif _SENTENCE_END.fullmatch(form):
            abbreviated = form == "." and i > 0 and forms[i - 1].lower() in ABBREVIATIONS
            place = Place.INSIDE if abbreviated else Place.START
        elif place is not Place.START:
            place = Place.INSIDE if _INSIDE_MARK.fullmatch(form) else Place.UNSURE
    return found


def capitalise(word: str) -> str:
    """With a capital first letter; identifiers (with a dot, a digit, an inner capital) stay."""
    capital = word[:1].upper()
    return word if len(capital) != 1 or _IDENTIFIER.search(word) else capital + word[1:]


@dataclass(frozen=True)
class Casing:
    """What was learned of the words of a vocabulary."""

    usual: dict[str, str]
    """Inside a sentence, where it is not the form itself."""
    lower: frozenset[str]
    """Forms that are clearly lower case inside a sentence."""
    capital_start: bool
    """Whether summaries start their sentences with a capital."""


class CasingCounts:
    """How often each form was written how, inside sentences and elsewhere."""

    def __init__(self) -> None:
        self._inside: Counter[tuple[str, str]] = Counter()
        self._elsewhere: Counter[tuple[str, str]] = Counter()
        self._starts: Counter[tuple[str, bool]] = Counter()

    def add(
        self,
        forms: Sequence[str],
        words: Sequence[str],
        places: Sequence[Place],
        *,
        is_summary: bool,
    ) -> None:
        """One text: its lookup forms, the same as they were written, and where each stands."""
        for form, word, place in zip(forms, words, places, strict=True):
            if not _HAS_LETTER.search(form):
                continue
            counts = self._inside if place is Place.INSIDE else self._elsewhere
            counts[form, word] += 1
            if is_summary and place is Place.START:
                self._starts[form, word[:1].isupper()] += 1

    def update(self, other: "CasingCounts") -> None:
        self._inside.update(other._inside)
        self._elsewhere.update(other._elsewhere)
        self._starts.update(other._starts)

    def learned(self, vocab: Container[str]) -> Casing:
        inside, elsewhere = _by_form(self._inside, vocab), _by_form(self._elsewhere, vocab)
        usual = {
            form: max(words, key=lambda word: (words[word], word))
            for form, words in sorted((elsewhere | inside).items())
        }
        lower = frozenset(
            form
            for form, words in inside.items()
            if usual[form] == form
            and words[form] >= max(_MIN_CLEARLY, _CLEARLY * sum(words.values()))
        )
        starts = Counter[bool]()
        for (form, capital), count in self._starts.items():
            if form in lower and capitalise(form) != form:
                starts[capital] += count
        return Casing(
            usual={form: word for form, word in usual.items() if word != form},
            lower=lower,
            capital_start=starts[True] > starts[False],
        )


def _by_form(counts: Counter[tuple[str, str]], vocab: Container[str]) -> dict[str, Counter[str]]:
    by_form: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (form, word), count in counts.items():
        if form in vocab:
            by_form[form][word] += count
    return by_form
