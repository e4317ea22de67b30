"""Checkpoints: all that a training is between two steps, so that it goes on as if never stopped.

Knows files and Lightning's state. Knows nothing of whether a run may go on; that is resume.py.
"""

import io
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pytorch_lightning as pl
import torch
import torch.distributed
from lightning_fabric.plugins.io.checkpoint_io import CheckpointIO
from torch import Tensor

from pgsum.config import OptimConfig
from pgsum.data.batch import Batch
from pgsum.errors import ConfigError, ModelError
from pgsum.training.module import TrainingModule
from pgsum.training.stopping import Signals, Stopped

LAST, PREVIOUS = "last.ckpt", "previous.ckpt"
_FORMAT = 1
_UNFINISHED = ".unfinished-"

Amend = Callable[[dict[str, Any]], object]
"""Given a checkpoint that was read, changes it before it is used."""


class CheckpointFiles(CheckpointIO):
    """Files that are whole or not there; the one before stays beside the last.

    Lightning's own would write to the system's folder for temporary files first, which may be on
    another disk, and waits for no disk.
    """

    def __init__(self, amend: Amend | None = None) -> None:
        self.amend = amend

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None
    ) -> None:
        """Raises ConfigError where it cannot be written; what stood there stays."""
        path = Path(path)
        content = io.BytesIO()  # torch, writing the file itself, would call a full disk otherwise
        torch.save(checkpoint, content)
        unfinished = path.with_name(f"{_UNFINISHED}{path.name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with unfinished.open("wb") as file:
                file.write(content.getbuffer())
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                path.replace(path.with_name(PREVIOUS))
            unfinished.replace(path)
            _write_through(path.parent)
        except OSError as error:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise ConfigError(
                f"The checkpoint cannot be written: {error.strerror or error}.",
                where=str(path),
                hint=f"make room there, then go on: pgsum train --resume {path.parent.parent}",
            ) from error

    def load_checkpoint(
        self,
        path: str | os.PathLike[str],
        map_location: Any = None,
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        """Raises ModelError where it is damaged."""
        checkpoint = read_checkpoint(Path(path))
        if self.amend is not None:
            self.amend(checkpoint)
        return checkpoint

    def remove_checkpoint(self, path: str | os.PathLike[str]) -> None:
        Path(path).unlink(missing_ok=True)


def _write_through(folder: Path) -> None:
    """Names in a folder, too, outlast a power cut, where the system can be asked for that."""
    with suppress(OSError, AttributeError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """What a file holds; nothing in it is executed. ModelError where it is damaged."""
    try:
        content = io.BytesIO(path.read_bytes())
    except OSError as error:
        raise ModelError(
            f"The checkpoint cannot be read: {error.strerror or error}.", where=str(path)
        ) from error
    try:
        with zipfile.ZipFile(content) as archive:
            if archive.testzip() is not None:  # torch writes sums of its tensors, and reads none
                raise _damaged(path)
        content.seek(0)
        checkpoint = torch.load(content, map_location="cpu", weights_only=True)
    except ModelError:
        raise
    except Exception as error:  # there are many names for a file that is damaged
        raise _damaged(path) from error
    if not isinstance(checkpoint, dict) or not {"pgsum", "state_dict", "loops"} <= set(checkpoint):
        raise _damaged(path)
    if checkpoint["pgsum"].get("format") != _FORMAT:
        raise ModelError(
            "Another version of pgsum wrote the checkpoint.",
            where=str(path),
            hint="go on with that version, or train anew",
        )
    return cast(dict[str, Any], checkpoint)


def _damaged(path: Path) -> ModelError:
    other = path.with_name(PREVIOUS)
    hint = (
        f"the one before it stands beside it: remove {path.name}, and go on from that"
        if path.name == LAST and other.is_file()
        else "train anew; what stands in the run's model/ is not touched by this"
    )
    return ModelError("The checkpoint is damaged.", where=str(path), hint=hint)


def newest_checkpoint(run_dir: Path) -> Path | None:
    """The last one, or the one before where the last is just being put in its place."""
    paths = (run_dir / "ckpt" / name for name in (LAST, PREVIOUS))
    return next((path for path in paths if path.is_file()), None)


def remove_leftovers(run_dir: Path) -> None:
    """What was being written when a process was killed: a checkpoint, a file, a bundle."""
    hidden = (run_dir.glob(name) for name in (".*.part", ".begun"))
    for path in chain((run_dir / "ckpt").glob(f"{_UNFINISHED}*"), *hidden):
        path.unlink()
    for folder in run_dir.glob(".model.*"):
        shutil.rmtree(folder)


class Checkpoints(pl.Callback):
    """Saves between two steps, every so many, before and after a validation, and when asked to.

    Lightning's own hooks for this lie before a step's metrics are logged, or within a validation,
    and going on from there repeats or leaves out one or the other. Here a step is over with all
    that follows it when its state is saved, and going on is a matter of the next batch.

    `about` is what the run depends on, in JSON's types, to be compared with when it is to go on.
    """

    def __init__(
        self,
        folder: Path,
        *,
        every: int,
        validate_every: int,
        accumulate: int,
        optim: OptimConfig,
        about: Mapping[str, Any],
        signals: Signals,
        sound: Callable[[pl.Trainer], object],
    ) -> None:
        self.path = folder / LAST
        self.every = every
        self.validate_every = validate_every
        self.accumulate = accumulate
        self.optim = optim
        self.about = about
        self.signals = signals
        self.sound = sound  # raises where the weights are not worth saving
        self.saved_at: int | None = None
        self.random: dict[str, Any] | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.signals.listen()
        if self.random is None:
            # Each process drops its own; the first draws as a single one would.
            if trainer.global_rank:
                torch.manual_seed(torch.initial_seed() + trainer.global_rank)
            return
        # All batches are one endless epoch. Lightning is to see a new one begin here: what it would
        # take up halfway is over.
        loop = trainer.fit_loop.epoch_loop
        loop.restarting = False
        done: Any = loop.batch_progress.total
        done.ready = done.started = done.processed = done.completed
        # The schedule by today's settings: the saved one would still have the rate it began with.
        for config in trainer.lr_scheduler_configs:
            schedule = cast(torch.optim.lr_scheduler.LambdaLR, config.scheduler)
            schedule.base_lrs = [self.optim.lr] * len(schedule.base_lrs)
            for group, share in zip(
                schedule.optimizer.param_groups, schedule.lr_lambdas, strict=True
            ):
                group["lr"] = self.optim.lr * share(schedule.last_epoch)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        if self.random is not None:
            _set_random(self.random)
            self.random = None
        if batch_idx % self.accumulate:
            return
        step = trainer.global_step
        signum = self.signals.agreed(trainer)
        if signum is not None or step % self.every == 0 or self._near_validation(trainer, step):
            self.save(trainer)
        if signum is not None:
            raise Stopped(signum)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.save(trainer)

    def _near_validation(self, trainer: pl.Trainer, step: int) -> bool:
        """Whether the step before this one was followed by a validation, or this one will be."""
        beside = (step % self.validate_every, (step + 1) % self.validate_every)
        return 0 in beside or step + 1 == trainer.max_steps

    def save(self, trainer: pl.Trainer) -> None:
        """What is there already is not written again."""
        if self.saved_at != trainer.global_step:
            self.sound(trainer)
            trainer.save_checkpoint(self.path)
            self.saved_at = trainer.global_step

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        # Called in each process, and only the first one writes.
        checkpoint["pgsum"] = {
            "format": _FORMAT,
            "about": dict(self.about),
            "random": gathered(trainer, _get_random()),
        }

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        self.random = checkpoint["pgsum"]["random"][trainer.global_rank]
        self.saved_at = checkpoint["global_step"]


def gathered(trainer: pl.Trainer, own: Any) -> list[Any]:
    """What each process has, in their order."""
    if trainer.world_size == 1:
        return [own]
    every: list[Any] = [None] * trainer.world_size
    torch.distributed.all_gather_object(every, own)
    return every


def _get_random() -> dict[str, Any]:
    on_gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": on_gpus}


def _set_random(state: Mapping[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])


def add_parameter(checkpoint: dict[str, Any], module: TrainingModule, name: str) -> None:
    """Makes the checkpoint of a model without the parameter `name` one of a model with it.

    It is zero; the optimizer, which counts parameters by their order, keeps what it remembers of
    all others.
    """
    if name in checkpoint["state_dict"]:
        return
    # Where the mean of the weights is kept, that is the one, and the weights are the other.
    for weights in (checkpoint["state_dict"], checkpoint.get("current_model_state", {})):
        weights[name] = torch.zeros_like(module.get_parameter(name)).detach()
    names = [known for known, _ in module.named_parameters()]
    place = names.index(name)
    for optimizer in checkpoint["optimizer_states"]:
        state: dict[int, dict[str, Tensor]] = optimizer["state"]
        optimizer["state"] = {n + (n >= place): values for n, values in state.items()}
        (group,) = optimizer["param_groups"]
        group["params"] = list(range(len(names)))
