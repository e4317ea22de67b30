"""train(config): the table of contents of a run."""

import json
import logging
import platform
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from pytorch_lightning.loggers import Logger
from torch import nn

from pgsum.build import build_model
from pgsum.bundle import Bundle, load_bundle, save_bundle
from pgsum.config import Config, ModelConfig
from pgsum.data.datamodule import SummarizationData
from pgsum.data.prepare import Prepared, prepare
from pgsum.data.sources import Corpus
from pgsum.data.vectors import WordVectors
from pgsum.environment import versions
from pgsum.errors import ConfigError
from pgsum.metrics.rouge import Rouge
from pgsum.metrics.tokens import tokenizer_for
from pgsum.summarizer import Summarizer
from pgsum.training.callbacks import (
    Curves,
    EventFiles,
    MetricsFile,
    Report,
    Say,
    SearchValidation,
    StopOnNonFinite,
    TrainingProgress,
    report_nothing,
)
from pgsum.training.card import model_card
from pgsum.training.folder import make_run_folder, run_folder
from pgsum.training.module import TrainingModule
from pgsum.training.plan import (
    check_embeddings,
    check_installation,
    read_corpus,
    read_embeddings,
)

# Of a model that training starts from, these may change without touching a weight.
_FREE = ("name", "dropout", "coverage_weight")


def say_on_stderr(line: str) -> None:
    """For callers without a console of their own."""
    print(line, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class TrainResult:
    """Where a run is, and the best scores (0 to 100) it reached on its validation sample.

    `stopped` is "finished", "early" (no better for `trainer.patience` validations), "interrupted"
    (Ctrl-C) or "terminated" (SIGTERM).
    """

    run_dir: Path
    model_dir: Path
    scores: dict[str, float]
    stopped: str


def train(
    config: Config,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    init: Path | None = None,
    say: Say = say_on_stderr,
    report: Report = report_nothing,
) -> TrainResult:
    """Train a summarizer and leave a run folder behind.

    `init` names a bundle to start from: its weights, vocabulary and architecture. `say` is told
    each line that a person should see, `report` how far it has come. Raises ConfigError, DataError,
    and ModelError where training diverges.
    """
    started = time.time()
    start = load_bundle(init) if init is not None else None
    if start is not None:
        model_config = same_architecture(config.model, start)
        config = replace(config, model=model_config, text=start.config.text)
    run_folder(config, out, overwrite=overwrite)  # refused now rather than in the end
    check_embeddings(config.model)  # likewise
    check_installation(config.trainer)
    if config.trainer.threads is not None:
        torch.set_num_threads(config.trainer.threads)
    pl.seed_everything(config.trainer.seed, verbose=False)

    say("reading the corpus")
    corpus = read_corpus(config, report)
    say("tokenizing it (once; it is kept for the next run)")
    prepared = prepare(
        corpus,
        config.text,
        validation_pairs=config.trainer.validation_pairs,
        workers=config.data.workers,
        vocab=start.vocab if start else None,
        surface=start.surface if start else None,
    )
    model = build_model(config.model, len(prepared.vocab))
    if start is not None:
        model.load_state_dict(start.model.state_dict())
    vectors = read_embeddings(config.model, prepared.vocab)
    if vectors is not None:
        begin_with(vectors, model.embedding)
    bundle = Bundle(config, prepared.vocab, prepared.surface, model)
    for line in description(corpus, prepared, vectors, bundle):
        say(line)
    run_dir = make_run_folder(config, out, overwrite=overwrite)
    prepared.vocab.save(run_dir / "vocab.json")
    return Run(
        run_dir, corpus, prepared, vectors, bundle, say=say, report=report, started=started
    ).fit()


class Run:
    """One training: the trainer, and what is left behind however it ends."""

    def __init__(
        self,
        run_dir: Path,
        corpus: Corpus,
        prepared: Prepared,
        vectors: WordVectors | None,
        bundle: Bundle,
        *,
        say: Say,
        report: Report,
        started: float,
    ) -> None:
        self.config = bundle.config
        self.run_dir = run_dir
        self.model_dir = run_dir / "model"
        self.corpus = corpus
        self.prepared = prepared
        self.vectors = vectors
        self.bundle = bundle
        self.say = say
        self.started = started
        references = [pair.references for pair in prepared.validation]
        self.rouge = Rouge(tokenizer_for(chain(*references)))
        self.signature = self.rouge.signature(references, trials=0, seed=self.config.trainer.seed)
        self.best: dict[str, float] | None = None
        settings = self.config.trainer
        self.non_finite = StopOnNonFinite(every=settings.log_every)
        self.validate_every = min(settings.validate_every, settings.max_steps)
        self.progress = TrainingProgress(
            report, max_steps=settings.max_steps, validate_every=self.validate_every
        )

    def fit(self) -> TrainResult:
        with quiet_lightning():
            return self._fit()

    def _fit(self) -> TrainResult:
        settings = self.config.trainer
        trainer = self.trainer()
        module = TrainingModule(
            self.bundle.model,
            self.config.optim,
            max_steps=settings.max_steps,
            usual_tokens=settings.batch_size * float(self.prepared.target_lengths.mean()),
            bfloat16_products=use_bfloat16(settings.precision, trainer.strategy.root_device),
            log_every=settings.log_every,
        )
        stopped = "finished"
        on_interrupt = signal.getsignal(signal.SIGINT)
        try:
            trainer.fit(module, SummarizationData(self.prepared, settings))
        except SystemExit:
            # Lightning's answer to Ctrl-C and SIGTERM. It also makes the process deaf to the next
            # Ctrl-C, which is just right until the model is saved.
            if not trainer.interrupted:
                raise
            stopped = "terminated" if trainer.received_sigterm else "interrupted"
        try:
            self.non_finite.check(trainer)
            if stopped == "finished" and trainer.global_step < settings.max_steps:
                stopped = "early"
            if self.best is None:
                self.keep(trainer.global_step, None)
            self.write_record(trainer.global_step, stopped)
        finally:
            if stopped == "interrupted":
                signal.signal(signal.SIGINT, on_interrupt)
        return TrainResult(self.run_dir, self.model_dir, self.best or {}, stopped)

    def trainer(self) -> pl.Trainer:
        settings = self.config.trainer
        checkpoints = self.run_dir / "ckpt"
        monitor = f"val_{settings.metric}"
        metrics = MetricsFile(self.run_dir / "metrics.jsonl")
        callbacks: list[pl.Callback] = [
            self.progress,
            self.non_finite,
            SearchValidation(
                Summarizer(self.bundle),
                self.prepared.validation,
                self.rouge,
                metric=settings.metric,
                say=self.say,
                keep=self.keep,
            ),
            Curves(metrics.path, metric=settings.metric, say=self.say),
            # Two, because `save_last` beside `save_top_k=1` keeps the best as the last.
            ModelCheckpoint(checkpoints, "last", enable_version_counter=False),
            ModelCheckpoint(
                checkpoints, f"best-{{step}}-{{{monitor}:.2f}}", monitor=monitor, mode="max"
            ),
        ]
        if settings.patience:
            callbacks.append(
                EarlyStopping(monitor, mode="max", patience=settings.patience, check_finite=True)
            )
        loggers: list[Logger] = [metrics]
        if settings.tensorboard:
            loggers.append(EventFiles(self.run_dir / "tensorboard"))
        return pl.Trainer(
            accelerator=settings.accelerator,
            devices=1,
            max_steps=settings.max_steps,
            max_epochs=-1,
            val_check_interval=self.validate_every,
            check_val_every_n_epoch=None,
            num_sanity_val_steps=0,
            gradient_clip_val=self.config.optim.clip_norm or None,
            log_every_n_steps=settings.log_every,
            logger=loggers,
            callbacks=callbacks,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        )

    def keep(self, step: int, scores: dict[str, float] | None) -> None:
        """The model as it is now becomes the run's bundle."""
        self.best = scores
        card = model_card(
            self.config,
            corpus=self.corpus.name,
            fingerprint=self.corpus.fingerprint,
            training_pairs=len(self.prepared.train),
            validation_pairs=len(self.prepared.validation),
            parameters=count_parameters(self.bundle),
            step=step,
            scores=scores,
            signature=self.signature,
            versions=versions(),
        )
        save_bundle(self.bundle, self.model_dir, card=card)

    def write_record(self, step: int, stopped: str) -> None:
        """run.json: how this run came about and how it ended."""
        record = {
            "stopped": stopped,
            "steps": step,
            "scores": self.best,
            "command": sys.argv,
            "seed": self.config.trainer.seed,
            "threads": torch.get_num_threads(),
            "corpus": {
                "name": self.corpus.name,
                "fingerprint": self.corpus.fingerprint,
                "training_pairs": len(self.prepared.train),
                "notes": [*self.corpus.notes, *self.prepared.notes],
            },
            "vocabulary": self.prepared.vocab.fingerprint,
            "word_vectors": self.vectors and self.vectors.record(),
            "parameters": count_parameters(self.bundle),
            "versions": versions(),
            "platform": platform.platform(),
            "seconds": round(time.time() - self.started, 1),
            "steps_cpu_seconds": round(self.progress.cpu_seconds, 1),
            "target_tokens": self.progress.target_tokens,
        }
        text = json.dumps(record, ensure_ascii=False, indent=1)
        (self.run_dir / "run.json").write_text(text + "\n", encoding="utf-8")


def same_architecture(asked: ModelConfig, start: Bundle) -> ModelConfig:
    """The settings of the model to start from; what may change is as `asked`, where that is not
    the default.

    Raises ConfigError where a setting was asked for that those weights cannot have.
    """
    if asked.embeddings is not None:
        raise ConfigError(
            "model.embeddings names word vectors to begin with, but a model given by --init begins "
            "with its own.",
            where="model.embeddings",
            hint="leave one of the two out",
        )
    has, usual = start.config.model, ModelConfig()
    for setting in fields(ModelConfig):
        name = setting.name
        wanted = getattr(asked, name)
        if name in _FREE or wanted in (getattr(has, name), getattr(usual, name)):
            continue
        raise ConfigError(
            f"model.{name} is {wanted}, but the model given by --init has {getattr(has, name)}.",
            where=f"model.{name}",
            hint="leave the setting out, or train without --init",
        )
    changed = {name: getattr(asked, name) for name in _FREE}
    changed = {name: value for name, value in changed.items() if value != getattr(usual, name)}
    return replace(has, embeddings=None, **changed)


def begin_with(vectors: WordVectors, embedding: nn.Embedding) -> None:
    """The vectors found become rows of the table, as they come.

    GloVe's have norms around 5, other rows near 1, and tied output weights are rows, too. To bring
    the former to the latter by one factor was worse: after 200 steps on the quickstart's corpus
    (sources cut to 100 tokens, size 50) the validation loss was 3.87 as they come, 4.15 scaled,
    4.18 without vectors; after 500 3.58 as they come, 3.68 scaled; with output weights apart,
    after 200, 4.07 and 4.28. Nothing was dropped in these trainings.
    """
    found = torch.from_numpy(vectors.found)
    with torch.no_grad():
        embedding.weight[found] = torch.from_numpy(vectors.vectors)[found]


def use_bfloat16(precision: str, device: torch.device) -> bool:
    """Whether matrix products run in bfloat16; `auto`: only where a processor is fast at them."""
    if precision != "auto":
        return precision == "bfloat16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    # Where a processor has instructions for it (AMX has these, too), a step takes 0.6 of the time.
    return device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


def count_parameters(bundle: Bundle) -> int:
    """Trained numbers; a shared table counts once."""
    return sum(parameter.numel() for parameter in bundle.model.parameters())


def description(
    corpus: Corpus, prepared: Prepared, vectors: WordVectors | None, bundle: Bundle
) -> list[str]:
    """What is about to be trained on what, a line each."""
    trainer = bundle.config.trainer
    return [
        f"corpus: {corpus.name}, {len(prepared.train):,} training pairs, "
        f"{len(corpus.validation):,} for validation",
        *(f"note: {note}" for note in (*corpus.notes, *prepared.notes)),
        f"model: {bundle.config.model.name}, {count_parameters(bundle):,} parameters, vocabulary of"
        f" {len(bundle.vocab):,}",
        *([f"word vectors: {vectors}"] if vectors is not None else []),
        f"training: {trainer.max_steps:,} steps of up to {trainer.batch_size} pairs, seed"
        f" {trainer.seed}",
    ]


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Without Lightning's lines on devices, tips and workers; its errors still come through."""
    names = ("pytorch_lightning", "pytorch_lightning.utilities.rank_zero")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="pytorch_lightning")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
