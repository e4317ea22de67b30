"""Trainings and commands that are killed at a chosen moment, in processes of their own.

A moment is a call of one of the functions by which the work moves on or changes what is on the
disk; they are counted together, and before the one asked for the process is killed as by `kill -9`.
"""

import hashlib
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pgsum.training.checkpoint import read_checkpoint

_EVENTS = [
    ("os", "fsync"),
    ("os", "mkdir"),
    ("os", "rename"),
    ("os", "replace"),
    ("pathlib.Path", "unlink"),
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
    ("pgsum.data.cache._PairWriter", "write"),
    ("pgsum.data.prepare", "tokenize"),
    ("pgsum.evaluation", "evaluate"),
    ("pgsum.decode.beam", "expand"),
]

_OF_THE_MACHINE = {"tokens_per_second", "memory_mb"}

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["pgsum.training.run", "pgsum.decode.beam"])


def run_until(
    moment: int | None, settings: Sequence[str], folder: Path, *, resume: bool = False
) -> int:
    """Trains into `folder`, or goes on there, and is killed before event number `moment` (from 1).

    The number of events; fewer than `moment` where it came to its end.
    """
    return _until(moment, _train, list(settings), str(folder), resume)


def command_until(moment: int | None, arguments: Sequence[str], folder: Path) -> int:
    """The same for a command, run in `folder` with a cache below it."""
    return _until(moment, _command, list(arguments), str(folder))


def _until(moment: int | None, function: Callable[..., None], *arguments: object) -> int:
    events = _context.Value("i", 0)
    process = _context.Process(target=_counted, args=(moment, events, function, arguments))
    process.start()
    process.join()
    killed = moment is not None and events.value >= moment
    assert process.exitcode == (-signal.SIGKILL if killed else 0), process.exitcode
    process.close()
    return events.value


def what_it_left(folder: Path) -> dict[str, object]:
    """All that a run leaves but for times: each file of its bundle, its last state, its figures."""
    left: dict[str, object] = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "model").iterdir())
    }
    last = read_checkpoint(folder / "ckpt" / "last.ckpt")
    left["step"] = last["global_step"]
    states = [last["state_dict"], *last["optimizer_states"][0]["state"].values()]
    left["tensors"] = hashlib.sha256(
        b"".join(value.numpy().tobytes() for state in states for value in state.values())
    ).hexdigest()
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    left["metrics"] = [
        {name: value for name, value in json.loads(line).items() if name not in _OF_THE_MACHINE}
        for line in lines
    ]
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    for name in ("stopped", "steps", "scores", "target_tokens", "coverage_from"):
        left[name] = record[name]
    left["others"] = sorted(path.name for path in folder.iterdir())
    left["checkpoints"] = sorted(path.name for path in (folder / "ckpt").iterdir())
    return left


def _counted(
    moment: int | None, events: Any, function: Callable[..., None], arguments: Any
) -> None:
    import torch  # noqa: F401

    for owner, name in _EVENTS:
        _count(owner, name, moment, events)
    function(*arguments)


def _train(settings: list[str], folder: str, resume: bool) -> None:
    from pgsum.config import load_config
    from pgsum.training import run

    if resume and (Path(folder) / "config.yaml").is_file():
        run.resume(Path(folder), say=lambda line: None)
    else:
        run.train(load_config(settings), out=Path(folder), say=lambda line: None)


def _command(arguments: list[str], folder: str) -> None:
    from pgsum.cli.main import main

    os.chdir(folder)
    os.environ["PGSUM_CACHE"] = "cache"
    sys.argv = ["pgsum", *arguments, "--quiet"]
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        main()
    except SystemExit as left:
        if left.code:
            raise


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
