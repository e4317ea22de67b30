"""Trainings that are killed at a chosen moment, in processes of their own.

A moment is a call of one of the functions by which a training moves on or changes what is on the
disk; they are counted together, and before the one asked for the process is killed as by `kill -9`.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_EVENTS = [
    ("os", "fsync"),
    ("os", "replace"),
    ("pathlib.Path", "replace"),
    ("pathlib.Path", "write_text"),
    ("pathlib.Path", "write_bytes"),
    ("shutil", "rmtree"),
    ("torch", "save"),
    ("pgsum.training.module.TrainingModule", "training_step"),
    ("pgsum.training.module.TrainingModule", "configure_gradient_clipping"),
    ("pgsum.training.callbacks.MetricsFile", "log_metrics"),
    ("pgsum.summarizer.Summarizer", "summarize"),
    ("pgsum.training.fit", "save_bundle"),
    ("pgsum.training.run", "prepare"),
    ("pgsum.training.run", "read_corpus"),
    ("pgsum.decode.beam", "expand"),
]

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["pgsum.training.run", "pgsum.decode.beam"])


def run_until(
    moment: int | None, settings: Sequence[str], folder: Path, *, resume: bool = False
) -> int:
    """Trains into `folder`, or goes on there, and is killed before event number `moment` (from 1).

    The number of events; fewer than `moment` where it came to its end.
    """
    events = _context.Value("i", 0)
    process = _context.Process(
        target=_train, args=(moment, list(settings), str(folder), resume, events)
    )
    process.start()
    process.join()
    killed = moment is not None and events.value >= moment
    assert process.exitcode == (-signal.SIGKILL if killed else 0), process.exitcode
    process.close()
    return events.value


def run_for(seconds: float, settings: Sequence[str], folder: Path, *, resume: bool = False) -> bool:
    """The same, killed after `seconds` of training's own time; whether it was."""
    process = _context.Process(
        target=_train, args=(None, list(settings), str(folder), resume, _context.Value("i", 0))
    )
    process.start()
    started = time.monotonic()
    while process.is_alive() and time.monotonic() - started < seconds:
        time.sleep(0.01)
    process.kill()
    process.join()
    killed = process.exitcode == -signal.SIGKILL
    process.close()
    return killed


def _train(moment: int | None, settings: list[str], folder: str, resume: bool, events: Any) -> None:
    import torch  # noqa: F401

    from pgsum.config import load_config
    from pgsum.training import run

    for owner, name in _EVENTS:
        _count(owner, name, moment, events)
    if resume and (Path(folder) / "config.yaml").is_file():
        run.resume(Path(folder), say=lambda line: None)
    else:
        run.train(load_config(settings), out=Path(folder), say=lambda line: None)


def _count(owner: str, name: str, moment: int | None, events: Any) -> None:
    from pydoc import locate

    holder: Any = locate(owner)
    original: Callable[..., Any] = getattr(holder, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        events.value += 1
        if events.value == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **kwargs)

    setattr(holder, name, counted)
