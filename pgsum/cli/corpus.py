"""What DATA on a command line means: a file, a folder, a corpus or a data set, as settings."""

import os.path
import re
from difflib import get_close_matches
from pathlib import Path

from pgsum.config import all_settings, group_options
from pgsum.errors import DataError

_ASSIGNMENT = re.compile(r"[+~]*[A-Za-z_][\w.]*=")
_HUB_ID = re.compile(
    r"(?P<name>\w[\w.-]*(?P<owned>/[\w.-]+)?(?P<config>:[^@:/\\]+)?)(?P<at>@(?P<split>[\w.-]+))?"
)


def split_arguments(arguments: list[str]) -> tuple[str | None, list[str]]:
    """DATA, where the first argument is that, and the `KEY=VALUE` that follow.

    A file may be called `a=b.jsonl`: what exists is DATA.
    """
    if not arguments:
        return None, []
    first, *others = arguments
    if os.path.lexists(first):  # false for what can be no name
        return first, others
    if _ASSIGNMENT.match(first) or first in all_settings():
        return None, arguments
    return first, others


def corpus_overrides(data: str, *, split: str) -> list[str]:
    """The settings that make `data` the corpus; a file is its `split`, and so is @SPLIT of the hub.

    Raises DataError where there is no such thing here, and it cannot be meant for the hub.
    """
    path = Path(data)
    if os.path.isdir(path):
        return ["data.name=files", f"data.root={data}"]
    if os.path.lexists(path):
        return ["data.name=files", f"data.{split}={data}"]
    built_in = [name for name in group_options("data") if name not in ("files", "hub")]
    if data in built_in:
        return [f"data.name={data}"]
    if (id_ := _HUB_ID.fullmatch(data)) and _is_meant_for_the_hub(id_):
        of_split = [f"data.{split}={id_['split']}"] if id_["split"] else []
        return ["data.name=hub", f"data.hub={id_['name']}", *of_split]
    near = get_close_matches(path.name, [*_names_beside(path), *built_in], n=1)
    raise DataError(
        f"There is no file, no folder and no corpus called {data!r}.",
        where=data,
        hint=f"did you mean {path.with_name(near[0])}?"
        if near
        else f"the built-in corpus is {', '.join(built_in)}; a data set of the Hugging Face hub is "
        "data=hub data.hub=OWNER/NAME",
    )


def _is_meant_for_the_hub(id_: re.Match[str]) -> bool:
    """Whether it looks like an id there, and not like a path here that was mistyped."""
    from pgsum.data.row_files import ROW_SUFFIXES, format_of
    from pgsum.data.text_files import is_document_file

    path = Path(id_[0])
    looks_like_a_file = (
        format_of(path) in (*ROW_SUFFIXES, ".txt")
        or path.suffix == ".gz"
        or is_document_file(path)
        or (id_["owned"] and path.parent.exists())
    )
    return not looks_like_a_file and any((id_["owned"], id_["config"], id_["at"]))


def _names_beside(path: Path) -> list[str]:
    try:
        return [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return []
