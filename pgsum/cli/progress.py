"""How far something has come: a bar on a terminal, else a line now and then, both on stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from pgsum.cli import console

_SECONDS_BETWEEN_LINES = 10.0


@runtime_checkable  # so that the tests can check it
class Report(Protocol):
    """Told how many are done, of how many where that is known, and what else is worth a look."""

    def __call__(self, done: int, total: int | None = None, detail: str = "") -> None: ...


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """Shows how far `what` has come; nothing with --quiet."""
    if console.mode.quiet or sys.stderr is None:
        yield _silence
    elif sys.stderr.isatty():
        with _bar(what) as report:
            yield report
    else:
        yield _lines(what)


def _silence(done: int, total: int | None = None, detail: str = "") -> None:
    pass


@contextmanager
def _bar(what: str) -> Iterator[Report]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    terminal = console.terminal()
    # What is printed to stdout is data: it must not be led over to stderr, around the bar.
    bar = Progress(
        *columns, console=terminal, transient=True, redirect_stdout=False, redirect_stderr=False
    )
    task = bar.add_task(what, total=None, detail="")

    def report(done: int, total: int | None = None, detail: str = "") -> None:
        bar.update(task, completed=done, total=total, detail=detail)

    put = console.mode.put
    console.mode.put = lambda line: terminal.print(
        line, markup=False, highlight=False, soft_wrap=True
    )
    try:
        with bar:
            yield report
    finally:
        console.mode.put = put


def _lines(what: str) -> Report:
    started = last = time.monotonic()

    def report(done: int, total: int | None = None, detail: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _SECONDS_BETWEEN_LINES:
            return
        last = now
        parts = [f"{what}: {done:,} of {total:,}" if total else f"{what}: {done:,}"]
        if total and 0 < done < total:
            left = (now - started) * (total - done) / done
            parts.append(f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left")
        console.note(", ".join([*parts, detail] if detail else parts))

    return report
