"""The command line run in this process, and a model small enough to be made on the spot."""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from pgsum.build import build_model
from pgsum.bundle import Bundle, save_bundle
from pgsum.cli import console
from pgsum.cli.main import TORCH, main
from pgsum.config import Config, DecodeConfig, ModelConfig, TextConfig
from pgsum.text.surface import SurfaceCounts
from pgsum.text.vocab import Vocab


@dataclass(frozen=True)
class Done:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def pgsum(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """`pgsum("train", "--help")` is what `pgsum train --help` does."""
    monkeypatch.setattr(console, "mode", console.Mode())
    for name, value in TORCH.items():  # which `main` would leave behind
        monkeypatch.setenv(name, value)

    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["pgsum", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return Done(int(left.value.code or 0), out, err)

    return run


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with fresh weights: what it says means nothing, but it says something."""
    return save_tiny_model(tmp_path_factory.mktemp("run") / "model")


def save_tiny_model(
    folder: Path, *, max_source_tokens: int = 20, usual_surprise: float | None = None
) -> Path:
    """The same model, which may read more, and may know what surprise is usual."""
    texts = ["The cat sat on the mat near Oslo.", "A dog ran home, and the cat followed."]
    torch.manual_seed(2)
    config = Config(
        name="tiny",
        text=TextConfig(vocab_size=30, min_count=1, max_source_tokens=max_source_tokens),
        model=ModelConfig(embedding_size=6, hidden_size=5, dropout=0.0),
        decode=DecodeConfig(max_tokens=6, beam_size=3),
    )
    words = Counter(word.lower() for text in texts for word in text.split())
    vocab = Vocab.build(words, size=30, min_count=1)
    network = build_model(config.model, len(vocab))
    counts = SurfaceCounts(lowercase=True)
    for text in texts:
        counts.add(text, [])
    surface = counts.learned(vocab)
    bundle = Bundle(config, vocab, surface, network, usual_surprise)
    save_bundle(bundle, folder, card="# tiny\n")
    return folder
