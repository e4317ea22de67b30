"""Split a document into sentences, in linear time, by rules.

A sentence ends

- at `.`, `!`, `?` or `…` and the quotes and brackets that close after it, where what precedes is
  no abbreviation and what follows can start a sentence; at such a mark between blanks, as in text
  already tokenised;
- at the full stops of scripts without blanks, wherever they stand;
- at a blank line, and at a line break unless the line was wrapped there. It was, if the next word
  would not have fitted in, as the paragraph's longest line shows, or if the text goes on in lower
  case. A list item always starts a line of its own.

So each line of a mail that has one sentence a line is a sentence, and a paragraph wrapped at a
margin is read on. In a dialogue ("Tom: ..." on most lines) each turn is one sentence, however many
it holds: that is what lead-3 means for dialogue corpora. Abbreviations are English.
"""

from collections.abc import Iterator
from itertools import pairwise

import regex

Span = tuple[int, int]
"""Start and end in the text."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TITLES = _words(
    "mr mrs ms mx dr prof mt gen sen rep gov lt col capt cpt cmdr sgt maj adm rev hon pres mme"
    " mlle messrs supt"
)
_NEVER_LAST = _words("e.g i.e cf vs v viz approx ca resp esp incl")
_BEFORE_NUMBERS = _words(
    "no nos fig figs eq eqs sec ch chap vol vols p pp art ed ref refs tab app ext tel est"
    " jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun"
)
_SOMETIMES_LAST = _words("inc ltd co corp bros llc al jr sr st dept univ assn ave blvd")
ABBREVIATIONS = _TITLES | _NEVER_LAST | _SOMETIMES_LAST
"""After these a full stop hardly ever ends a sentence; in lower case, without that full stop."""

# After "Inc." or an initial, these start a sentence; anything else may be the rest of a name.
_STARTERS = _words(
    "a after all also although an and another any are as at because before both but by can did do"
    " does during each even every few finally first for from furthermore had has have he her here"
    " his how however i if in is it its let many more moreover most my no not now of on once one"
    " only or our please several she since so some such thanks that the their then there therefore"
    " these they this those though thus to under unlike until use we were what when where whether"
    " which while who why will with without would yes yet you your"
)

_CLOSERS = r"\p{Pe}\p{Pf}\"'"
# Full stops that need no blank after them: Chinese and Japanese, Indic, Arabic, Armenian, Ethiopic,
# Khmer, Myanmar.
_ALWAYS = r"。！？｡‼⁇⁈⁉।॥؟۔։።។။"
_MARK = regex.compile(
    rf"""
      (?P<always> (?:[{_ALWAYS}]|…{{2}})[{_ALWAYS}.!?…]{{0,63}}+ ) [{_CLOSERS}]{{0,16}}+
    | (?P<mark> [.!?…．]{{1,64}}+ ) (?P<close> [{_CLOSERS}]{{0,16}}+ )
      (?:[ ](?:''|[”»)\]])(?=\s))?+
    """,
    regex.VERBOSE,
)
_NO_BLANKS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_CONTINUES = regex.compile(r"\s?[,;:，、；：]")
_INITIALS = regex.compile(r"\p{Lu}|(?:\p{L}{1,2}\.){1,8}+\p{L}{1,2}")
_NEXT_WORD = regex.compile(r"[\p{P}\p{S}\s]{0,8}+([\p{L}\p{M}\p{N}]{0,20}+)")

_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_LINE = regex.compile(rf"([^{_BREAKS}]*+)(?:\r\n|[{_BREAKS}]|\Z)")
_ITEM = regex.compile(r"\s*+(?:[-*+•‣·–—>|#]+\s|\(?(?:\p{N}{1,3}|\p{L})[.)]\s|:\p{L})")
_TURN = regex.compile(r"\s*+[^\s:][^:\n]{0,30}:\s")
_WRAP_WIDTHS = range(40, 133)
_RAGGED = 0.9  # by hand, lines are wrapped a little early


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, each on one line: breaks inside one become blanks."""
    return [" ".join(text[start:end].split()) for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[Span]:
    """Where each sentence starts and ends; all that lies between sentences is white space."""
    spans: list[Span] = []
    for lines in _paragraphs(text):
        turns = sum(_TURN.match(text, *line) is not None for line in lines)
        if turns > 1 and 2 * turns > len(lines):
            spans += _unwrap(text, lines, break_before=_TURN)
        else:
            for block in _unwrap(text, lines, break_before=_ITEM):
                spans += _split_block(text, *block)
    return [span for span in spans if span[0] < span[1]]


def _paragraphs(text: str) -> Iterator[list[Span]]:
    """The lines that hold something, without the blanks at their ends, up to each blank line."""
    lines: list[Span] = []
    for match in _LINE.finditer(text):
        start, end = _strip(text, *match.span(1))
        if start < end:
            lines.append((match.start(), end))
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines


def _unwrap(text: str, lines: list[Span], *, break_before: regex.Pattern[str]) -> Iterator[Span]:
    """Join the lines of one paragraph where they were wrapped."""
    width = max(end - start for start, end in lines)
    start = lines[0][0]
    for line, following in pairwise(lines):
        if break_before.match(text, *following) or not _is_wrapped(text, line, following, width):
            yield _strip(text, start, line[1])
            start = following[0]
    yield _strip(text, start, lines[-1][1])


def _is_wrapped(text: str, line: Span, following: Span, width: int) -> bool:
    next_word = text[following[0] : following[1]].split(maxsplit=1)[0]
    length = line[1] - line[0]
    if length + 1 + len(next_word) > _RAGGED * width and width in _WRAP_WIDTHS:
        return True
    goes_on = next_word[0].islower() and text[line[1] - 1] not in ".!?…"
    return goes_on and 2 * length >= min(width, _WRAP_WIDTHS.stop) >= _WRAP_WIDTHS.start


def _split_block(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _MARK.finditer(text, start, end):
        if match.end() < end and _ends_sentence(text, start, match, end):
            yield _strip(text, start, match.end())
            start = match.end()
    yield _strip(text, start, end)


def _ends_sentence(text: str, start: int, match: regex.Match[str], end: int) -> bool:
    if match["always"]:
        return not _CONTINUES.match(text, match.end(), end)
    mark, before, after = match["mark"], text[match.start() - 1], text[match.end()]
    opening = text[start : match.start()].strip(" (") if match.start() - start < 16 else None
    if opening is not None and (opening.isdecimal() or len(opening) < 2):
        return False  # the number of a list item, or nothing but the mark
    if not after.isspace():
        unspaced = _NO_BLANKS.match(after) or (_NO_BLANKS.match(before) and after.isalnum())
        return bool(unspaced) and mark in (".", "!", "?", "．")
    next_word = _NEXT_WORD.match(text, match.end(), end)
    following = next_word[1] if next_word else ""
    if before.isspace() and len(mark) == 1:
        return True
    if following[:1].islower():
        return ("!" in mark or "?" in mark) and not match["close"]
    if mark != "." or match["close"]:
        return True
    return not _is_abbreviation(text[max(start, match.start() - 20) : match.start()], following)


def _is_abbreviation(before: str, following: str) -> bool:
    """Whether a full stop after `before` belongs to its last word alone."""
    word = before.split()[-1].lstrip("([{\"'“‘")
    lower = word.lower()
    if lower in _NEVER_LAST or (lower in _TITLES and word[:1].isupper()):
        return True
    initials = _INITIALS.fullmatch(word) is not None
    if lower in _BEFORE_NUMBERS and not initials:
        return following[:1].isdecimal()
    return (initials or lower in _SOMETIMES_LAST) and following.lower() not in _STARTERS


def _strip(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
