"""Lightning and torch as they are wanted here: quiet, repeatable, in one process or several.

Lightning starts several processes itself, or `torchrun` or SLURM do; each runs the whole command.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities import rank_zero_only


def make_trainer(**settings: Any) -> pl.Trainer:
    """Lightning's trainer, whose saving, progress and sharing out of data are ours."""
    return pl.Trainer(
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        **settings,
    )


def is_first() -> bool:
    """Whether this process is the only one, or that of rank 0: the others say and write nothing.

    Known before they have spoken to each other, from the variables that whoever started them set.
    """
    return getattr(rank_zero_only, "rank", 0) == 0


def use_bfloat16(precision: str, device: torch.device) -> bool:
    """Whether matrix products run in bfloat16; `auto`: only where a processor is fast at them."""
    if precision != "auto":
        return precision == "bfloat16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    # Where a processor has instructions for it (AMX has these, too), a step takes 0.6 of the time.
    return device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


@contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """On a processor the same sums in the same order each time; a GPU is left as it is."""
    before = torch.are_deterministic_algorithms_enabled()
    memory: Any = torch.utils.deterministic
    filled = memory.fill_uninitialized_memory
    if device.type == "cpu":
        torch.use_deterministic_algorithms(True)
        # It would fill each table with NaN before anything is written to it.
        memory.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        memory.fill_uninitialized_memory = filled


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Without Lightning's lines on devices, tips and workers; its errors still come through."""
    names = [
        package + module
        for package in ("pytorch_lightning", "lightning_fabric")
        for module in ("", ".utilities.rank_zero", ".utilities.distributed")
    ]
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
