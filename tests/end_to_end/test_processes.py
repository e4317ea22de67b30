"""Several processes train one model: started by Lightning, or by torchrun on two machines."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from reference.small_corpus import TINY, write_corpus

from pgsum.bundle import load_bundle

pytestmark = pytest.mark.slow

STEPS = ["trainer.max_steps=9", "trainer.validate_every=4", "trainer.checkpoint_every=3"]
EXACT = ["trainer.precision=float32", "model.dropout=0"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("processes") / "corpus")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pgsum", "train", *arguments]


def settings(corpus: Path, *overrides: str) -> list[str]:
    """For one thread each; on a processor even where there is a GPU."""
    return [*TINY, f"data.root={corpus}", "trainer.accelerator=cpu", *STEPS, *overrides]


def run(arguments: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(arguments, capture_output=True, text=True, timeout=600)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_bundle(folder).model.state_dict()


def metrics(folder: Path) -> list[dict[str, float]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        {
            name: value
            for name, value in json.loads(line).items()
            if name.startswith(("step", "val"))
        }
        for line in lines
        if "val_loss" in line
    ]


@pytest.fixture(scope="module")
def alone(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One process that takes two batches a step."""
    out = tmp_path_factory.mktemp("alone") / "run"
    wanted = settings(corpus, *EXACT, "trainer.accumulate=2")
    done = run(command(*wanted, "--out", str(out)))
    assert done.returncode == 0, done.stderr
    return out


def assert_the_same(folder: Path, other: Path) -> None:
    own, others = weights(folder), weights(other)
    for name, tensor in own.items():
        torch.testing.assert_close(tensor, others[name], atol=1e-6, rtol=0)
    assert metrics(folder) == metrics(other)


def test_two_processes_train_as_one_with_two_batches_a_step(corpus, alone, tmp_path):
    out = tmp_path / "run"
    wanted = settings(corpus, *EXACT, "trainer.devices=2")
    done = run(command(*wanted, "--out", str(out)))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{out}\n", "one of them speaks"
    assert done.stderr.count("reading the corpus") == 1
    assert_the_same(out, alone)
    assert json.loads((out / "run.json").read_text(encoding="utf-8"))["processes"] == 2


@pytest.fixture(scope="module")
def in_two(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """A run of two processes that nobody stopped, with what was asked of it.

    With dropout: each process has numbers of its own to drop by.
    """
    out = tmp_path_factory.mktemp("in_two") / "whole"
    wanted = settings(corpus, "trainer.devices=2", "model.coverage=auto")
    assert run(command(*wanted, "--out", str(out))).returncode == 0
    return wanted, out


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_two_processes_that_were_stopped_go_on_to_the_same_end(in_two, tmp_path, sent):
    wanted, whole = in_two
    out = tmp_path / "run"
    process = subprocess.Popen(
        command(*wanted, "--out", str(out)),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("step 4"):
            break
    if sent == signal.SIGKILL:
        os.killpg(process.pid, sent)
    else:
        process.send_signal(sent)
    said = process.stderr.read()
    code = process.wait(timeout=300)
    process.stderr.close()
    if sent == signal.SIGTERM:
        assert code == 143
        assert f"to go on: pgsum train --resume {out}" in said
    assert not (out / "run.json").exists() or sent == signal.SIGTERM
    refused = run(command("--resume", str(out), "trainer.devices=1"))
    assert refused.returncode == 2
    assert "trainer.devices is 2 in this run, and cannot become 1" in refused.stderr
    done = run(command("--resume", str(out)))
    assert done.returncode == 0, done.stderr
    own, others = weights(out), weights(whole)
    assert all(torch.equal(tensor, others[name]) for name, tensor in own.items())
    assert metrics(out) == metrics(whole)


def a_free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def test_two_machines_train_as_one_process_with_two_batches_a_step(corpus, alone, tmp_path):
    """Two agents of torchrun on this one, over the loopback."""
    out, port = tmp_path / "run", a_free_port()
    wanted = settings(corpus, *EXACT, "trainer.nodes=2", "trainer.devices=1")
    agents = [
        subprocess.Popen(
            [
                *(
                    sys.executable,
                    "-m",
                    "torch.distributed.run",
                    "--nnodes=2",
                    f"--node_rank={rank}",
                ),
                *("--nproc_per_node=1", "--master_addr=127.0.0.1", f"--master_port={port}"),
                *("-m", "pgsum", "train", *wanted, "--out", str(out)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    said = [agent.communicate(timeout=600) for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], said
    assert [stdout for stdout, _ in said] == [f"{out}\n", ""]
    assert_the_same(out, alone)
