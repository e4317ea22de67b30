"""What `--explain` makes of summaries: a page, a picture, data, or a drawing for the terminal."""

import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pgsum.cli import console
from pgsum.data.records import Pair
from pgsum.data.rows import BadRow
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from pgsum.explain.content import Explained
    from pgsum.summarizer import Summary

OPTION = "--explain"
_TERMINAL = "-"
_ENDINGS = (".html", ".svg", ".json")
_MOST_NAME_BYTES = 240
"""File systems take 255; a file is written under a longer name until it is whole."""
_HINT = "name a file that ends in .html, .svg or .json, or - for the terminal"


class Explanations:
    """Of each summary where its words came from, in the file `target`, or on stdout for `-`.

    Making one raises ConfigError where the target cannot be written, before anything slow is begun.
    """

    def __init__(self, target: str, *, inputs: Sequence[str]) -> None:
        self._target = target
        self._explained: list[Explained] = []
        if not self.on_terminal:
            check_target(OPTION, Path(target), endings=_ENDINGS, hint=_HINT, inputs=inputs)
            _check_matplotlib(Path(target))

    @property
    def on_terminal(self) -> bool:
        return self._target == _TERMINAL

    @property
    def _ending(self) -> str:
        return Path(self._target).suffix

    def admitted(
        self, documents: Iterable[tuple[str, Pair | BadRow]]
    ) -> Iterable[tuple[str, Pair | BadRow]]:
        """The same documents. Raises ConfigError where a picture is to show more than one."""
        if self._ending != ".svg":
            return documents
        read, usable = [], 0
        for file, document in documents:
            read.append((file, document))
            usable += isinstance(document, Pair)
            if usable > 1:
                raise ConfigError(
                    "A picture shows one document, and there are several.",
                    where=self._target,
                    hint="name one, or a file that ends in .html for them all",
                )
        return read

    def add(self, name: str, summary: "Summary", references: Sequence[str]) -> None:
        """The next one: drawn at once on a terminal, else kept for `write`."""
        from pgsum.explain.content import Explained

        explained = Explained.scored(name, summary, references)
        if self.on_terminal:
            from pgsum.explain.terminal import drawing

            console.painting(drawing(explained))
            return
        self._explained.append(explained)

    def write(self, *, model: str) -> None:
        """The file of all that were added. Raises ConfigError where it cannot be written."""
        if self.on_terminal or not self._explained:
            return
        from pgsum.explain.one_file import write

        write(Path(self._target), self._content(model), option=OPTION)
        console.note(f"written: {self._target}")

    def _content(self, model: str) -> str:
        match self._ending:
            case ".html":
                from pgsum.explain.page import page

                return page(self._explained, title=f"Summaries by {model}")
            case ".svg":
                from pgsum.explain.heatmap import heatmap

                return heatmap(self._explained[0])
            case _:
                from pgsum.explain.content import to_json

                return to_json(self._explained)


def check_target(
    option: str, path: Path, *, endings: Sequence[str], hint: str, inputs: Sequence[str] = ()
) -> None:
    """Raises ConfigError where a file with one of `endings` cannot be written, or is an input."""
    if path.suffix not in endings:
        raise ConfigError(
            f"{option} is {str(path)!r}: its ending does not say what to make.", hint=hint
        )
    if reason := _obstacle(path, inputs):
        raise ConfigError(
            f"{option} cannot be written: {reason}.", where=str(path), hint="name another file"
        )


def _obstacle(path: Path, inputs: Sequence[str]) -> str | None:
    if len(os.fsencode(path.name)) > _MOST_NAME_BYTES:
        return "its name is too long"
    if os.path.isdir(path):
        return "it is a folder"
    if not os.path.isdir(path.parent):
        return "its folder is not there"
    if not os.access(path.parent, os.W_OK):
        return "its folder cannot be written to"
    if os.path.realpath(path) in map(os.path.realpath, inputs):
        return "it is to be read"
    return None


def _check_matplotlib(path: Path) -> None:
    if path.suffix == ".svg" and find_spec("matplotlib") is None:
        raise ConfigError(
            "A picture needs matplotlib, which is not installed.",
            where=str(path),
            hint="pip install 'pgsum[plot]', or name a file that ends in .html",
        )
