"""Training documents that are held-out documents, too: a score on these would be of memory.

Knows documents and nothing else of a pair.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasets import Dataset

_CHARS = 150
_NOT_LETTERS = re.compile(r"[\W_]+")
_ROWS = 1000


def opening(document: str) -> str:
    """The first 150 letters and digits in lower case: documents with the same one are taken as one.

    So blanks, punctuation, a signature or what an edition adds at the end make no other document.
    A shorter one must agree as a whole, and one without any to the character.
    """
    for read in (4 * _CHARS, len(document)):  # most often the first piece will do
        letters = _NOT_LETTERS.sub("", document[:read])
        if len(letters) >= _CHARS:
            break
    return letters[:_CHARS].lower() or document


def leaked(train: "Dataset", held_out: Iterable["Dataset"]) -> list[int]:
    """The rows of `train` whose document is one of `held_out`, too."""
    openings = {opening(document) for pairs in held_out for document in _documents(pairs)}
    return [row for row, document in enumerate(_documents(train)) if opening(document) in openings]


def _documents(pairs: "Dataset") -> Iterator[str]:
    documents = pairs.select_columns("document")
    for first in range(0, len(pairs), _ROWS):
        yield from documents[first : first + _ROWS]["document"]
