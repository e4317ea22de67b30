"""Word vectors from a file, for the words of a vocabulary.

GloVe's text format (a word and its numbers on each line, parted by blanks; compressed where the
name ends in .gz; word2vec's first line of count and size is passed over), or .npz with the arrays
`words` and `vectors`. Such a file has millions of words: of those outside the vocabulary no number
is read.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float32

from pgsum.data.files import (
    DATA_OPTIONS,
    check_file,
    content_digest,
    open_file,
    read_text,
    split_lines,
    visible,
)
from pgsum.errors import ConfigError, DataError
from pgsum.text.vocab import SPECIAL_TOKENS, Vocab

# Bytes as characters: some files hold words that were cut inside a character, which are nobody's,
# and no blank but the plain one parts anything.
_BYTES = "latin-1"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf".decode(_BYTES)
_HEADER = re.compile(r"\d+ \d+ ?\r?")

Row = Float32[np.ndarray, " size"]


@dataclass(frozen=True)
class WordVectors:
    """What a file has for a vocabulary; the vectors of words that were not found are 0."""

    vectors: Float32[np.ndarray, "vocab size"]
    found: Bool[np.ndarray, " vocab"]
    file: str
    sha256: str

    def __str__(self) -> str:
        words = len(self.found) - len(SPECIAL_TOKENS)
        return f"{self.found.sum():,} of {words:,} words found in {self.file}"

    def record(self) -> dict[str, str | int]:
        return {"file": self.file, "sha256": self.sha256, "found": int(self.found.sum())}


def read_vectors(path: Path, vocab: Vocab, *, at_most: int) -> WordVectors:
    """The vectors that a file has for the words of `vocab`.

    A word takes the entry that is written alike, else that of its lower case: many files know
    "paris" only. Of several entries alike the first counts. Raises DataError where the file cannot
    be read, is none of word vectors or has none of the words, ConfigError where its vectors have
    more than `at_most` numbers.
    """
    check_file(path)
    wanted = {*vocab.forms, *(form.lower() for form in vocab.forms)}
    read = _read_npz if path.suffix.lower() == ".npz" else _read_lines
    size, rows = read(path, wanted, at_most)
    vectors = np.zeros((len(vocab), size), np.float32)
    found = np.zeros(len(vocab), np.bool_)
    for index, form in enumerate(vocab.forms, start=len(SPECIAL_TOKENS)):
        row = rows.get(form, rows.get(form.lower()))
        if row is not None:
            vectors[index], found[index] = row, True
    if not found.any():
        raise DataError(
            f"The file has no vector for any of the vocabulary's {len(vocab.forms):,} words.",
            where=str(path),
            hint="name a file of the corpus's language, or leave model.embeddings out",
        )
    return WordVectors(vectors, found, path.name, content_digest(path))


def _read_lines(path: Path, wanted: Collection[str], at_most: int) -> tuple[int, dict[str, Row]]:
    """The vectors' size, and those of the words that are wanted."""
    as_read = {word.encode().decode(_BYTES): word for word in wanted}
    rows: dict[str, Row] = {}
    with open_file(path) as stream:
        text = read_text(stream, name=str(path), encoding=_BYTES, options=DATA_OPTIONS)
        lines = enumerate(split_lines(text, name=str(path)), 1)
        number, line = next(lines, (1, ""))
        first = number, line.removeprefix(_BYTE_ORDER_MARK)
        if _HEADER.fullmatch(first[1]):
            first = next(lines, (2, ""))
        size = _size_of(first[1], at_most, path, number=first[0])
        for number, line in chain([first], lines):
            if line.split(" ", 1)[0] in as_read:
                word, row = _entry(line, size, where=f"{path}:{number}")
                if word in as_read:
                    rows.setdefault(as_read[word], row)
    return size, rows


def _entry(line: str, size: int, *, where: str) -> tuple[str, Row]:
    """A line's word and numbers, split from the right: in some files words hold blanks."""
    word, *values = line.rstrip(" \r").rsplit(" ", size)
    blanks = word.count(" ")
    if len(values) < size or (blanks and _row(word.rsplit(" ", 1)[1:]) is not None):
        raise DataError(
            f"The line has {len(values) + blanks} values, and the first line has {size}.",
            where=where,
            hint="copy the file again",
        )
    row = _row(values)
    if row is None:
        value = next(value for value in values if _row([value]) is None)
        raise DataError(
            f"The line holds {visible(value)!r}, which is no finite number.",
            where=where,
            hint="mend or delete the line",
        )
    return word, row


def _row(values: Iterable[str | float]) -> Row | None:
    """The values, where all are numbers that float32 can hold."""
    try:
        with np.errstate(over="ignore"):
            row = np.array([float(value) for value in values], np.float32)
    except ValueError:
        return None
    return row if np.isfinite(row).all() else None


def _size_of(line: str, at_most: int, path: Path, *, number: int) -> int:
    """How many numbers the first line has."""
    word, *values = line.rstrip(" \r").split(" ")
    if "\0" in word or not values or _row(values) is None:  # such as a zip archive of vectors
        raise DataError(
            f"The file holds no word vectors: line {number} is not a word and its numbers.",
            where=str(path),
            hint="parted by blanks they are needed on each line, or an .npz file",
        )
    _check_size(len(values), at_most, path)
    return len(values)


def _check_size(found: int, at_most: int, path: Path) -> None:
    if found > at_most:
        raise ConfigError(
            f"The word vectors have size {found}, more than model.embedding_size, which is "
            f"{at_most}.",
            where=str(path),
            hint=f"set model.embedding_size={found}",
        )


def _read_npz(path: Path, wanted: Collection[str], at_most: int) -> tuple[int, dict[str, Row]]:
    """As `_read_lines`."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            words, vectors = arrays["words"], arrays["vectors"]
    except Exception as error:  # each part of a damaged archive fails in a way of its own
        raise DataError(
            f"The file is no .npz with the arrays `words` and `vectors`: {error}.",
            where=str(path),
            hint="write it by numpy.savez(FILE, words=WORDS, vectors=VECTORS)",
        ) from error
    sound = words.dtype.kind == "U" and vectors.dtype.kind == "f" and vectors.ndim == 2
    if not sound or words.shape != vectors.shape[:1]:
        raise DataError(
            f"The array `words` is {words.dtype} of shape {words.shape} and `vectors` "
            f"{vectors.dtype} of shape {vectors.shape}; there must be a text and a row of numbers "
            "for each word.",
            where=str(path),
        )
    _check_size(vectors.shape[1], at_most, path)
    rows: dict[str, Row] = {}
    for word, values in zip(words.tolist(), vectors, strict=True):
        if word in wanted:
            row = _row(values.tolist())
            if row is None:
                raise DataError(
                    f"The vector of {visible(word)!r} holds a value that is no finite number.",
                    where=str(path),
                )
            rows.setdefault(word, row)
    return vectors.shape[1], rows
