"""Documents shared out over several processes by Lightning's `predict`; the first gets all results.

Chunks of documents are counted as they are read, which each process does. Each works on every n-th
and writes what came of it to a file of its own; from these the first takes chunk after chunk. What
is padded depends on a chunk alone, so the results are those of one process.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import TextIOBase
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import BasePredictionWriter
from pytorch_lightning.strategies import DDPStrategy
from torch.utils.data import DataLoader, IterableDataset

from pgsum.engine import make_trainer, quiet_lightning
from pgsum.errors import ConfigError, DataError, PgsumError
from pgsum.summarizer import Summarizer

Work = Callable[[Sequence[Any]], Sequence[Any]]
"""From a chunk to a result for each of its items, in JSON's types."""

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_SECONDS_BETWEEN_LOOKS = 0.05


def share_out(
    chunks: Iterable[Sequence[Any]],
    work: Work,
    *,
    summarizer: Summarizer,
    accelerator: str,
    devices: int,
    nodes: int,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Iterator[Any] | None:
    """Each result of `work`, in order and as JSON gives it back; None in all processes but one.

    All processes must read the same chunks; `summarizer` is moved to where its process works.
    Results come when all are there, a chunk at a time in memory. `progress` is told how many items
    have been read. What goes wrong with a chunk, in whichever process, is raised in its place; a
    process that dies is a PgsumError. A signal ends all of them, with 128 and its number.
    """
    strategy = DDPStrategy()
    files = _Files(strategy, threads)
    module = _Shared(summarizer, chunks, work, files, progress)
    with quiet_lightning(), _ended_by_signals(), files:
        trainer = make_trainer(
            accelerator=accelerator,
            strategy=strategy,
            devices=devices,
            num_nodes=nodes,
            callbacks=[files],
            logger=False,
        )
        try:
            trainer.predict(module, return_predictions=False)
        except RuntimeError:  # while they spoke to each other
            files.look_after_the_others(seconds=1.0)
            raise
        return files.merged()


class Share(IterableDataset[tuple[int, int, Any]]):
    """Of each chunk that is this process's: its number, the items read so far, and the chunk.

    What ends the reading is the last for each process: an error in place of the chunk, or None.
    """

    def __init__(
        self,
        chunks: Iterable[Sequence[Any]],
        *,
        rank: int,
        processes: int,
        failed_before: Callable[[int], bool],
    ) -> None:
        self.chunks = chunks
        self.rank = rank
        self.processes = processes
        self.failed_before = failed_before

    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        number = items = 0
        try:
            for chunk in self.chunks:
                if self.failed_before(number):
                    return
                items += len(chunk)
                if number % self.processes == self.rank:
                    yield number, items, chunk
                number += 1
        except Exception as error:  # told by the process whose chunk it would have been
            yield number, items, error
        else:
            yield number, items, None


class _Shared(pl.LightningModule):
    """What a process does with its share; a step makes a line of its file."""

    def __init__(
        self,
        summarizer: Summarizer,
        chunks: Iterable[Sequence[Any]],
        work: Work,
        files: "_Files",
        progress: Callable[[int], object] | None,
    ) -> None:
        super().__init__()
        self.model = summarizer.model
        self.summarizer = summarizer
        self.chunks = chunks
        self.work = work
        self.files = files
        self.progress = progress

    def predict_dataloader(self) -> DataLoader[tuple[int, int, Any]]:
        share = Share(
            self.chunks,
            rank=self.global_rank,
            processes=self.trainer.world_size,
            failed_before=self.files.failed_before,
        )
        return DataLoader(share, batch_size=None)

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        return batch  # of text

    def predict_step(self, batch: tuple[int, int, Any]) -> dict[str, Any]:
        number, items, chunk = batch
        if chunk is None:
            return {"chunks": number, "items": items}
        try:
            if isinstance(chunk, Exception):
                raise chunk
            results = self.work(chunk)
            assert len(results) == len(chunk)
        except Exception as error:
            return {"chunk": number, "error": _as_fields(error)}
        if self.progress is not None:
            self.progress(items)
        return {"chunk": number, "results": list(results)}


class _Files(BasePredictionWriter):
    """A file of each process in a folder that all know, which is gone in the end.

    A file has its name once it is complete, so nobody waits for others within a call that no
    signal can end.
    """

    def __init__(self, strategy: DDPStrategy, threads: int | None) -> None:
        super().__init__("batch")
        self.strategy = strategy
        self.threads = threads
        self.rank = 0
        self.processes = 1
        self.made = ""
        self.folder = Path()
        self.own: TextIO | None = None
        self.parent: int | None = None
        self.begun: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "_Files":
        # Until all are at work: Lightning's own handler waits for the others, whatever they are at.
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for process in [*self.begun.values(), *self._by_lightning()]:
            if error is not None:
                process.kill()
            process.wait()
        if self.own is not None:
            self.own.close()
        if self.made:
            shutil.rmtree(self.made, ignore_errors=True)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Called when the processes know each other."""
        super().setup(trainer, pl_module, stage)
        self.rank, self.processes = trainer.global_rank, trainer.world_size
        if trainer.local_rank > 0:
            self.parent = os.getppid()
        self.begun = dict(enumerate(self._by_lightning(), self.rank + 1))
        # Lightning looks at its list now and then, and where one of them has failed, it kills this
        # process, too, before it could say so.
        self._by_lightning().clear()
        if self.threads is not None:
            torch.set_num_threads(self.threads)  # Lightning shares the cores out
        if self.rank == 0:
            self.made = tempfile.mkdtemp(prefix="pgsum-")
        self.folder = Path(trainer.strategy.broadcast(self.made))
        if self.folder.is_dir():
            self.own = (self.folder / f"{self.rank}.unfinished").open("w")
        if not trainer.strategy.reduce_boolean_decision(self.own is not None, all=True):
            raise ConfigError(
                "The folder for temporary files is not the same on all machines.",
                where=str(self.folder.parent),
                hint="set TMPDIR to a folder that they share",
            )

    def _by_lightning(self) -> "list[subprocess.Popen[bytes]]":
        """The processes that Lightning has begun and looks after; none under torchrun."""
        return getattr(self.strategy.launcher, "procs", [])

    def on_predict_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        _listen()  # Lightning has put its own in place of it
        # Where this one was begun with all of them held back, it sees all but a Ctrl-C: that is for
        # the one that began it.
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask - {*_SIGNALS[1:]})

    def write_on_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        prediction: dict[str, Any],
        batch_indices: object,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int,
    ) -> None:
        if self.parent is not None and os.getppid() != self.parent:
            sys.exit(1)  # nobody is left to read it
        assert self.own is not None
        self.own.write(json.dumps(prediction) + "\n")
        if "error" in prediction:
            (self.folder / f"failed.{prediction['chunk']}").touch()
        self.look_after_the_others()

    def failed_before(self, number: int) -> bool:
        """Whether a chunk before this one went wrong: nobody will ask for more."""
        return any(int(path.suffix[1:]) < number for path in self.folder.glob("failed.*"))

    def on_predict_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert self.own is not None
        self.own.close()
        (self.folder / f"{self.rank}.unfinished").rename(self._complete(self.rank))

    def _complete(self, rank: int) -> Path:
        return self.folder / f"{rank}.jsonl"

    def merged(self) -> Iterator[Any] | None:
        """All results, in order, once all processes are done; None but in the first."""
        if self.rank > 0:
            return None
        paths = [self._complete(rank) for rank in range(self.processes)]
        while not all(path.exists() for path in paths):
            self.look_after_the_others()
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        return merged([path.open() for path in paths])

    def look_after_the_others(self, *, seconds: float = 0.0) -> None:
        """PgsumError where one that this process began has died, or does so within `seconds`."""
        for rank, process in self.begun.items():
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            if process.returncode and not self._complete(rank).exists():
                raise PgsumError(
                    f"Process {rank + 1} of {self.processes} died: "
                    + (
                        f"it was ended by signal {-process.returncode}."
                        if process.returncode < 0
                        else f"it left with exit code {process.returncode}."
                    ),
                    hint="it may have run out of memory: free some, or use fewer processes",
                )


def merged(files: Sequence[TextIOBase]) -> Iterator[Any]:
    """The results, chunk after chunk; nothing twice, and nothing missing."""
    with ExitStack() as stack:
        for file in files:
            stack.enter_context(file)
        for number in count():
            line = json.loads(files[number % len(files)].readline())
            if "chunks" in line:
                break
            if line["chunk"] != number:
                raise _different()
            if "error" in line:
                raise _raised(line["error"])
            yield from line["results"]
        others = [file for place, file in enumerate(files) if place != number % len(files)]
        if number != line["chunks"] or any(json.loads(file.readline()) != line for file in others):
            raise _different()


def _different() -> DataError:
    return DataError(
        "The processes did not read the same documents.",
        hint="let nobody change them meanwhile, and give each machine the same files",
    )


def _as_fields(error: Exception) -> dict[str, Any]:
    told = "".join(traceback.format_exception(error))
    if isinstance(error, PgsumError):
        parts = {"message": error.message, "where": error.where, "hint": error.hint}
        return {"parts": parts, "exit_code": error.exit_code, "traceback": told}
    return {"fault": f"{type(error).__name__}: {error}", "traceback": told}


def _raised(fields: dict[str, Any]) -> Exception:
    """The error that some process met, to be raised in this one."""
    if "fault" in fields:
        error: Exception = RuntimeError(fields["fault"])
    else:
        parts = fields["parts"]
        error = known = PgsumError(parts["message"], where=parts["where"], hint=parts["hint"])
        known.exit_code = fields["exit_code"]
    error.add_note(fields["traceback"])
    return error


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Meanwhile a signal ends the process as an exception would, and puts all in order."""
    before = {signum: signal.getsignal(signum) for signum in _SIGNALS}
    _listen()
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _listen() -> None:
    for signum in _SIGNALS:
        if signal.getsignal(signum) != signal.SIG_IGN:  # as `nohup` wants it
            signal.signal(signum, _leave)


def _leave(signum: int, frame: FrameType | None) -> None:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # what is put in order now takes a moment
    sys.exit(128 + signum)
