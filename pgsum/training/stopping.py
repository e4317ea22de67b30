"""A training that is told to stop: by Ctrl-C, by SIGTERM, or because its terminal is closed.

The first signal ends it between two steps, with all saved; the next one ends it at once.
"""

import signal
import threading
from types import FrameType
from typing import Any

import pytorch_lightning as pl

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class Stopped(BaseException):  # like KeyboardInterrupt: no error, and not to be caught as one
    """The training has been told to stop by the signal `signum`."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class Signals(pl.Callback):
    """Remembers the first signal until a step is over; one process alone leaves a validation."""

    def __init__(self) -> None:
        self.signum: int | None = None
        self.interruptible = False

    def listen(self) -> None:
        """From now on, in place of what Lightning would do; that puts all back when it ends.

        Lightning speaks to the other processes from within its handler, whatever they are at.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        for signum in _SIGNALS:
            if signal.getsignal(signum) != signal.SIG_IGN:  # as `nohup` wants it
                signal.signal(signum, self._received)

    def _received(self, signum: int, frame: FrameType | None) -> Any:
        if self.signum is not None:
            signal.signal(signum, signal.SIG_DFL)
            signal.raise_signal(signum)
        self.signum = signum
        if self.interruptible:
            raise Stopped(signum)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # What it takes is not lost: a checkpoint was made just before. Other processes would wait
        # for this one.
        self.interruptible = trainer.world_size == 1
        if self.interruptible and self.signum is not None:
            raise Stopped(self.signum)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.interruptible = False

    def agreed(self, trainer: pl.Trainer) -> int | None:
        """The signal that some process has received, as all see it at the same step."""
        if trainer.world_size == 1:
            return self.signum
        told = trainer.strategy.reduce_boolean_decision(self.signum is not None, all=False)
        return (self.signum or signal.SIGTERM) if told else None
