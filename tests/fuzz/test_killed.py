"""Killed at any moment, and run once more, a command comes to the end that it would have come to.

How a training that is killed goes on is looked at in tests/training/test_resume.py, too, with a
corpus that has been read before.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from reference.command_line import save_tiny_model
from reference.effort import some, tell
from reference.killed import command_until, what_it_left
from reference.small_corpus import TINY, write_corpus

TRAINED = [*TINY, "data.workers=1", "trainer.validate_every=2", "trainer.checkpoint_every=1"]
COMMANDS = {
    "train": ["train", "{here}/corpus", *TRAINED, "trainer.max_steps=4", "--out", "run"],
    "evaluate": [
        *("evaluate", "{here}/corpus", "--model", "{here}/model", "--examples", "1"),
        *("--out", "figures", "--report", "out.html"),
    ],
    "summarize": [
        *("summarize", "{here}/corpus/test.jsonl", "--model", "{here}/model"),
        *("--explain", "out.html"),
    ],
}


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    write_corpus(folder / "corpus")
    save_tiny_model(folder / "model")
    return folder


def files(folder: Path) -> dict[str, object]:
    """All but the cache, and what tells of time and place."""
    found: dict[str, object] = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in ("cache", "run")
    }
    if (folder / "run" / "run.json").exists():
        found["run"] = what_it_left(folder / "run")
    found.pop("figures/run.json", None)
    return found


def once_more(arguments: Sequence[str], folder: Path) -> None:
    """What a person would do who finds that it was killed."""
    if (folder / "run" / "config.yaml").exists():
        if (folder / "run" / "run.json").exists():
            return  # it had come to its end
        arguments = ["train", "--resume", "run"]
    if (folder / "figures").exists():
        shutil.rmtree(folder / "figures")
    command_until(None, arguments, folder)


@pytest.mark.slow
@pytest.mark.fault(40)
@pytest.mark.parametrize(
    ("name", "count", "by_fuzz"), [("train", 5, 20), ("evaluate", 2, 10), ("summarize", 2, 10)]
)
def test_killed_and_run_once_more_a_command_leaves_what_it_would_have(
    here, tmp_path, name, count, by_fuzz
):
    """With an empty cache: also while the corpus is read and made ready."""
    arguments = [argument.format(here=here) for argument in COMMANDS[name]]
    whole = tmp_path / "whole"
    whole.mkdir()
    events = command_until(None, arguments, whole)
    expected = files(whole)
    moments = some(range(1, events + 1), count, by_fuzz=by_fuzz)
    tell(f"{name}: killed at {len(moments)} of {events} moments")
    for moment in moments:
        folder = tmp_path / f"at-{moment}"
        folder.mkdir()
        command_until(moment, arguments, folder)
        figures = folder / "figures" / "metrics.json"
        assert not figures.exists() or json.loads(figures.read_text(encoding="utf-8"))
        once_more(arguments, folder)
        assert files(folder) == expected, moment
        shutil.rmtree(folder)
