"""first-k: how a document begins, in words: where summaries are shorter than its first sentence."""

import re
from collections import deque
from itertools import islice

from pgsum.text.tokenize import UNSPACED

_WORD = re.compile(r"\S+")
_CHARACTER = re.compile(r"\S")


def first_k(document: str, k: int) -> str:
    """The first `k` words, parted by blanks, in one line.

    Where most letters are of a script without blanks between words, the first `k` characters
    that are not blank.
    """
    unit = _CHARACTER if _is_unspaced(document) else _WORD
    last = deque(islice(unit.finditer(document), k), maxlen=1)
    return " ".join(document[: last[0].end()].split()) if last else ""


def _is_unspaced(document: str) -> bool:
    letters = sum(map(str.isalpha, document))
    return 2 * len(UNSPACED.findall(document)) > letters
