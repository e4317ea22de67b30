"""What ends a training before it spends hours on nothing, and says why.

Losses that are no number, memory that is not there, processes that were killed.
"""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor

from pgsum.data.batch import Batch
from pgsum.errors import ConfigError, ModelError
from pgsum.training.callbacks import Say

_NAMED_IDS = 8
_OUT_OF_MEMORY = re.compile("can't allocate memory|not enough memory|out of memory")
_WORKER_DIED = re.compile(r"DataLoader worker \(pids?\(?s?\)? ?([\d, ]+)\)")
_ANOTHER_DIED = re.compile("gloo.*Connection (closed|reset) by peer", re.DOTALL)


class SkipNonFinite(pl.Callback):
    """Counts the steps that were left out, since their gradient was no number; too many end it.

    Norms are looked at every so many steps, and before anything is made of the weights: to look is
    to wait for a GPU. `ids_of` names the pairs of some steps, from 1.
    """

    def __init__(
        self, *, every: int, most: int, ids_of: Callable[[list[int]], list[str]], say: Say
    ) -> None:
        self.every = every
        self.most = most
        self.ids_of = ids_of
        self.say = say
        self.norms: list[Tensor] = []
        self.skipped: list[int] = []
        self.step = 0

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        if trainer.global_step == self.step:  # batches are still being gathered for one
            return
        self.step = trainer.global_step
        self.norms.append(pl_module.gradient_norm)  # type: ignore[arg-type]
        if len(self.norms) >= self.every:
            self.check(trainer)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.check(trainer)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.check(trainer)

    def check(self, trainer: pl.Trainer) -> None:
        """Raises ModelError where too many steps were left out, all told."""
        norms = torch.stack(self.norms).tolist() if self.norms else []
        self.norms.clear()
        first = trainer.global_step - len(norms) + 1
        found = [step for step, norm in enumerate(norms, first) if not math.isfinite(norm)]
        if not found:
            return
        self.skipped += found
        ids = self.ids_of(found)
        named = ", ".join(ids[:_NAMED_IDS]) + (", ..." if len(ids) > _NAMED_IDS else "")
        steps = ", ".join(f"{step:,}" for step in found)
        of_them = f"{'step' if len(found) == 1 else 'steps'} {steps}"
        if len(self.skipped) > self.most:
            raise ModelError(
                f"Training diverged: the loss or its gradient is no number at {of_them}, and "
                f"{len(self.skipped):,} steps had to be left out (trainer.max_skipped is "
                f"{self.most:,}). The pairs of these steps: {named}.",
                hint="lower optim.lr or optim.clip_norm, or look at these pairs; the last "
                "checkpoint and the best model before, if any, are kept",
            )
        self.say(
            f"warning: {of_them} left out: the loss or its gradient was no number. Pairs: {named}."
        )

    def state_dict(self) -> dict[str, Any]:
        return {"skipped": self.skipped, "step": self.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.skipped, self.step = list(state_dict["skipped"]), state_dict["step"]


class LastBatch(pl.Callback):
    """Remembers how large the batch is that is being worked at, to be told if memory runs out."""

    def __init__(self) -> None:
        self.size: tuple[int, int, int] | None = None

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        pairs, source = batch.source.source_ids.shape
        self.size = pairs, source, batch.target_input_ids.shape[1]

    @contextmanager
    def explained(self, *, batch_tokens: int) -> Iterator[None]:
        """Raises ConfigError in place of what torch says where memory or a helper is gone."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(str(error)):
                raise self._out_of_memory(batch_tokens) from error
            if died := _WORKER_DIED.search(str(error)):
                raise ConfigError(
                    f"A process that makes batches has died (pid {died[1].strip()}); memory may "
                    "have run out.",
                    where="trainer.loader_workers",
                    hint="set trainer.loader_workers=0",
                ) from error
            if _ANOTHER_DIED.search(str(error)):
                raise ConfigError(
                    "Another process of this training has died; memory may have run out.",
                    where="trainer.devices",
                    hint="what that one said, if anything, is the cause; then go on with --resume, "
                    "or train anew on fewer processes",
                ) from error
            raise

    def _out_of_memory(self, batch_tokens: int) -> ConfigError:
        at = "before the first batch"
        if self.size is not None:
            pairs, source, target = self.size
            at = f"in a batch of {pairs} pairs, {source} tokens by {target}"
        return ConfigError(
            f"Memory ran out {at}.",
            where="trainer.batch_tokens",
            hint=f"set trainer.batch_tokens={max(1, batch_tokens // 2)}, or lower "
            "text.max_source_tokens or trainer.batch_size; trainer.accumulate makes a step of "
            "several batches",
        )
