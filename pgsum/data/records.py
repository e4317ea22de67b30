"""Pairs of document and references, and the checked reading of files that hold them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """One document with its reference summaries, as raw text.

    `references` is empty where there is nothing to learn from or to score against.
    """

    id: str
    document: str
    references: tuple[str, ...]
