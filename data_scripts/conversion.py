"""A known corpus, from the hub or from a folder with its download, to three files of JSON Lines.

What the scripts beside this one share: their command line, rows of Parquet files, the checks of
counts and checksums, and a folder that is written whole or not at all. Knows no corpus by name.
"""

import argparse
import hashlib
import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from pgsum.cli import console
from pgsum.data.files import DATA_OPTIONS, check_file, content_digest, list_folder, open_file
from pgsum.data.hub import REVISION, find_hub_splits
from pgsum.data.records import is_blank
from pgsum.data.row_files import read_parts
from pgsum.data.rows import BadRow, Row, kind_of
from pgsum.data.splits import SPLITS
from pgsum.errors import ConfigError, DataError, PgsumError

AGAIN = "download it again"


@dataclass(frozen=True)
class Split:
    """The pairs of one split as a script reads them, each with id, document and summary.

    `count` is how many the publisher has, `ids` the `ids_digest` of theirs; None is not known.
    `where` they are read is for messages.
    """

    pairs: Iterable[Mapping[str, object]]
    where: str
    count: int | None = None
    ids: str | None = None


Reader = Callable[[Path | None], Mapping[str, Split]]
"""The three splits of a corpus, from a folder or, where that is None, from where it is published.

Raises DataError where they are not there, or not what they should be.
"""


def run(read: Reader, about: str) -> None:
    """The command line of a script whose docstring is `about`: OUT, and --from DIR.

    Leaves with the exit codes of `pgsum`: 2 for OUT, 3 for what is read, 130 or 143 when stopped.
    """
    console.prepare_streams()
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "out", metavar="OUT", type=Path, help="folder to be made, for pgsum train OUT"
    )
    parser.add_argument(
        "--from", metavar="DIR", type=Path, dest="folder", help="read the download that lies here"
    )
    arguments = parser.parse_args()
    for name in ("SIGTERM", "SIGHUP"):  # so that what is unfinished is cleared away
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stopped)
    try:
        convert(read, arguments.folder, arguments.out)
    except PgsumError as error:
        console.error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        console.note("stopped; nothing was written")
        sys.exit(130)


def _stopped(signum: int, frame: object) -> NoReturn:
    sys.exit(128 + signum)


def convert(read: Reader, folder: Path | None, out: Path) -> None:
    """Write what `read` finds as {train,validation,test}.jsonl into the new folder `out`.

    All is written beside `out` and moved there at the end. Raises ConfigError where `out` holds
    something already or cannot be written, DataError where the corpus is not what it should be.
    """
    out = out.absolute()
    try:
        if out.is_file() or (out.is_dir() and any(out.iterdir())):
            raise ConfigError(
                "There is something here already, and it is left as it is.",
                where=str(out),
                hint="name a folder that is not there yet",
            )
        splits = read(folder)
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as beside:
            unfinished = Path(beside) / out.name
            unfinished.mkdir()
            for name in SPLITS:
                told = _write(splits[name], name, unfinished / f"{name}.jsonl")
                console.note(f"{name}: {told}")
            unfinished.rename(out)
    except OSError as error:  # what is read has errors of its own
        raise ConfigError(
            f"The corpus cannot be written: {error.strerror or error}.", where=str(out)
        ) from error


def _write(split: Split, name: str, path: Path) -> str:
    """Write the pairs that have a document and a summary; how many, in words."""
    ids: list[str] = []
    blank = 0
    # Half a surrogate pair, which UTF-8 cannot hold, stays the escape that it is in JSON.
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        for pair in split.pairs:
            ids.append(str(pair["id"]))
            if is_blank(str(pair["document"])) or is_blank(str(pair["summary"])):
                blank += 1
            else:
                file.write(json.dumps(pair, ensure_ascii=False) + "\n")
    if split.count is not None and len(ids) != split.count:
        raise DataError(
            f"There are {len(ids):,} {name} pairs, and the corpus has {split.count:,}.",
            where=split.where,
            hint=f"{AGAIN}: it is cut short, or another version",
        )
    if split.ids is not None and (found := ids_digest(ids)) != split.ids:
        raise DataError(
            f"The {name} pairs are not those of the corpus: their ids have the SHA-256 {found}, "
            f"and should have {split.ids}.",
            where=split.where,
            hint=AGAIN,
        )
    without = f"; {blank:,} without a document or a summary left out" if blank else ""
    written = len(ids) - blank
    return f"{written:,} {'pair' if written == 1 else 'pairs'}{without}"


def ids_digest(ids: Iterable[str]) -> str:
    """The SHA-256 of ids, sorted, with a line break between any two."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


# --- tables, on the hub or in a folder ------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """The rows of one split, in Parquet files or JSON Lines.

    Raises DataError, while it is iterated over, at a row that cannot be read.
    """

    where: str
    files: list[Path]

    def __iter__(self) -> Iterator[Row]:
        for row in read_parts(self.files, encoding=None, options=DATA_OPTIONS):
            if isinstance(row, BadRow):
                raise DataError(row.reason, where=row.where, hint=AGAIN)
            yield row


def hub_tables(hub: str) -> dict[str, Table]:
    """The rows of each split of OWNER/NAME:CONFIG on the hub, fetched.

    Raises DataError where the hub cannot be asked or has no such split.
    """
    try:
        on_hub = find_hub_splits(hub)
        for name in SPLITS:
            if name not in on_hub:
                raise DataError(
                    f"The data set has no split {name}; it has: {', '.join(on_hub)}.", where=hub
                )
        console.note(f"{hub}: commit {on_hub['train'].commit} of {REVISION}")
        return {name: Table(on_hub[name].name, on_hub[name].fetch()) for name in SPLITS}
    except DataError as error:
        here = error.hint and error.hint.replace("give a local path", "add --from DIR")
        raise DataError(error.message, where=error.where, hint=here) from error


def folder_tables(hub: str, folder: Path) -> dict[str, Table]:
    """The same, from a folder with the Parquet files; nothing where it holds none.

    Raises DataError where it is no folder, or the files of a split are missing.
    """
    list_folder(folder)
    config = hub.partition(":")[2]
    # As the hub lays them out: CONFIG/SPLIT/0000.parquet, CONFIG/SPLIT-00000-of-00001.parquet,
    # and so with data/ for CONFIG where there is only one.
    root = next((folder / name for name in (config, "data") if (folder / name).is_dir()), folder)
    files = sorted([*root.glob("*.parquet"), *root.glob("*/*.parquet")])
    if not files:
        return {}
    found: dict[str, list[Path]] = {name: [] for name in SPLITS}
    for path in files:
        place = path.relative_to(root)
        for name in SPLITS:
            if name in (place.parent.name, *place.stem.split("-")):
                found[name].append(path)
    for name in SPLITS:
        if not found[name]:
            raise DataError(
                f"The folder has no Parquet file of the {name} pairs.",
                where=str(root),
                hint=f"call it {name}.parquet, or {name}/0000.parquet",
            )
    return {name: Table(str(folder), found[name]) for name in SPLITS}


def text(row: Row, column: str) -> str:
    """The text in a column, nothing where it is null; DataError where it is no text or missing."""
    value = _value(row, column)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"The {column} is {kind_of(value)}; a text is needed.", where=row.where)
    return value


def texts(row: Row, column: str) -> list[str]:
    """The texts of a list in a column; DataError where it holds anything else, or nothing."""
    value = _value(row, column)
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise DataError(f"The {column} is not a list of texts.", where=row.where)
    return value


def identity(row: Row, column: str = "id") -> str:
    """The id in a column, which is a number where a copy has been through a spreadsheet."""
    value = _value(row, column)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise DataError(f"The {column} is {kind_of(value)}; an id is needed.", where=row.where)
    return str(value)


def _value(row: Row, column: str) -> object:
    if column not in row.values:
        raise DataError(
            f"The row has no {column}; it has: {', '.join(row.values)}.", where=row.where
        )
    return row.values[column]


# --- raw files ------------------------------------------------------------------------------------


def read_whole(path: Path, *, encoding: str = "utf-8") -> str:
    """The text of a file; DataError where there is none, or it is in another encoding."""
    with open_file(path) as stream:
        content = stream.read()
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"The file is not {encoding.upper()}: byte 0x{content[error.start]:02x} at offset "
            f"{error.start:,}.",
            where=str(path),
            hint=AGAIN,
        ) from None


def check_digest(path: Path, expected: str) -> None:
    """Raises DataError where a file is not there, or has another SHA-256 than the published one."""
    check_file(path)
    found = content_digest(path)
    if found != expected:
        raise DataError(
            f"The file is not the published one: its SHA-256 is {found}, and should be {expected}.",
            where=str(path),
            hint=AGAIN,
        )


def one_line(text: str) -> str:
    """Any run of blanks and line breaks as one blank."""
    return " ".join(text.split())


def lines(text: str) -> str:
    """The lines that are not blank, each without blanks around it, and one for any run of them."""
    return "\n".join(filter(None, map(one_line, text.splitlines())))
