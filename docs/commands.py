"""A command as a page shows it: as it was given, without the folders of one machine."""

import re
import shlex
from collections.abc import Mapping, Sequence

from pgsum.errors import DataError

_SILENT = ("-q", "--quiet", "-v", "--verbose", "--debug", "--json", "--overwrite")
_SETTINGS = {"data.root": "DIR", "model.embeddings": "VECTORS"}
_OPTIONS = {"--model": "RUN", "--init": "MODEL"}
_ABSOLUTE = re.compile(r"(?<![\w.:/])[/~]\w")


def shown_command(
    command: Sequence[str], *, out: str, places: Mapping[str, str] | None = None
) -> str:
    """A recorded `sys.argv` of pgsum with a name in place of each folder.

    `out` stands for what --out or --resume named, `places` for other words, such as a corpus.
    Raises DataError where a path of one machine would remain.
    """
    _, *words = command
    options = {**_OPTIONS, "--out": out, "--resume": out}
    said = ["pgsum"]
    for before, word in zip(["", *words], words, strict=False):
        key = word.partition("=")[0]
        if before in options:
            said.append(options[before])
        elif key in _SETTINGS:
            said.append(f"{key}={_SETTINGS[key]}")
        elif word not in _SILENT:
            said.append((places or {}).get(word, word))
    if left := [word for word in said if _ABSOLUTE.search(word)]:
        raise DataError(
            f"The command {shlex.join(said)!r} names a place of one machine: {left[0]}.",
            hint="give the command again with settings as KEY=VALUE or a name relative to its "
            "folder",
        )
    return shlex.join(said)
