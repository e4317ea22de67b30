"""The model that a command asks for: found, named on stderr, loaded."""

from pathlib import Path
from typing import TYPE_CHECKING

from pgsum.cli import console
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from pgsum.summarizer import Summarizer


def choose_model(asked: str | None) -> Path:
    """The folder of the model asked for, or else of the newest run, or else of pgsum's own."""
    from pgsum.bundle import PRETRAINED, find_model

    folder = find_model(asked)
    own = " (the model that comes with pgsum)" if folder == PRETRAINED else ""
    console.note(f"model: {folder}{own}")
    return folder


def run_name(folder: Path) -> str:
    """What a person calls the model in `folder`: as its run, where it lies in one."""
    folder = folder.resolve()
    return folder.parent.name if folder.name == "model" else folder.name


def load_summarizer(folder: Path, *, device: str | None, threads: int | None) -> "Summarizer":
    """Raises ModelError where the model is damaged, ConfigError where there is no such device."""
    import torch

    from pgsum.summarizer import Summarizer

    if threads is not None:
        torch.set_num_threads(threads)
    return Summarizer.load(folder, device=device_named(device))


def device_named(name: str | None) -> str:
    """What torch calls it; raises ConfigError where there is no such device."""
    import torch

    has_gpu = torch.cuda.is_available()
    if name in (None, "auto"):
        return "cuda" if has_gpu else "cpu"
    name = "cuda" if name == "gpu" else str(name)
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ConfigError(f"--device is {name!r}: it must be cpu, cuda, cuda:N or auto.")
    if device.type == "cuda" and not (has_gpu and (device.index or 0) < torch.cuda.device_count()):
        raise ConfigError(
            f"--device is {name!r}, but torch sees {torch.cuda.device_count()} such devices here.",
            hint="--device cpu always works",
        )
    return name
