"""pgsum: pointer-generator summarization you can train on your own text."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pgsum.config import load_config as load_config
    from pgsum.summarizer import Summarizer as Summarizer
    from pgsum.summarizer import Summary as Summary

_HOMES = {
    "Summarizer": "pgsum.summarizer",
    "Summary": "pgsum.summarizer",
    "load_config": "pgsum.config",
}
__all__ = ["Summarizer", "Summary", "__version__", "load_config"]


def __getattr__(name: str) -> Any:
    # Importing torch takes seconds; `pgsum --help` must not wait for it.
    if name not in _HOMES:
        raise AttributeError(f"module 'pgsum' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
