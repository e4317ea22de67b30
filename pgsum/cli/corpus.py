"""What DATA on a command line means: a file, a folder or a built-in corpus, as settings."""

import re
from difflib import get_close_matches
from pathlib import Path

from pgsum.config import all_settings, group_options
from pgsum.errors import DataError

_ASSIGNMENT = re.compile(r"[+~]*[A-Za-z_][\w.]*=")


def split_arguments(arguments: list[str]) -> tuple[str | None, list[str]]:
    """DATA, where the first argument is that, and the `KEY=VALUE` that follow.

    A file may be called `a=b.jsonl`: what exists is DATA.
    """
    if not arguments:
        return None, []
    first, *others = arguments
    if Path(first).exists():
        return first, others
    if _ASSIGNMENT.match(first) or first in all_settings():
        return None, arguments
    return first, others


def corpus_overrides(data: str, *, split: str) -> list[str]:
    """The settings that make `data` the corpus; a file is its `split`.

    Raises DataError where there is no such thing.
    """
    path = Path(data)
    if path.is_dir():
        return ["data.name=files", f"data.root={data}"]
    if path.exists():
        return ["data.name=files", f"data.{split}={data}"]
    built_in = [name for name in group_options("data") if name != "files"]
    if data in built_in:
        return [f"data.name={data}"]
    near = get_close_matches(path.name, [*_names_beside(path), *built_in], n=1)
    raise DataError(
        f"There is no file, no folder and no corpus called {data!r}.",
        where=data,
        hint=f"did you mean {path.with_name(near[0])}?"
        if near
        else f"the built-in corpus is {', '.join(built_in)}",
    )


def _names_beside(path: Path) -> list[str]:
    try:
        return [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return []
