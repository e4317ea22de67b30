"""From what a model says back to text as a person would write it.

A model reads and says lookup forms, in lower case and apart. A word copied from the document comes
back as the document wrote it, a generated one in its usual case, and blanks stand where people put
them. What is usual was learned from the training texts (`Surface`); what the document itself shows
goes before it.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import regex

from pgsum.errors import ModelError
from pgsum.text.casing import Casing, CasingCounts, Place, capitalise, places
from pgsum.text.spacing import SpacingCounts, glue
from pgsum.text.tokenize import Token, lookup_form, tokenize, visible
from pgsum.text.vocab import SPECIAL_TOKENS

_LINE_BREAK = regex.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True)
class Piece:
    """A word of a summary: its form, and the source token it was copied from, if it was."""

    form: str
    source: int | None


class Restored(NamedTuple):
    """A summary as text, and each of its words as it stands there."""

    text: str
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Surface:
    """How the words of a vocabulary are written and spaced."""

    lowercase: bool
    """Whether forms are in lower case; if not, they carry their case and none is restored."""
    casing: Casing
    glued: Mapping[str, bool]
    """Of a context (see `spacing`), whether the two are written together."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; equal surfaces give equal text."""
        return {
            "lowercase": self.lowercase,
            "usual": dict(sorted(self.casing.usual.items())),
            "lower": sorted(self.casing.lower),
            "capital_start": self.casing.capital_start,
            "glued": dict(sorted(self.glued.items())),
        }

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> "Surface":
        """Raises `ModelError` where `content` is not what `to_dict` gives."""
        for key, kind, held in (
            ("lowercase", bool, None),
            ("usual", dict, str),
            ("lower", list, str),
            ("capital_start", bool, None),
            ("glued", dict, bool),
        ):
            value = content.get(key)
            if not isinstance(value, kind) or not (held is None or _holds_only(value, held)):
                of = f" of {held.__name__}" if held else ""
                raise ModelError(
                    f'The surface forms are damaged: "{key}" is not a {kind.__name__}{of}.'
                )
        casing = Casing(content["usual"], frozenset(content["lower"]), content["capital_start"])
        return Surface(content["lowercase"], casing, content["glued"])


def _holds_only(items: Any, kind: type) -> bool:
    """Whether the items of a list, or the values of a dict, are all of this kind."""
    values = items.values() if isinstance(items, dict) else items
    return all(type(value) is kind for value in values)


class SurfaceCounts:
    """How words were written and spaced in some of the training pairs; counts of others add up."""

    def __init__(self, *, lowercase: bool) -> None:
        self.lowercase = lowercase
        self._casing = CasingCounts()
        self._spacing = SpacingCounts()

    def add(self, document: str, summaries: Iterable[str]) -> None:
        """One training pair. Spacing is learned from its summaries: a document's is its own."""
        source = _Text(document, tokenize(document), lowercase=self.lowercase)
        self._casing.add(source.forms, source.words, source.places, is_summary=False)
        for summary in summaries:
            text = _Text(summary, tokenize(summary), lowercase=self.lowercase)
            self._casing.add(text.forms, text.words, text.places, is_summary=True)
            self._spacing.add(text.forms, text.glued)

    def update(self, other: "SurfaceCounts") -> None:
        self._casing.update(other._casing)
        self._spacing.update(other._spacing)

    def learned(self, vocab: Container[str]) -> Surface:
        """What is usual, for the words of `vocab`: no others can be generated."""
        casing = self._casing.learned(vocab) if self.lowercase else Casing({}, frozenset(), False)
        return Surface(self.lowercase, casing, self._spacing.learned(vocab))


def restore(
    pieces: Sequence[Piece], surface: Surface, *, document: str, source_tokens: Sequence[Token]
) -> Restored:
    """The text of a summary, in which two neighbours copied from neighbours are spaced as those.

    A special token stands for no text: search never says one, and here it is a `ValueError`.
    """
    forms = [piece.form for piece in pieces]
    if not forms:
        return Restored("", ())
    if special := next((form for form in forms if form in SPECIAL_TOKENS), None):
        raise ValueError(f"{special} stands for no text, so it cannot be part of a summary.")
    source = _Text(document, source_tokens, lowercase=surface.lowercase)
    words = [
        _word(piece, place, surface, source)
        for piece, place in zip(pieces, places(forms), strict=True)
    ]
    copied = [source.glued_there(left, right) for left, right in pairwise(pieces)]
    glued = glue(forms, surface.glued, [True, *copied])
    text = "".join(
        word if joined else f" {word}" for word, joined in zip(words, glued, strict=True)
    )
    return Restored(text, tuple(words))


def _word(piece: Piece, place: Place, surface: Surface, source: "_Text") -> str:
    """A piece as it is written at `place` of a summary."""
    if not surface.lowercase:
        return piece.form if piece.source is None else source.words[piece.source]
    word = (
        _generated(piece.form, surface.casing, source)
        if piece.source is None
        else _copied(piece.form, piece.source, place, surface.casing, source)
    )
    return capitalise(word) if place is Place.START and surface.casing.capital_start else word


def _generated(form: str, casing: Casing, source: "_Text") -> str:
    """In its usual case; in the document's, where that has it inside sentences, always so."""
    usual = casing.usual.get(form, form)
    there = source.words_inside.get(form, set())
    return next(iter(there)) if usual == form and len(there) == 1 else usual


def _copied(form: str, position: int, place: Place, casing: Casing, source: "_Text") -> str:
    """As the document wrote it, but for a capital that it has only as the first of its sentence.

    Where the document wrote it in lower case here and in its usual case elsewhere, in the latter.
    """
    word = source.words[position]
    usual = casing.usual.get(form, form)
    if word.islower():
        return usual if usual in source.words_inside.get(form, set()) else word
    starts = source.places[position] is not Place.INSIDE and place is not Place.UNSURE
    if starts and form in casing.lower and word[1:] == word[1:].lower():
        return word.lower()
    return word


class _Text:
    """A text and its tokens, seen the ways that learning and restoring need."""

    def __init__(self, text: str, tokens: Sequence[Token], *, lowercase: bool) -> None:
        ends = [0, *(token.end for token in tokens)]
        gaps = [text[end : token.start] for end, token in zip(ends, tokens, strict=False)]
        self.line_starts = [_LINE_BREAK.search(gap) is not None for gap in gaps]
        self.glued = [not any(map(str.isspace, gap)) for gap in gaps]
        self.words = [visible(token.text) for token in tokens]
        self.forms = [lookup_form(token.text, lowercase=lowercase) for token in tokens]
        self.places = places(self.forms, self.line_starts)
        self.words_inside: dict[str, set[str]] = {}
        for form, word, place in zip(self.forms, self.words, self.places, strict=True):
            if place is Place.INSIDE:
                self.words_inside.setdefault(form, set()).add(word)

    def glued_there(self, left: Piece, right: Piece) -> bool | None:
        """Whether two pieces copied from neighbours are together in the text; None for others.

        None also where a line ends between them: there it says nothing.
        """
        if left.source is None or right.source != left.source + 1 or self.line_starts[right.source]:
            return None
        return self.glued[right.source]
