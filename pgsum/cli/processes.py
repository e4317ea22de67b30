"""Over how many processes documents are shared out: `--set trainer.devices=2`, or torchrun."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from pgsum.cli import console
from pgsum.cli.model import device_named
from pgsum.config import Config, change_config
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from pgsum.summarizer import Summarizer

Item = TypeVar("Item")

_BATCHES_AT_ONCE = 16
"""Read ahead, to be sorted by length; more would only keep a reader waiting, or a process idle."""
_SETTINGS = ("trainer.devices", "trainer.nodes")


def in_chunks(items: Iterable[Item], *, batch_size: int) -> Iterator[list[Item]]:
    """What is summarized at once: a few batches, sorted by length together."""
    stream = iter(items)
    while chunk := list(islice(stream, _BATCHES_AT_ONCE * batch_size)):
        yield chunk


@dataclass(frozen=True)
class Processes:
    """As many on each of `nodes` machines as there are `devices`; `device` is what `--device` says.

    One process alone does without Lightning, which takes seconds to import.
    """

    devices: int
    nodes: int
    device: str | None
    threads: int | None

    @property
    def several(self) -> bool:
        return self.devices * self.nodes > 1

    @cached_property
    def is_first(self) -> bool:
        """Whether this process is the one that says and writes something."""
        if not self.several:
            return True
        from pgsum.engine import is_first

        return is_first()

    @property
    def loads_to(self) -> str | None:
        """The device that a model is first put on; Lightning gives each process one of its own."""
        return "cpu" if self.several else self.device

    def share(
        self,
        chunks: Iterable[Sequence[Any]],
        work: Callable[[Sequence[Any]], Sequence[Any]],
        *,
        summarizer: "Summarizer",
        progress: Callable[[int], object] | None = None,
    ) -> Iterator[Any]:
        """What `work` makes of each item, in order; otherwise as `pgsum.shares.share_out`.

        Of several processes all but the first end here.
        """
        if not self.several:
            return chain.from_iterable(map(work, chunks))
        from pgsum.shares import share_out

        results = share_out(
            chunks,
            work,
            summarizer=summarizer,
            accelerator=self._accelerator(),
            devices=self.devices,
            nodes=self.nodes,
            threads=self.threads,
            progress=progress,
        )
        if results is None:
            raise typer.Exit
        return results

    def _accelerator(self) -> str:
        import torch

        found = device_named(self.device)
        if found == "cpu":
            return "cpu"
        if found != "cuda":
            raise ConfigError(
                f"--device {found} is one device, and each process has one of its own.",
                hint="--device cuda or --device cpu",
            )
        if self.devices > torch.cuda.device_count():
            raise ConfigError(
                f"trainer.devices is {self.devices}, but torch sees {torch.cuda.device_count()} "
                "GPUs here.",
                where="trainer.devices",
                hint="use as many, or --device cpu",
            )
        return "gpu"


def processes_asked(
    settings: Sequence[str], *, device: str | None, threads: int | None
) -> tuple[Processes, list[str]]:
    """The processes that `settings` ask for, and the settings that are left.

    From then on all but the first are silent. Raises ConfigError for a setting of a training.
    """
    own = [setting for setting in settings if setting.startswith("trainer.")]
    trainer = change_config(Config(), own, sections=["trainer"]).trainer
    for setting in own:
        key = setting.partition("=")[0]
        if key not in _SETTINGS:
            raise ConfigError(
                f"{key} cannot be set here.",
                where=key,
                hint=f"of a training's settings only {' and '.join(_SETTINGS)} can be",
            )
    processes = Processes(trainer.devices, trainer.nodes, device, threads)
    if not processes.is_first:
        console.mode.quiet = True
        if "RANK" in os.environ:  # begun together with the first, and what is wrong it says itself
            console.mode.put = _say_nothing
    return processes, [setting for setting in settings if setting not in own]


def _say_nothing(line: str) -> None:
    pass
