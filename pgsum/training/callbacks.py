"""What happens around the steps: progress, scores by real search, the best bundle, the logs.

What a person should see is handed to callables; nothing here prints.
"""

import json
import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any, Protocol, runtime_checkable

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import TensorBoardLogger
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only
from torch import Tensor

from pgsum.data.batch import Batch
from pgsum.data.records import Pair
from pgsum.errors import ModelError
from pgsum.explain.curves import write_curves
from pgsum.metrics.rouge import METRICS, Rouge
from pgsum.summarizer import Summarizer

_SHOWN_CHARS = 300

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
    """metrics.jsonl: one object a line, `step` first, only ever appended to."""

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
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": (step or 0) + 1, **values}) + "\n")

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: the settings are in config.yaml."""


class EventFiles(TensorBoardLogger):
    """What metrics.jsonl holds as event files for TensorBoard, under the same steps."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, name="", version="", default_hp_metric=False)

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

    Steps and validations are timed apart: what is left is so many of the one and so many of the
    other, each as long as those before. Until the first validation has been timed, it says that
    they come on top.
    """

    def __init__(self, report: Report, *, max_steps: int, validate_every: int) -> None:
        self.report = report
        self.max_steps = max_steps
        self.validate_every = validate_every
        self.tokens = 0
        self.target_tokens = 0
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.steps: deque[float] = deque(maxlen=_STEPS_OF_ESTIMATE)
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
        now = self._stop(self.steps.append)
        self.seconds += self.steps[-1]
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
        seconds = steps * mean(self.steps)
        if self.validations:
            return seconds + validations * mean(self.validations), ""
        on_top = f"plus {validations} validation{'s' if validations > 1 else ''}, "
        return seconds if len(self.steps) >= _STEPS_BEFORE_ESTIMATE else None, on_top

    def _start(self) -> None:
        self.since, self.cpu_since = time.monotonic(), time.process_time()

    def _stop(self, keep: Callable[[float], None]) -> float:
        """Keeps the time since the clock was last read, and returns the new time."""
        keep(time.monotonic() - self.since)
        self._start()
        return self.since


class SearchValidation(pl.Callback):
    """ROUGE of real summaries of a fixed sample; the best model so far is kept as a bundle.

    `keep` is called with the scores (0 to 100) whenever `metric` is better than ever before.
    """

    def __init__(
        self,
        summarizer: Summarizer,
        pairs: tuple[Pair, ...],
        rouge: Rouge,
        *,
        metric: str,
        say: Say,
        keep: Callable[[int, dict[str, float]], None],
    ) -> None:
        self.summarizer = summarizer
        self.pairs = pairs
        self.rouge = rouge
        self.metric = metric
        self.say = say
        self.keep = keep
        self.best: float | None = None

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        if trainer.global_step == trainer.max_steps:
            # Asked to stop, Lightning validates once more: the last weights are scored, too.
            trainer.should_stop = True

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        pl_module.eval()
        scores, summaries = self.scores()
        pl_module.log_dict({f"val_{name}": value for name, value in scores.items()})
        figures = ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
        self.say(f"step {trainer.global_step:,}: {figures}")
        for pair, summary in list(zip(self.pairs, summaries, strict=True))[:2]:
            self.say(f"  reference: {_one_line(pair.references[0])}")
            self.say(f"  model:     {_one_line(summary)}")
        if self.best is None or scores[self.metric] > self.best:
            self.best = scores[self.metric]
            self.keep(trainer.global_step, scores)

    def scores(self) -> tuple[dict[str, float], list[str]]:
        """Mean F1 of each ROUGE, 0 to 100, and the summaries that were scored."""
        best = self.summarizer.summarize([pair.document for pair in self.pairs])
        summaries = [several[0].text for several in best]
        each = [
            self.rouge.score(summary, pair.references)
            for summary, pair in zip(summaries, self.pairs, strict=True)
        ]
        means = {name: 100 * sum(s[name].f for s in each) / len(each) for name in METRICS}
        means["rouge_mean"] = (means["rouge1"] + means["rouge2"] + means["rougeL"]) / 3
        return means, summaries


class StopOnNonFinite(pl.Callback):
    """A loss that is no number ends the training with a ModelError: nothing good follows it.

    Losses are looked at every so many steps, and before anything is made of the weights: to look
    is to wait for a GPU.
    """

    def __init__(self, *, every: int) -> None:
        self.every = every
        self.losses: list[Tensor] = []

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        self.losses.append(outputs["loss"])
        if len(self.losses) >= self.every:
            self.check(trainer)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.check(trainer)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.check(trainer)

    def check(self, trainer: pl.Trainer) -> None:
        losses = torch.stack(self.losses).tolist() if self.losses else []
        self.losses.clear()
        for step, loss in enumerate(losses, trainer.global_step - len(losses) + 1):
            if not math.isfinite(loss):
                raise ModelError(
                    f"Training diverged: the loss became {loss} at step {step}.",
                    hint="lower optim.lr or optim.clip_norm; the best model before, if any, is "
                    "kept",
                )


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + "…"
