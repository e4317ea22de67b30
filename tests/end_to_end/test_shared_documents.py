"""Several processes summarize as one would: begun by Lightning, or by torchrun on two machines."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from reference.command_line import tiny_model

__all__ = ["tiny_model"]

pytestmark = pytest.mark.slow

PGSUM = [sys.executable, "-m", "pgsum"]
# Sixteen documents a chunk; on a processor even where there is a GPU.
SMALL = ["--set", "decode.batch_size=1", "--device", "cpu"]
TWO = ["--set", "trainer.devices=2"]


@dataclass
class Place:
    """Three files of documents, and a folder for what is temporary."""

    folder: Path
    model: Path
    begun: "list[subprocess.Popen[str]]" = field(default_factory=list)

    @property
    def temporary(self) -> Path:
        return self.folder / "temporary"

    def left_behind(self) -> list[Path]:
        return list(self.temporary.glob("pgsum-*"))

    def begin(self, *arguments: str | Path, by: list[str] = PGSUM) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*by, *map(str, arguments), "--model", str(self.model), *SMALL],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=os.environ | {"TMPDIR": str(self.temporary)},
            start_new_session=True,
        )
        self.begun.append(process)
        return process

    def run(self, *arguments: str | Path) -> tuple[int, str, str]:
        process = self.begin(*arguments)
        out, err = process.communicate(timeout=600)
        return process.returncode, out, err


@pytest.fixture
def place(tmp_path: Path, tiny_model: Path) -> Iterator[Place]:
    (tmp_path / "temporary").mkdir()
    for k, many in enumerate((17, 16, 17)):
        with (tmp_path / f"{k}.jsonl").open("w", encoding="utf-8") as file:
            for i in range(many):
                again = " and the cat followed" * (i % 7)
                row = {
                    "id": f"{k}-{i}",
                    "document": f"A dog ran home{again} to no. {i}.",
                    "summary": f"A dog ran to {i}.",
                }
                file.write(json.dumps(row) + "\n")
    made = Place(tmp_path, tiny_model)
    yield made
    for process in made.begun:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


FILES = ["0.jsonl", "1.jsonl", "2.jsonl", "--column", "document"]


def test_two_processes_summarize_as_one(place):
    found = place.run("summarize", *FILES, "--jsonl", *TWO)
    assert found == place.run("summarize", *FILES, "--jsonl")
    code, out, err = found
    assert (code, err.count("warning")) == (0, 1), "what is odd of some is told once, of all"
    ids = [json.loads(line)["id"] for line in out.splitlines()]
    assert ids == [f"{k}-{i}" for k, many in enumerate((17, 16, 17)) for i in range(many)]
    assert not place.left_behind()


def test_an_error_is_said_once_and_after_all_that_comes_before_it(place):
    with (place.folder / "2.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "bad", "document": 3}\n')
    found = place.run("summarize", *FILES, "--quiet", *TWO)
    assert found == place.run("summarize", *FILES, "--quiet")
    code, out, err = found
    assert (code, len(out.splitlines())) == (3, 48)
    assert err.count("error:") == 1
    assert "2.jsonl:18" in err
    assert not place.left_behind()


def test_two_processes_evaluate_as_one(place):
    evaluate = ["evaluate", "0.jsonl", "--set", "decode.beam_size=2", "--out"]
    code, out, err = place.run(*evaluate, "two", *TWO)
    assert code == 0, err
    assert err.count("written: two") == 1
    assert out == place.run(*evaluate, "one")[1]
    for name in ("metrics.json", "predictions.jsonl"):
        kept = [(place.folder / folder / name).read_bytes() for folder in ("one", "two")]
        assert kept[0] == kept[1], name
    assert not place.left_behind()


def test_two_machines_summarize_as_one_process(place):
    """Two agents of torchrun on this one, over the loopback."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    agents = []
    for rank in (0, 1):
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2"]
        torchrun += [f"--node_rank={rank}", "--nproc_per_node=1", "--master_addr=127.0.0.1"]
        by = [*torchrun, f"--master_port={port}", "-m", "pgsum"]
        agents.append(place.begin("summarize", *FILES, "--set", "trainer.nodes=2", by=by))
    said = [agent.communicate(timeout=600) for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], said
    _, out, _ = place.run("summarize", *FILES)
    assert [stdout for stdout, _ in said] == [out, ""]
    assert not said[1][1]
    assert not place.left_behind()


def in_the_midst_of_it(place: Place) -> "subprocess.Popen[str]":
    """Two processes at work on more than they will ever be let do."""
    with (place.folder / "many.jsonl").open("w", encoding="utf-8") as file:
        for i in range(200_000):
            file.write(json.dumps({"id": i, "document": f"A dog ran home to no. {i}."}) + "\n")
    process = place.begin("summarize", "many.jsonl", "--column", "document", *TWO)
    wait_for(lambda: len(list(place.temporary.glob("pgsum-*/*.unfinished"))) == 2, process)
    return process


def wait_for(met: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    for _ in range(3000):
        if met():
            return
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.1)
    pytest.fail("It never came to that.")


def others(process: "subprocess.Popen[str]") -> list[int]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in children.read_text(encoding="utf-8").split()]


def nobody_is_left(process: "subprocess.Popen[str]") -> bool:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, 0)
        return False
    return True


@pytest.mark.parametrize(
    ("sent", "to_all", "code"),
    [(signal.SIGINT, True, 130), (signal.SIGINT, False, 130), (signal.SIGTERM, False, 143)],
    ids=["Ctrl-C", "SIGINT", "SIGTERM"],
)
def test_a_signal_ends_all_of_them(place, sent, to_all, code):
    process = in_the_midst_of_it(place)
    (os.killpg if to_all else os.kill)(process.pid, sent)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err
    assert nobody_is_left(process)
    assert not place.left_behind()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_a_process_that_is_killed_is_an_error_said_once(place):
    process = in_the_midst_of_it(place)
    (other,) = others(process)
    os.kill(other, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (1, "")
    assert err.count("error:") == 1
    assert "error: Process 2 of 2 died: it was ended by signal 9.\n" in err
    assert nobody_is_left(process)
    assert not place.left_behind()
