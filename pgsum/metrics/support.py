"""Whether the numbers and names of a summary stand in its document: a proxy, and no more.

A number that stands there may be said of another thing, and a name that does not may be true. What
this finds is what a reader would check first.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from pgsum.metrics.copying import UNKNOWN_WORD, Ratio
from pgsum.metrics.tokens import summary_sentences
from pgsum.text.tokenize import lookup_form, tokenize

_BETWEEN_DIGITS = re.compile(r"(?<=\d),(?=\d)")


class Support(NamedTuple):
    """Of a summary's numbers and of its names, how many its document has."""

    numbers: Ratio
    names: Ratio


def support(summary: str, document: str) -> Support:
    """The numbers and names of `summary` that `document` has, in upper case or lower.

    A number is a word that begins with a digit; "1,000" is "1000". A name is any other word with a
    capital or a digit, but for one letter alone and for words that have a capital only as the first
    of their sentence. So text in lower case has no names, and each word of a headline is one.
    """
    known = _known(document)
    numbers, names = [], []
    for sentence in summary_sentences(UNKNOWN_WORD.sub(" ", summary)):
        first = True
        for token in tokenize(sentence):
            if token.text[0].isdigit():
                numbers.append(_form(token.text))
            elif _is_name(token.text, first=first):
                names.append(_form(token.text))
            first = first and not token.text[0].isalnum()
    return Support(
        *(Ratio(sum(w in known for w in words), len(words)) for words in (numbers, names))
    )


def _is_name(word: str, *, first: bool) -> bool:
    if len(word) == 1 or not word[0].isalpha():
        return False
    return any(c.isupper() or c.isdigit() for c in word[1:]) or (word[0].isupper() and not first)


@lru_cache(maxsize=4)
def _known(document: str) -> frozenset[str]:
    return frozenset(_form(token.text) for token in tokenize(document))


def _form(word: str) -> str:
    return _BETWEEN_DIGITS.sub("", lookup_form(word, lowercase=True))
