"""The LightningModule: loss, logging, optimizer; the mathematics is in pgsum.nn."""

import math
from typing import cast

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from pgsum.config import OptimConfig
from pgsum.data.batch import Batch
from pgsum.environment import memory_in_use
from pgsum.nn.loss import Loss
from pgsum.nn.model import PointerGenerator


def learning_rate_share(config: OptimConfig, step: int, *, max_steps: int) -> float:
    """Share of `optim.lr` that step `step` (from 0) uses: a linear warm-up, then the decay."""
    if step < config.warmup_steps:
        return (step + 1) / config.warmup_steps
    if config.decay == "none":
        return 1.0
    progress = min(1.0, (step - config.warmup_steps) / max(1, max_steps - config.warmup_steps))
    share = 1 - progress if config.decay == "linear" else (1 + math.cos(math.pi * progress)) / 2
    return config.final_lr + (1 - config.final_lr) * share


def build_optimizer(model: torch.nn.Module, config: OptimConfig) -> torch.optim.Optimizer:
    """Adam (fused: a tenth of the time of one kernel per weight) or Adagrad."""
    if config.name == "adagrad":
        return torch.optim.Adagrad(
            model.parameters(),
            lr=config.lr,
            initial_accumulator_value=config.accumulator,
            weight_decay=config.weight_decay,
        )
    return torch.optim.AdamW(
        model.parameters(), lr=config.lr, weight_decay=config.weight_decay, fused=True
    )


class TrainingModule(pl.LightningModule):
    """A model with its optimizer.

    `usual_tokens`: target tokens of the average batch, for which the loss counts once.
    """

    def __init__(
        self,
        model: PointerGenerator,
        optim: OptimConfig,
        *,
        max_steps: int,
        usual_tokens: float,
        bfloat16_products: bool,
        log_every: int,
    ) -> None:
        super().__init__()
        self.model = model
        self.optim = optim
        self.max_steps = max_steps
        self.usual_tokens = usual_tokens
        self.bfloat16_products = bfloat16_products
        self.log_every = log_every
        self.gradient_norm = torch.zeros(())
        """Of the last step, before it was clipped; what is no number made no step."""

    def loss(self, batch: Batch) -> Loss:
        # Only matrix products run in bfloat16; attention's softmax and the loss stay in float32.
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16_products):
            state = self.model.encode(
                batch.source.source_ids,
                batch.source.source_extended_ids,
                batch.source.source_mask,
                batch.source.max_source_oovs,
            )
            return self.model.loss(
                state,
                batch.target_input_ids,
                batch.target_extended_ids,
                batch.gold_positions,
                label_smoothing=self.optim.label_smoothing,
            )

    def on_fit_start(self) -> None:
        # A model from a bundle comes in evaluation mode, as does one that a Summarizer validates,
        # and Lightning leaves it so: nothing would be dropped.
        self.train()

    def training_step(self, batch: Batch, batch_idx: int) -> dict[str, Tensor]:
        loss = self.loss(batch)
        unreachable = 1 - loss.tokens / batch.target_tokens
        values: dict[str, Tensor | float] = {
            "train_loss": loss.nll,
            "train_unreachable": unreachable,
        }
        if self.model.pointer:
            values["train_p_gen"] = loss.p_gen
        if self.model.decoder.coverage:
            values["train_coverage_loss"] = loss.coverage
        self.log_dict(values, batch_size=len(batch))
        # A batch holds targets of like length. Were each batch's mean followed as it is, a token
        # of a short target would weigh more than one of a long target, its EOS above all, and the
        # model would learn to stop early.
        return {"loss": loss.total * (loss.tokens / self.usual_tokens), "nll": loss.nll}

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        loss = self.loss(batch)
        self.log("val_loss", loss.nll, batch_size=loss.tokens, on_epoch=True)

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clips all gradients together; those that hold what is no number make no step.

        Several processes have the same gradients by now, so they leave out the same steps.
        """
        with_gradient = [p for p in self.parameters() if p.grad is not None]
        norm = get_total_norm([p.grad for p in with_gradient if p.grad is not None])
        self.gradient_norm = norm
        if self.optim.clip_norm:
            clip_grads_with_norm_(with_gradient, self.optim.clip_norm, norm)
        if self._may_be_logged(self.global_step + 1):
            self.log("grad_norm", norm)
            self.log("learning_rate", optimizer.param_groups[0]["lr"])
            if (memory := memory_in_use()) is not None:
                self.log("memory_mb", memory / 2**20)
        if optimizer.defaults.get("fused"):
            # As torch.amp.GradScaler tells it: a GPU need not be waited for.
            optimizer.found_inf = (~norm.isfinite()).float()  # type: ignore[attr-defined]
        elif not norm.isfinite():
            optimizer.zero_grad()

    def _may_be_logged(self, step: int) -> bool:
        """So may the last one, which a validation follows: Lightning writes it, whatever it is."""
        batches = step * self.trainer.accumulate_grad_batches
        every = cast(int, self.trainer.val_check_batch)
        return 0 in (step % self.log_every, batches % every) or step == self.max_steps

    def configure_optimizers(self) -> dict[str, object]:  # type: ignore[override]
        optimizer = build_optimizer(self.model, self.optim)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer,
            lambda step: learning_rate_share(self.optim, step, max_steps=self.max_steps),
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
