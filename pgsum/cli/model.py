"""The model that a command asks for: found, named on stderr, loaded."""

from typing import TYPE_CHECKING

from pgsum.cli import console
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from pgsum.by_name import Model
    from pgsum.summarizer import Summarizer

_COMMIT_DIGITS = 12
"""Enough to tell one of a repository from all others, and short enough for a table."""


def choose_model(asked: str | None) -> "Model":
    """The model asked for by path or name, or else of the newest run, or else pgsum's own."""
    from pgsum.by_name import find

    model = find(asked, say=console.note)

    from pgsum.bundle import PRETRAINED  # and torch, which takes seconds

    own = " (the model that comes with pgsum)" if model.folder == PRETRAINED else ""
    console.note(f"model: {model.name}{own}")
    return model


def run_name(model: "Model") -> str:
    """What a person calls it: as its run, where it lies in one; as the hub does, and the commit."""
    if model.repository is not None and model.commit is not None:
        return f"{model.repository}@{model.commit[:_COMMIT_DIGITS]}"
    folder = model.folder.resolve()
    return folder.parent.name if folder.name == "model" else folder.name


def load_summarizer(model: "Model", *, device: str | None, threads: int | None) -> "Summarizer":
    """Raises ModelError where the model is damaged, ConfigError where there is no such device."""
    import torch

    from pgsum.summarizer import Summarizer

    if threads is not None:
        torch.set_num_threads(threads)
    return Summarizer(model.load(), device=device_named(device))


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
