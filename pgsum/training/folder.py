"""The folder of a run: which it is to be, that nothing is overwritten, and that one at a time is at
work in it.
"""

import errno
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pgsum.config import Config, to_yaml
from pgsum.data.files import write_whole
from pgsum.errors import ConfigError

RUNS = Path("runs")
CONFIG = "config.yaml"
_LOCK = ".lock"
_BEGUN = ".begun"
"""Lies in a folder that is to be a run, until its config.yaml does: what is there is ours."""
_ANOTHER = "choose another with --out"
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}


class _TakenError(ConfigError):
    """Another run is in the folder."""


def run_folder(config: Config, out: Path | None, *, overwrite: bool) -> Path:
    """`out`, new or empty, or else the next free runs/NAME-NNN; nothing is made yet.

    Raises ConfigError where it holds something already, unless that is a run and `overwrite`.
    """
    if out is None:
        name = config.name or config.data.name
        taken = [re.fullmatch(rf"{re.escape(name)}-(\d+)", path.name) for path in RUNS.glob("*")]
        number = max((int(match[1]) for match in taken if match), default=0) + 1
        return RUNS / f"{name}-{number:03d}"
    try:
        _check(out, overwrite=overwrite)
    except OSError as error:
        raise _cannot_be_made(out, error) from error
    return out


def _check(out: Path, *, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise ConfigError("The output folder is a file.", where=str(out), hint=_ANOTHER)
    if out.exists() and not _is_begun(out) and any(path.name != _LOCK for path in out.iterdir()):
        if not overwrite:
            raise _not_empty(out)
        if not (out / CONFIG).is_file():
            raise ConfigError(
                "--overwrite replaces runs only, and this is none: it has no config.yaml.",
                where=str(out),
                hint="choose another folder with --out",
            )
    # Said now rather than after the corpus was read.
    nearest = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not os.access(nearest, os.W_OK):
        raise ConfigError("The output folder cannot be written.", where=str(out), hint=_ANOTHER)


@contextmanager
def new_run_folder(
    config: Config, out: Path | None, *, overwrite: bool, write: Callable[[Path], object]
) -> Iterator[Path]:
    """The folder that `run_folder` names, made, and locked for as long as this lasts.

    `write` is called with it. Its config.yaml is written last, and makes it a run. Of two runs that
    want the same folder, as they may after reading their corpora, the later gets the next number,
    or a ConfigError where the folder was named.
    """
    while True:
        folder = run_folder(config, out, overwrite=overwrite)
        with ExitStack() as stack:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked(folder))
                begun = _is_begun(folder)
                if (folder / CONFIG).exists() and not overwrite:
                    raise _not_empty(folder)
                (folder / _BEGUN).touch()
                if overwrite or begun:
                    _empty(folder)
                write(folder)
                write_whole(folder / CONFIG, to_yaml(config))
                (folder / _BEGUN).unlink()
            except OSError as error:
                raise _cannot_be_made(folder, error) from error
            except _TakenError:
                if out is not None:
                    raise
                continue
            yield folder
            return


def _is_begun(folder: Path) -> bool:
    """Whether a run was being made there when its process was killed, or its disk was full."""
    return (folder / _BEGUN).exists() and not (folder / CONFIG).exists()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name not in (_LOCK, _BEGUN):
            path.unlink()


def _not_empty(folder: Path) -> _TakenError:
    return _TakenError(
        "The output folder is not empty.",
        where=str(folder),
        hint="choose another with --out, give --overwrite to replace it, or go on with the run "
        "in it: --resume",
    )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """As long as this lasts nobody else trains in `folder`; it ends with the process at the latest.

    Raises ConfigError where somebody does, and where nothing can be written to it.
    """
    lock = FileLock(folder / _LOCK, blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise _TakenError(
            "Another process is training in this folder.",
            where=str(folder),
            hint="wait for it, or choose another folder with --out",
        ) from error
    except OSError as error:
        raise ConfigError(
            f"The folder cannot be written: {error.strerror or error}.",
            where=str(folder),
            hint="allow it, or use a copy of the folder that can be written",
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def on_its_disk(folder: Path) -> Iterator[None]:
    """Raises ConfigError where the disk fails on which a run in `folder` has begun."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK:
            raise
        raise ConfigError(
            f"The run cannot be kept: {error.strerror}.",
            where=str(error.filename or folder),
            hint=f"make room there, then go on: pgsum train --resume {shlex.quote(str(folder))}",
        ) from error


def _cannot_be_made(folder: Path, error: OSError) -> ConfigError:
    reason = error.strerror or error
    return ConfigError(
        f"The output folder cannot be made: {reason}.", where=str(folder), hint=_ANOTHER
    )
