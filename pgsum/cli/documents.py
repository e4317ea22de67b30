"""The documents that a command line names: files, quoted globs, standard input; checked first."""

import glob
import os.path
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from pgsum.cli import console
from pgsum.data.documents import read_documents
from pgsum.data.records import Pair
from pgsum.data.rows import BadRow
from pgsum.errors import ConfigError, DataError

STDIN = "-"


class Documents:
    """Each document with the name of its file, in order, read as they are asked for.

    Making one reads the first document of each file, so that what cannot be read is refused before
    anything slow is begun. Raises DataError; ConfigError where standard input gives nothing, or is
    named twice.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        column: str | None,
        reference_column: str | None = None,
        encoding: str | None,
        on_bad: Literal["error", "skip"],
    ) -> None:
        self.files = expand(names) or [STDIN]
        if self.files.count(STDIN) > 1:
            raise ConfigError("Standard input can be read only once.", where=STDIN)
        self._column = column
        self._reference_column = reference_column
        self._encoding = encoding
        self._on_bad = on_bad
        self._begun: dict[int, Iterator[Pair | BadRow]] = {}
        for place, file in enumerate(self.files):
            documents = self._read(file)
            first = next(documents, None)
            if first is None:
                raise DataError("The file holds no document.", where=file)
            if file == STDIN or not Path(file).is_file():  # a pipe, which cannot be read twice
                self._begun[place] = chain([first], documents)

    def __iter__(self) -> Iterator[tuple[str, Pair | BadRow]]:
        for place, file in enumerate(self.files):
            for document in self._begun.get(place) or self._read(file):
                yield file, document

    def _read(self, file: str) -> Iterator[Pair | BadRow]:
        return read_documents(
            file,
            column=self._column,
            reference_column=self._reference_column,
            encoding=self._encoding,
            on_bad=self._on_bad,
            note=console.note,
        )


def expand(names: Sequence[str]) -> list[str]:
    """The files meant; a name that holds `*`, `?` or `[` and is no file is a pattern."""
    files: list[str] = []
    for name in names:
        if name == STDIN or os.path.lexists(name) or not glob.has_magic(name):
            files.append(name)
            continue
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise DataError("No file matches the pattern.", where=name)
        files += matches
    return files
