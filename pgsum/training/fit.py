"""One training from its first step, or from where it was left, to what it leaves behind."""

import json
import math
import shlex
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import Logger
from pytorch_lightning.strategies import DDPStrategy

from pgsum.bundle import Bundle, save_bundle
from pgsum.config import to_dict
from pgsum.data.datamodule import SummarizationData
from pgsum.data.files import write_whole
from pgsum.data.prepare import Prepared
from pgsum.data.sources import Corpus
from pgsum.engine import is_first, make_trainer, quiet_lightning, repeatable, use_bfloat16
from pgsum.environment import hardware, versions
from pgsum.metrics.rouge import Rouge
from pgsum.metrics.tokens import tokenizer_for
from pgsum.nn.model import coverage_parameter
from pgsum.summarizer import Summarizer
from pgsum.training.averaging import MeanWeights
from pgsum.training.callbacks import (
    Curves,
    EventFiles,
    MetricsFile,
    Report,
    Say,
    TrainingProgress,
)
from pgsum.training.card import model_card
from pgsum.training.checkpoint import CheckpointFiles, Checkpoints, add_parameter
from pgsum.training.folder import on_its_disk
from pgsum.training.guards import LastBatch, SkipNonFinite
from pgsum.training.module import TrainingModule
from pgsum.training.patience import Patience, settled
from pgsum.training.resume import Earlier
from pgsum.training.stopping import Signals, Stopped
from pgsum.training.validation import SearchValidation


@dataclass(frozen=True)
class TrainResult:
    """Where a run is, and the best scores (0 to 100) it reached on its validation sample.

    `stopped` is "finished", "early" (no better for `trainer.patience` validations), "interrupted"
    (Ctrl-C, or its terminal was closed) or "terminated" (SIGTERM).
    """

    run_dir: Path
    model_dir: Path
    scores: dict[str, float]
    stopped: str


class Run:
    """One training: the trainer, and what is left behind however it ends.

    `about` is what it depends on, in JSON's types; more is added here.
    """

    def __init__(
        self,
        run_dir: Path,
        corpus: Corpus,
        prepared: Prepared,
        bundle: Bundle,
        *,
        about: Mapping[str, Any],
        say: Say,
        report: Report,
        started: float,
        earlier: Earlier | None = None,
    ) -> None:
        self.config = bundle.config
        self.run_dir = run_dir
        self.model_dir = run_dir / "model"
        self.corpus = corpus
        self.prepared = prepared
        self.bundle = bundle
        self.say = say
        self.started = started
        self.earlier = earlier
        settings = self.config.trainer
        self.validate_every = min(settings.validate_every, settings.max_steps)
        self.metrics = MetricsFile(run_dir / "metrics.jsonl")
        before = earlier.about if earlier else {}
        # Sums depend on how many threads share them, and products on their precision.
        torch.set_num_threads(before.get("threads", torch.get_num_threads()))
        self.about = {
            **about,
            "corpus": corpus.fingerprint,
            "vocabulary": prepared.vocab.fingerprint,
            "processes": settings.devices * settings.nodes,
            "settings": to_dict(self.config),
            "threads": torch.get_num_threads(),
            "bfloat16": before.get("bfloat16"),
        }
        references = [pair.references for pair in prepared.validation]
        rouge = Rouge(tokenizer_for(chain(*references)))
        self.signature = rouge.signature(references, trials=0, seed=settings.seed)
        self.data = SummarizationData(prepared, settings)
        self.skipping = SkipNonFinite(
            every=settings.log_every,
            most=settings.max_skipped,
            ids_of=self.data.ids_of_steps,
            say=say,
        )
        self.progress = TrainingProgress(
            report,
            max_steps=settings.max_steps,
            validate_every=self.validate_every,
            accumulate=settings.accumulate,
        )
        self.validation = SearchValidation(
            Summarizer(bundle),
            prepared.validation,
            rouge,
            metric=settings.metric,
            say=say,
            keep=self.keep,
            kept=self.model_dir.is_dir,
        )
        coverage_steps = settings.coverage_steps or math.ceil(settings.max_steps / 10)
        self.patience = Patience(
            self.validation,
            bundle.model,
            patience=settings.patience,
            coverage_at=max(0, settings.max_steps - coverage_steps)
            if self.config.model.coverage == "auto"
            else None,
            say=say,
        )

    def fit(self) -> TrainResult:
        last = LastBatch()
        with (
            on_its_disk(self.run_dir),
            quiet_lightning(),
            last.explained(batch_tokens=self.config.trainer.batch_tokens),
        ):
            return self._fit(last)

    def _fit(self, last: LastBatch) -> TrainResult:
        settings = self.config.trainer
        trainer, module = self.trainer(last)
        stopped, begun_from = "finished", None
        if self.earlier and self.earlier.checkpoint:
            begun_from = self.earlier.checkpoint
        try:
            with repeatable(trainer.strategy.root_device):
                trainer.fit(module, self.data, ckpt_path=begun_from, weights_only=True)
        except Stopped as stop:
            stopped = "terminated" if stop.signum == signal.SIGTERM else "interrupted"
        self.skipping.check(trainer)
        if stopped == "finished" and trainer.global_step < settings.max_steps:
            stopped = "early"
        if is_first():
            if self.validation.best is None:
                self.keep(trainer.global_step, None)
            self.write_record(trainer.global_step, stopped)
        if stopped in ("terminated", "interrupted"):
            self.say(f"to go on: pgsum train --resume {shlex.quote(str(self.run_dir))}")
        return TrainResult(self.run_dir, self.model_dir, self.validation.best or {}, stopped)

    def trainer(self, last: LastBatch) -> tuple[pl.Trainer, TrainingModule]:
        settings = self.config.trainer
        signals = Signals()
        files = CheckpointFiles()
        checkpoints = Checkpoints(
            self.run_dir / "ckpt",
            every=settings.checkpoint_every,
            validate_every=self.validate_every,
            accumulate=settings.accumulate,
            optim=self.config.optim,
            about=self.about,
            signals=signals,
            sound=self.skipping.check,
        )
        loggers: list[Logger] = [self.metrics]
        if settings.tensorboard:
            after = self.earlier.step + 1 if self.earlier else None
            loggers.append(EventFiles(self.run_dir / "tensorboard", purge_step=after))
        callbacks: list[pl.Callback] = [
            signals,
            last,
            # Before the others see the next batch: what they say of it is not yet so.
            checkpoints,
            self.progress,
            self.skipping,
            self.validation,
            self.patience,
        ]
        if is_first():
            curves = Curves(self.metrics.path, metric=settings.metric, say=self.say)
            callbacks.append(curves)
        if decay := self.config.optim.ema_decay:
            callbacks.append(MeanWeights(decay))
        several = settings.devices * settings.nodes > 1
        trainer = make_trainer(
            accelerator=settings.accelerator,
            strategy=DDPStrategy(find_unused_parameters=self.config.model.coverage == "auto")
            if several or settings.strategy == "ddp"
            else "auto",
            devices=settings.devices,
            num_nodes=settings.nodes,
            max_steps=settings.max_steps,
            max_epochs=-1,
            val_check_interval=self.validate_every * settings.accumulate,
            check_val_every_n_epoch=None,
            num_sanity_val_steps=0,
            accumulate_grad_batches=settings.accumulate,
            log_every_n_steps=settings.log_every,
            logger=loggers,
            callbacks=callbacks,
            plugins=[files],
        )
        if self.about["bfloat16"] is None:
            device = trainer.strategy.root_device
            self.about["bfloat16"] = use_bfloat16(settings.precision, device)
        checkpoints.about = self.about
        module = TrainingModule(
            self.bundle.model,
            self.config.optim,
            max_steps=settings.max_steps,
            usual_tokens=settings.batch_size * float(self.prepared.target_lengths.mean()),
            bfloat16_products=self.about["bfloat16"],
            log_every=settings.log_every,
        )
        if self.config.model.coverage == "from_start":
            name = coverage_parameter(self.bundle.model)
            files.amend = partial(add_parameter, module=module, name=f"model.{name}")
        return trainer, module

    def keep(self, step: int, scores: dict[str, float] | None) -> None:
        """The model as it is now becomes the run's bundle."""
        if not is_first():
            return
        bundle = settled(self.bundle)
        card = model_card(
            bundle.config,
            corpus=self.corpus.name,
            fingerprint=self.corpus.fingerprint,
            training_pairs=len(self.prepared.train),
            validation_pairs=len(self.prepared.validation),
            parameters=count_parameters(bundle),
            step=step,
            scores=scores,
            signature=self.signature,
            versions=versions(),
        )
        save_bundle(bundle, self.model_dir, card=card)

    def write_record(self, step: int, stopped: str) -> None:
        """run.json: how this run came about and how it ended."""
        record = {
            "stopped": stopped,
            "steps": step,
            "scores": self.validation.best,
            "command": sys.argv,
            "seed": self.config.trainer.seed,
            "threads": self.about["threads"],
            "bfloat16": self.about["bfloat16"],
            "processes": self.about["processes"],
            "corpus": {
                "name": self.corpus.name,
                "fingerprint": self.corpus.fingerprint,
                "training_pairs": len(self.prepared.train),
                "notes": [*self.corpus.notes, *self.prepared.notes],
            },
            "vocabulary": self.prepared.vocab.fingerprint,
            "word_vectors": self.about["word_vectors"],
            "skipped_steps": self.skipping.skipped,
            "coverage_from": self.patience.switched_at,
            "parameters": count_parameters(self.bundle),
            "versions": versions(),
            "hardware": hardware(),
            "seconds": round(time.time() - self.started, 1),
            "steps_cpu_seconds": round(self.progress.cpu_seconds, 1),
            "target_tokens": self.progress.target_tokens,
        }
        text = json.dumps(record, ensure_ascii=False, indent=1)
        write_whole(self.run_dir / "run.json", text + "\n")


def count_parameters(bundle: Bundle) -> int:
    """Trained numbers; a shared table counts once."""
    return sum(parameter.numel() for parameter in bundle.model.parameters())
