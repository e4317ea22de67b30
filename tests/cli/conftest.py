"""The command line run in this process, and a model small enough to be made on the spot."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from pgsum.cli import console
from pgsum.cli.main import main


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

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["pgsum", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return Done(int(left.value.code or 0), out, err)

    return run
