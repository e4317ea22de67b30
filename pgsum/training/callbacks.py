"""What happens around the steps: progress, scores by real search, the best bundle, the log.

What a person should see is handed to callables; nothing here prints.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only
from torch import Tensor

from pgsum.data.batch import Batch
from pgsum.data.records import Pair
from pgsum.errors import ModelError
from pgsum.metrics.rouge import METRICS, Rouge
from pgsum.summarizer import Summarizer

_SHOWN_CHARS = 300

Say = Callable[[str], None]
"""Told one line for a person to read."""
Report = Callable[[str, int, int, str], None]
"""Told a stage of the work, how many of it are done, of how many, and a detail."""


def report_nothing(stage: str, done: int, total: int, detail: str) -> None:
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


class TrainingProgress(pl.Callback):
    """Steps done, with loss and tokens per second."""

    def __init__(self, report: Report, *, max_steps: int) -> None:
        self.report = report
        self.max_steps = max_steps
        self.tokens = 0
        self.seconds = 0.0
        self.resumed = 0.0

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        self.resumed = time.monotonic()

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        self.seconds += time.monotonic() - self.resumed
        self.tokens += batch.source_tokens + batch.target_tokens
        pace = self.tokens / self.seconds
        pl_module.log("tokens_per_second", pace)
        loss = float(outputs["nll"])
        detail = f"loss {loss:.3f}, {pace:,.0f} tokens/s"
        self.report("training", trainer.global_step, self.max_steps, detail)


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
    """A loss that is no number ends the training with a ModelError: nothing good follows it."""

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        loss: Tensor = outputs["loss"]
        if not bool(loss.isfinite()):
            raise ModelError(
                f"Training diverged: the loss became {float(loss)} at step {trainer.global_step}.",
                hint="lower optim.lr or optim.clip_norm; the best model before, if any, is kept",
            )


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + "…"
