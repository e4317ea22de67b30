"""What is told of a training: progress, logs, curves.

What a person should see is handed to callables; nothing here prints.
"""

import errno
import json
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any, Protocol, runtime_checkable

import pytorch_lightning as pl
from pytorch_lightning.loggers import TensorBoardLogger
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from pgsum.data.batch import Batch
from pgsum.data.files import write_whole
from pgsum.errors import ModelError
from pgsum.explain.curves import write_curves

# Nobody reads faster, and each report waits for the loss, which a GPU may still be at.
_SECONDS_BETWEEN_REPORTS = 0.25
_STEPS_BEFORE_ESTIMATE = 50
_STEPS_OF_ESTIMATE = 200

Say = Callable[[str], None]
"""Told one line for a person to read."""


@runtime_checkable  # so that the tests can check it
class Report(Protocol):
    """Told a stage of the work, how many of it are done, of how many, and a detail.

    `seconds_left` is given where it is known better than by the share that is done.
    """

    def __call__(
        self,
        stage: str,
        done: int,
        total: int,
        detail: str = "",
        seconds_left: float | None = None,
    ) -> None: ...


def report_nothing(*_: object, **__: object) -> None:
    """For callers that show no progress."""


class MetricsFile(Logger):
    """metrics.jsonl: one object a line, `step` first, only ever appended to.

    But for a run that goes on: what it is about to do again is not to stand there twice.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    @property
    def name(self) -> str:
        return "metrics"

    @property
    def version(self) -> str:
        return ""

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        values = {name: float(f"{value:.6g}") for name, value in metrics.items() if name != "epoch"}
        if values:
            line = f"{json.dumps({'step': (step or 0) + 1, **values})}\n".encode()
            with self.path.open("ab", buffering=0) as file:
                before = file.tell()
                try:
                    if file.write(line) < len(line):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                except OSError:
                    file.truncate(before)  # no line is to follow on half a line
                    raise

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: the settings are in config.yaml."""

    def forget_after(self, step: int) -> None:
        """Leaves out the lines of later steps, and one that was cut off while it was written.

        Raises ModelError where a line is no object with a step.
        """
        if not self.path.is_file():
            return
        lines = self.path.read_bytes().split(b"\n")[:-1]
        kept = [line + b"\n" for n, line in enumerate(lines, 1) if self._step(line, n) <= step]
        write_whole(self.path, b"".join(kept))

    def _step(self, line: bytes, number: int) -> int:
        try:
            step = json.loads(line)["step"]
            if isinstance(step, int):
                return step
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        raise ModelError(
            "The metrics of the run are damaged: this line is no object with a step.",
            where=f"{self.path}:{number}",
            hint="remove the line, and go on",
        )


class EventFiles(TensorBoardLogger):
    """What metrics.jsonl holds as event files for TensorBoard, under the same steps."""

    def __init__(self, folder: Path, *, purge_step: int | None = None) -> None:
        super().__init__(
            folder, name="", version="", default_hp_metric=False, purge_step=purge_step
        )

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        values = {name: value for name, value in metrics.items() if name != "epoch"}
        super().log_metrics(values, (step or 0) + 1)


class Curves(pl.Callback):
    """curves.html, drawn anew after each validation and at the end, however that comes.

    A page that cannot be written ends no training: `say` is told, once.
    """

    def __init__(self, metrics: Path, *, metric: str, say: Say) -> None:
        self.metrics = metrics
        self.metric = metric
        self.say = say
        self.said = False

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.draw()

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.draw()

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        self.draw()

    def draw(self) -> None:
        try:
            write_curves(self.metrics, metric=self.metric)
        except Exception as error:  # whatever it is, it is not worth a training
            if not self.said:
                self.say(f"note: no curves of this training: {error}")
            self.said = True


class TrainingProgress(pl.Callback):
    """Steps done, with loss, tokens per second and the time that is left; what steps have taken.

    Batches and validations are timed apart: what is left is so many of the one and so many of the
    other, each as long as those before. Until the first validation has been timed, it says that
    they come on top. Tokens are those of this process.
    """

    def __init__(
        self, report: Report, *, max_steps: int, validate_every: int, accumulate: int = 1
    ) -> None:
        self.report = report
        self.max_steps = max_steps
        self.validate_every = validate_every
        self.accumulate = accumulate
        self.tokens = 0
        self.target_tokens = 0
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.batches: deque[float] = deque(maxlen=_STEPS_OF_ESTIMATE * accumulate)
        self.validations: list[float] = []
        self.since = self.cpu_since = 0.0
        self.validated = False
        self.reported = -_SECONDS_BETWEEN_REPORTS

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start()

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        if self.validated:  # then checkpoints have been written since
            self.validations[-1] += time.monotonic() - self.since
            self._start()
            self.validated = False

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        self.cpu_seconds += time.process_time() - self.cpu_since
        now = self._stop(self.batches.append)
        self.seconds += self.batches[-1]
        self.tokens += batch.source_tokens + batch.target_tokens
        self.target_tokens += batch.target_tokens
        pace = self.tokens / self.seconds
        pl_module.log("tokens_per_second", pace)
        done = trainer.global_step
        if now - self.reported < _SECONDS_BETWEEN_REPORTS and done < self.max_steps:
            return
        self.reported = now
        seconds_left, on_top = self.left(done)
        detail = f"{on_top}loss {float(outputs['nll']):.3f}, {pace:,.0f} tokens/s"
        self.report("training", done, self.max_steps, detail, seconds_left=seconds_left)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start()

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._stop(self.validations.append)
        self.validated = True

    def left(self, done: int) -> tuple[float | None, str]:
        """Seconds left after `done` steps, if they can be told, and what these leave out.

        The last step is validated, too, and of this step that is yet to come.
        """
        steps, every = self.max_steps - done, self.validate_every
        if not steps:
            return None, ""
        validations = self.max_steps // every - done // every + (self.max_steps % every > 0)
        validations += done % every == 0
        seconds = steps * self.accumulate * mean(self.batches)
        if self.validations:
            return seconds + validations * mean(self.validations), ""
        on_top = f"plus {validations} validation{'s' if validations > 1 else ''}, "
        enough = len(self.batches) >= _STEPS_BEFORE_ESTIMATE * self.accumulate
        return seconds if enough else None, on_top

    def state_dict(self) -> dict[str, Any]:
        names = ("tokens", "target_tokens", "seconds", "cpu_seconds")
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for name, value in state_dict.items():
            setattr(self, name, value)

    def _start(self) -> None:
        self.since, self.cpu_since = time.monotonic(), time.process_time()

    def _stop(self, keep: Callable[[float], None]) -> float:
        """Keeps the time since the clock was last read, and returns the new time."""
        keep(time.monotonic() - self.since)
        self._start()
        return self.since
