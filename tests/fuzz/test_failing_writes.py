"""On a disk that fails at any moment a command says so, and leaves nothing half done.

What was there before is as it was, and the same command, or for a training that had begun
`--resume`, comes to the same end once there is room.
"""

import gc
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from reference.command_line import Done, pgsum, save_tiny_model
from reference.effort import some, tell
from reference.failing_writes import BROKEN, FULL, disk
from reference.killed import what_it_left
from reference.small_corpus import TINY, write_corpus

from pgsum.data import cache
from pgsum.data.records import Pair
from pgsum.evaluation import evaluate
from pgsum.results import write_evaluation
from pgsum.systems import recorded

__all__ = ["pgsum"]

NO_CACHE = re.compile(r'"The cache folder [^"]*"(, )?')
TRAINED = [*TINY, "data.workers=1", "trainer.validate_every=2", "trainer.checkpoint_every=1"]


@dataclass(frozen=True)
class Command:
    """What is run in a folder that holds `run/` and files that are called as what is made.

    `makes` are the files that tell what came of it; a command that makes none prints all.
    """

    arguments: Sequence[str]
    makes: Sequence[str] = ()
    trains: str | None = None
    """The folder of the run, where that is what it makes."""
    cold: bool = False
    """Whether the cache is empty before."""


COMMANDS = {
    "train": Command(
        ["train", "{here}/corpus", *TRAINED, "trainer.max_steps=3", "--out", "new"],
        trains="new",
        cold=True,
    ),
    "train in place of a run": Command(
        ["train", "{here}/corpus", *TRAINED, "trainer.max_steps=1", "--out", "run", "--overwrite"],
        trains="run",
    ),
    "resume": Command(["train", "--resume", "run", "trainer.max_steps=4"], trains="run"),
    **{
        f"summarize to {kind}": Command(
            ["summarize", "{here}/a.txt", "--model", "{here}/model", "--explain", f"out.{kind}"],
            makes=[f"out.{kind}"],
        )
        for kind in ("html", "svg", "json")
    },
    "evaluate": Command(
        ["evaluate", "{here}/corpus", "--model", "{here}/model", "--out", "figures"],
        makes=["figures/metrics.json", "figures/predictions.jsonl"],
        cold=True,
    ),
    "evaluate to a page": Command(
        [
            *("evaluate", "{here}/corpus", "--model", "{here}/model", "--examples", "1"),
            *("--report", "out.html"),
        ],
        makes=["out.html"],
    ),
    "compare": Command(["compare", "{here}/scores", "{here}/scores"]),
    "check": Command(["check", "{here}/corpus", *TINY, "--no-timing", "--json"], cold=True),
}


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> Path:
    """What the commands read."""
    folder = tmp_path_factory.mktemp("read")
    write_corpus(folder / "corpus")
    save_tiny_model(folder / "model")
    (folder / "a.txt").write_text("The cat sat near Oslo. It sat.", encoding="utf-8")
    pairs = [Pair(f"id{i}", f"Document {i}.", (f"the cat {i}",)) for i in range(3)]
    scored = evaluate(pairs, {"sut": recorded(["the cat"] * 3)}, baselines=False)
    write_evaluation(folder / "scores", scored, command=[], config={}, inputs={}, seconds=0.0)
    return folder


@pytest.fixture
def run(pgsum, here, monkeypatch) -> Callable[[Command, Path], Done]:
    """`run(command, folder)` runs it there, with a cache in that folder."""
    # Which folder that is would be asked once in each process.
    monkeypatch.setattr(cache, "_cache_folder", cache._cache_folder.__wrapped__)

    def ran(command: Command, folder: Path) -> Done:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PGSUM_CACHE", str(folder / "cache"))
        return pgsum(*(argument.format(here=here) for argument in command.arguments))

    return ran


@pytest.fixture
def fresh(run, tmp_path) -> Callable[[Command, str], Path]:
    """`fresh(command, name)` is a folder of that name in which the command has not been run."""
    begun = tmp_path / "begun"
    begun.mkdir()
    first = ["train", "{here}/corpus", *TRAINED, "trainer.max_steps=2", "--out", "run"]
    assert run(Command(first), begun).code == 0
    for kind in ("html", "svg", "json"):
        (begun / f"out.{kind}").write_text("what stood there", encoding="utf-8")

    def copied(command: Command, name: str) -> Path:
        folder = shutil.copytree(begun, tmp_path / name)
        if command.cold:
            shutil.rmtree(folder / "cache")
        return folder

    return copied


def files(folder: Path) -> dict[str, bytes]:
    """But for the cache, which is nobody's own, and locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock" and "cache" not in path.parts
    }


def came_of_it(command: Command, folder: Path, done: Done) -> object:
    if command.trains:
        return what_it_left(folder / command.trains)
    if command.makes:
        return [(folder / name).read_bytes() for name in command.makes]
    return NO_CACHE.sub("", done.out)


@pytest.mark.slow
@pytest.mark.fault(32)
# `datasets` leaves a file open where it cannot be written.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_fails_costs_what_is_being_made_and_no_more(run, fresh, name, tmp_path):
    command = COMMANDS[name]
    whole = fresh(command, "whole")
    with disk(whole, None) as watched:
        done = run(command, whole)
    assert done.code == 0, done.err
    expected = came_of_it(command, whole, done)
    moments = range(1, len(watched.done) + 1)
    chosen = some(moments, 3)
    tell(f"{name}: a write fails at {len(chosen)} of {len(moments)} moments")
    for moment in chosen:
        folder = fresh(command, f"at-{moment}")
        before = files(folder)
        error, for_good = (FULL, BROKEN)[moment % 2], moment % 4 < 2
        with disk(folder, moment, error=error, for_good=for_good) as failing:
            done = run(command, folder)
        what = failing.done[moment - 1]
        at = f"{moment}: {what}: {done.err}"
        assert done.code in ((0, 2, 3) if " cache/" in what else (0, 2)), at
        assert "Traceback" not in done.err, at
        assert "fault of pgsum's" not in done.err, at
        after = files(folder)
        if done.code == 0:
            assert came_of_it(command, folder, done) == expected, at
        else:
            assert '"error": ' in done.err or "error: " in done.err, at
            own = command.trains or "\0"
            kept = {n: content for n, content in before.items() if not n.startswith(own)}
            assert kept == {n: after.get(n) for n in kept}, at
            assert not [n for n in after if n.endswith(".part")], at
            again = command
            if command.trains and "--resume" in done.err:  # as the hint says
                steps = [a for a in command.arguments if a.startswith("trainer.max_steps=")]
                again = Command(["train", "--resume", command.trains, *steps])
            done = run(again, folder)
            assert done.code == 0, f"{at}\nthen: {done.err}"
            assert came_of_it(command, folder, done) == expected, at
        os.chdir(tmp_path)
        shutil.rmtree(folder)
        gc.collect()
