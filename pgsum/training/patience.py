"""What is done when validation no longer gets better: coverage is switched on, or training ends."""

from dataclasses import replace
from typing import Any

import pytorch_lightning as pl

from pgsum.build import build_empty_model
from pgsum.bundle import Bundle
from pgsum.data.batch import Batch
from pgsum.nn.model import PointerGenerator, coverage_parameter
from pgsum.training.callbacks import Say
from pgsum.training.validation import SearchValidation


class Patience(pl.Callback):
    """Counts validations without a better score; after `patience` of them (0: never) it acts.

    A model whose coverage waits gets it then, or at step `coverage_at` at the latest, and all the
    patience anew: See et al. 2017, section 5, train so, with the phases set by hand. What the
    optimizer has learned stays.
    """

    def __init__(
        self,
        validation: SearchValidation,
        model: PointerGenerator,
        *,
        patience: int,
        coverage_at: int | None,
        say: Say,
    ) -> None:
        self.validation = validation
        self.model = model
        self.patience = patience
        self.coverage_at = coverage_at
        self.say = say
        self.waited = 0
        self.switched_at: int | None = None

    @property
    def coverage_waits(self) -> bool:
        return self.coverage_at is not None and self.switched_at is None

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        if self.coverage_waits and trainer.global_step >= (self.coverage_at or 0):
            self.switch(trainer.global_step, "the last steps have it")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.waited = 0 if self.validation.improved else self.waited + 1
        if not self._out_of_patience:
            return
        if self.coverage_waits and trainer.global_step < trainer.max_steps:
            self.switch(trainer.global_step, f"no better score in {self.waited} validations")
        else:
            trainer.should_stop = True

    @property
    def _out_of_patience(self) -> bool:
        return 0 < self.patience <= self.waited

    def switch(self, step: int, why: str) -> None:
        """Coverage on."""
        self.say(f"step {step:,}: coverage is on from here: {why}")
        self.switched_at = step
        self.waited = 0
        self.model.decoder.coverage = True
        self.validation.equal_will_do = True

    def state_dict(self) -> dict[str, Any]:
        return {"waited": self.waited, "switched_at": self.switched_at}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.waited, self.switched_at = state_dict["waited"], state_dict["switched_at"]
        if self.switched_at is not None:
            self.model.decoder.coverage = True

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # Killed after its last validation, a run has nothing left to do but to be wound up.
        if self._out_of_patience:
            trainer.should_stop = True


def settled(bundle: Bundle) -> Bundle:
    """The bundle whose model has coverage or has not: no longer `auto`.

    Its tensors are those of `bundle`.
    """
    if bundle.config.model.coverage != "auto":
        return bundle
    has_it = bundle.model.decoder.coverage
    settings = replace(bundle.config.model, coverage="from_start" if has_it else "none")
    model = build_empty_model(settings, len(bundle.vocab))
    weights = bundle.model.state_dict()
    if not has_it:
        weights.pop(coverage_parameter(bundle.model) or "")
    model.load_state_dict(weights, assign=True)
    if settings.tie_embeddings:
        model.projection.weight = model.embedding.weight
    return replace(bundle, config=replace(bundle.config, model=settings), model=model.eval())
