"""A disk that says no: of all that a program does to change a folder, one thing fails.

Counted together are opening a file for writing, each write that leaves the program, fsync, mkdir,
rename and replace. Files that are open for writing stand on a `FileIO` of this module, so a write
fails when it would on a disk: when a buffer is full, at a flush, or when the file is closed.
"""

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

FULL, BROKEN = errno.ENOSPC, errno.EIO


class Disk:
    """What was done below `folder` so far, by name; number `fails_at` of it (from 1) fails.

    With `for_good`, so does all that follows, as on a disk that stays full.
    """

    def __init__(
        self, folder: Path, fails_at: int | None, *, error: int, for_good: bool = False
    ) -> None:
        self.folder = os.path.realpath(folder)
        self.fails_at = fails_at
        self.error = error
        self.for_good = for_good
        self.done: list[str] = []

    @property
    def failed(self) -> bool:
        return self.fails_at is not None and len(self.done) >= self.fails_at

    def change(self, what: str, path: Any) -> None:
        if not self.holds(path):
            return
        self.done.append(f"{what} {os.path.relpath(os.fsdecode(path), self.folder)}")
        number, at = len(self.done), self.fails_at
        if at is not None and (number == at or (self.for_good and number > at)):
            # Python names the file where it cannot be opened, and not where a write fails.
            names = () if what in ("write", "fsync") else (os.fsdecode(path),)
            raise OSError(self.error, os.strerror(self.error), *names)

    def holds(self, path: Any) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        return os.path.realpath(os.fsdecode(path)).startswith(self.folder + os.sep)


class _Raw(io.FileIO):
    """Bytes on the way to the disk."""

    def __init__(self, disk: Disk, path: Any, mode: str, opener: Any) -> None:
        disk.change("open", path)
        super().__init__(path, mode, opener=opener)
        self._disk = disk

    def write(self, data: Any) -> int:
        try:
            self._disk.change("write", self.name)
        except OSError:
            super().write(memoryview(data).cast("B")[: len(data) // 2])  # as much as had room
            raise
        return super().write(data)


@contextmanager
def disk(
    folder: Path, fails_at: int | None, *, error: int = FULL, for_good: bool = False
) -> Iterator[Disk]:
    """As long as this lasts, `folder` is on a disk that fails once, or not at all."""
    watched = Disk(folder, fails_at, error=error, for_good=for_good)
    with pytest.MonkeyPatch.context() as patch:
        plain_open, plain_fsync, plain_os_open = io.open, os.fsync, os.open

        def opened(
            file: Any,
            mode: str = "r",
            buffering: int = -1,
            *args: Any,
            opener: Any = None,
            **kwargs: Any,
        ) -> Any:
            if not set(mode) & set("wxa+") or not watched.holds(file):
                return plain_open(file, mode, buffering, *args, opener=opener, **kwargs)
            raw = _Raw(watched, file, mode.replace("b", "").replace("t", ""), opener)
            if buffering == 0:
                return raw
            binary = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)
            return binary if "b" in mode else io.TextIOWrapper(binary, *args, **kwargs)

        def os_opened(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                watched.change("open", path)
            return plain_os_open(path, flags, *args, **kwargs)

        def synced(descriptor: int) -> None:
            watched.change("fsync", os.readlink(f"/proc/self/fd/{descriptor}"))
            plain_fsync(descriptor)

        def arrow_file(path: str, mode: str = "r") -> Any:
            return pa.PythonFile(opened(path, mode), mode=mode[0])

        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        patch.setattr(os, "open", os_opened)
        patch.setattr(os, "fsync", synced)
        patch.setattr(pa, "OSFile", arrow_file)
        for name in ("mkdir", "rename", "replace"):
            patch.setattr(os, name, _changing(watched, name, getattr(os, name)))
        yield watched


def _changing(watched: Disk, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def changed(path: Any, *args: Any, **kwargs: Any) -> Any:
        watched.change(name, args[0] if args and name != "mkdir" else path)
        return original(path, *args, **kwargs)

    return changed
