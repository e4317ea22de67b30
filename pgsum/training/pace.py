"""How long a training would take on this machine, told from a few of its steps."""

import time
from typing import NamedTuple

import torch
from torch.nn.utils import clip_grad_norm_

from pgsum.build import build_model
from pgsum.config import Config
from pgsum.data.datamodule import SummarizationData
from pgsum.data.prepare import Prepared
from pgsum.engine import use_bfloat16
from pgsum.training.module import TrainingModule, build_optimizer

_MOST_STEPS = 20
_MOST_SECONDS = 15.0


class Pace(NamedTuple):
    """Of steps that were timed; a training's validations come on top."""

    timed_steps: int
    seconds_per_step: float
    seconds: float
    """Of all `trainer.max_steps`."""


def time_steps(config: Config, prepared: Prepared) -> Pace:
    """Real steps of a fresh model, timed: 20, or as many as go into 15 seconds, but at least one.

    The first step is not among them: it sets up what all others use.
    """
    settings = config.trainer
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    on_gpu = settings.accelerator != "cpu" and torch.cuda.is_available()
    device = torch.device("cuda" if on_gpu else "cpu")
    module = TrainingModule(
        build_model(config.model, len(prepared.vocab)),
        config.optim,
        max_steps=settings.max_steps,
        usual_tokens=1.0,
        bfloat16_products=use_bfloat16(settings.precision, device),
        log_every=settings.log_every,
    ).to(device)
    optimizer = build_optimizer(module, config.optim)
    ends: list[float] = []
    for batch in SummarizationData(prepared, settings).train_dataloader():
        optimizer.zero_grad()
        loss = module.loss(batch.to(device))
        loss.total.backward()
        if config.optim.clip_norm:
            clip_grad_norm_(module.parameters(), config.optim.clip_norm)
        optimizer.step()
        loss.nll.item()  # waits for the device
        ends.append(time.perf_counter())
        steps, seconds = len(ends) - 1, ends[-1] - ends[0]
        if steps == _MOST_STEPS or (steps and seconds > _MOST_SECONDS):
            break
    return Pace(steps, seconds / steps, settings.max_steps * seconds / steps)
