"""Whether two neighbours are written together, learned from raw text.

Words are spaced and characters of scripts without blanks are not; only where a mark is one of the
two, or two scripts meet, is there anything to learn. Where nothing was learned, a few rules hold.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

import regex

from pgsum.text.tokenize import UNSPACED

_WORD, _NUMBER, _CHARACTER, _EMOJI = "word", "number", "character", "emoji"

_HAS_LETTER = regex.compile(r"[\p{L}\p{N}]")
_CLITIC = regex.compile(r"n?'\p{L}{1,2}")
_PICTURE = regex.compile(r"\p{Extended_Pictographic}|\p{RI}")

# By rule, written to what stands before, to what follows, or to both.
_TO_LEFT = regex.compile(r"[\p{Pe}\p{Pf},.;:!?%‰°…]|['\"]>|''|n?'\p{L}")
_TO_RIGHT = regex.compile(r"[\p{Ps}\p{Pi}\p{Sc}#@]|['\"]<|``")
_TO_BOTH = regex.compile(r"[-‐‑/\\\u3000-\u303f\uff00-\uffef]")

_BY_NEXT = "next"
_MIN_SEEN = 2
_UNANIMOUS = 0.99


class SpacingCounts:
    """How often neighbours were seen together and apart."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, bool]] = Counter()

    def add(self, forms: Sequence[str], glued: Sequence[bool]) -> None:
        """One text; `glued[i]` says whether form `i` follows the one before without a blank."""
        kinds = kinds_of(forms)
        for i in range(1, len(forms)):
            for context in _contexts(forms, kinds, i, after_glued=glued[i - 1]):
                self._seen[context, glued[i]] += 1

    def update(self, other: "SpacingCounts") -> None:
        self._seen.update(other._seen)

    def learned(self, vocab: Container[str]) -> dict[str, bool]:
        """What is usual in each context seen twice or more.

        Contexts that name a word are kept for words of `vocab` only, and only of marks that are not
        written the same way nearly always.
        """
        seen, marks = Counter[str](), Counter[tuple[str, bool]]()
        for (context, glued), count in self._seen.items():
            seen[context] += count
            if context.startswith(_BY_NEXT):
                marks[context.split()[1], glued] += count
        usual = {}
        for context, count in sorted(seen.items()):
            if context.startswith(_BY_NEXT):
                _, mark, form = context.split()
                one, other = marks[mark, True], marks[mark, False]
                if form not in vocab or max(one, other) > _UNANIMOUS * (one + other):
                    continue
            if count >= _MIN_SEEN:
                usual[context] = 2 * self._seen[context, True] > count
        return usual


def glue(
    forms: Sequence[str], learned: Mapping[str, bool], given: Sequence[bool | None]
) -> list[bool]:
    """Whether each form is written to the one before; where `given` knows, it is so.

    It must know of the first, which has none before.
    """
    kinds = kinds_of(forms)
    glued: list[bool] = []
    for i, known in enumerate(given):
        if known is None:
            contexts = _contexts(forms, kinds, i, after_glued=glued[-1])
            known = next((learned[c] for c in contexts if c in learned), None)
        glued.append(_by_rule(kinds[i - 1], kinds[i]) if known is None else known)
    return glued


def kinds_of(forms: Sequence[str]) -> list[str]:
    """What matters of each form of a line: word, number, character, emoji, or which mark.

    Straight quotes open and close in turn. After an s, a single one is an apostrophe, unless there
    is another one left for it to open.
    """
    kinds = []
    quotes_left = forms.count("'")
    open_double = open_single = False
    for i, form in enumerate(forms):
        kind = _kind(form)
        if kind == '"':
            kind = '">' if open_double else '"<'
            open_double = not open_double
        elif kind == "'":
            apostrophe = i > 0 and forms[i - 1].endswith("s") and quotes_left % 2 == 1
            kind = "'>" if open_single or apostrophe else "'<"
            open_single = kind == "'<"
            quotes_left -= 1
        kinds.append(kind)
    return kinds


def _kind(form: str) -> str:
    if UNSPACED.match(form):
        return _CHARACTER
    if form[0].isdecimal():
        return _NUMBER
    if _HAS_LETTER.search(form):
        return form if _CLITIC.fullmatch(form) else _WORD
    return _EMOJI if _PICTURE.match(form) else form


def _contexts(
    forms: Sequence[str], kinds: Sequence[str], i: int, *, after_glued: bool
) -> Iterator[str]:
    """What the gap before form `i` may depend on, the most telling first; nothing between words.

    `after_glued` says of the gap before that one: a mark that is written to both its neighbours or
    to none, such as a hyphen, has its second gap as its first.
    """
    left, right = kinds[i - 1], kinds[i]
    if left in (_WORD, _NUMBER) and right in (_WORD, _NUMBER):
        return
    following = kinds[i + 1] if i + 1 < len(kinds) else "end"
    if following != "end" and right not in (_WORD, _NUMBER, _CHARACTER):
        yield f"{_BY_NEXT} {right} {forms[i + 1]}"
    yield f"{'glued' if after_glued else 'apart'} {left} {right} {following}"
    yield f"pair {left} {right}"


def _by_rule(left: str, right: str) -> bool:
    return bool(
        _CHARACTER in (left, right)
        or _TO_LEFT.match(right)
        or _TO_RIGHT.match(left)
        or _TO_BOTH.match(left)
        or _TO_BOTH.match(right)
    )
