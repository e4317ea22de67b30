"""How far something has come: a bar on a terminal, else a line now and then, both on stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from pgsum.cli import console

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BEFORE_ESTIMATE = 5.0


@runtime_checkable  # so that the tests can check it
class Report(Protocol):
    """Told which stage the work is at, how many of it are done, of how many where that is known,
    and what else is worth a look; `seconds_left` where they are not to be told from these.
    """

    def __call__(
        self,
        stage: str,
        done: int,
        total: int | None = None,
        detail: str = "",
        seconds_left: float | None = None,
    ) -> None: ...


@contextmanager
def progress() -> Iterator[Report]:
    """Shows how far each stage has come, one after the other; nothing with --quiet."""
    if console.mode.quiet or sys.stderr is None:
        yield _silence
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield _lines()


def _silence(*_: object, **__: object) -> None:
    pass


def _with_time_left(
    show: Callable[[str, int, int | None, str, str], None],
) -> Report:
    """A report that has stage, done, total, time left and detail shown."""
    pace = _Pace()

    def report(
        stage: str,
        done: int,
        total: int | None = None,
        detail: str = "",
        seconds_left: float | None = None,
    ) -> None:
        show(stage, done, total, pace.time_left(stage, done, total, seconds_left), detail)

    return report


class _Pace:
    """The time that is left of a stage.

    Measured from its first report: what went before, such as reading a corpus or the first batch
    with all that it sets up, tells nothing of the rest.
    """

    def __init__(self) -> None:
        self._stage = ""
        self._started = 0.0
        self._done = 0

    def time_left(
        self, stage: str, done: int, total: int | None, seconds_left: float | None
    ) -> str:
        """In words; empty while there is too little to tell it from."""
        if seconds_left is not None:
            return _in_words(seconds_left)
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._started, self._done = stage, now, done
        seconds = now - self._started
        if not total or not self._done < done < total or seconds < _SECONDS_BEFORE_ESTIMATE:
            return ""
        return _in_words(seconds * (total - done) / (done - self._done))


def _in_words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min left" if seconds > 90 else f"{seconds:.0f} s left"


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    terminal = console.terminal()
    # What is printed to stdout is data: it must not be led over to stderr, around the bar.
    bar = Progress(
        *columns, console=terminal, transient=True, redirect_stdout=False, redirect_stderr=False
    )
    task = bar.add_task("", total=None, visible=False, left="", detail="")

    def show(stage: str, done: int, total: int | None, left: str, detail: str) -> None:
        bar.update(
            task,
            description=stage,
            completed=done,
            total=total,
            visible=True,
            left=left,
            detail=detail,
        )

    put = console.mode.put
    console.mode.put = lambda line: terminal.print(
        line, markup=False, highlight=False, soft_wrap=True
    )
    try:
        with bar:
            yield _with_time_left(show)
    finally:
        console.mode.put = put


def _lines() -> Report:
    last = time.monotonic()

    def show(stage: str, done: int, total: int | None, left: str, detail: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _SECONDS_BETWEEN_LINES:
            return
        last = now
        so_far = f"{stage}: {done:,} of {total:,}" if total else f"{stage}: {done:,}"
        console.note(", ".join(filter(None, (so_far, left, detail))))

    return _with_time_left(show)
