"""Each command as a process of its own: it needs no network, warns of nothing, leaves nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from reference.small_corpus import TINY, write_corpus

pytestmark = pytest.mark.slow

OFFLINE = Path(__file__).parent.parent / "reference" / "offline"
TRAINED = [*TINY, "trainer.accelerator=cpu", "trainer.max_steps=3", "data.workers=2"]
COMMANDS = [
    ["train", "corpus", *TRAINED, "--out", "run"],
    ["train", "--resume", "run", "trainer.max_steps=5", "trainer.loader_workers=1"],
    ["summarize", "corpus/test.jsonl", "--model", "run", "--explain", "out.html", "--jsonl"],
    ["evaluate", "corpus", "--model", "run", "--out", "scores", "--report", "report.html"],
    ["evaluate", "corpus", "--system", "lead-1", "--out", "others"],
    ["compare", "scores", "others"],
    ["check", "corpus", *TINY],
    ["info"],
]
"""In this order: each finds what those before it made."""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str
    left: list[str]
    """Processes of its own that are still there."""


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files whose path is short: a socket's may have a hundred bytes."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


def ended(
    arguments: list[str], folder: Path, temporary: Path, *python: str, **environment: str
) -> Ended:
    """A command run in `folder`."""
    places = {"PGSUM_CACHE": str(folder / "cache"), "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, *python, "-m", "pgsum", *arguments],
        cwd=folder,
        env=os.environ | places | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    out, err = process.communicate(timeout=600)
    return Ended(process.returncode, out, err, in_session(process.pid))


def in_session(session: int) -> list[str]:
    """The processes of a session, where the system lists them as files."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = stat.read_text(encoding="utf-8").rpartition(")")
        except OSError:  # it has just ended
            continue
        if int(fields.split()[3]) == session:
            found.append(name)
    return found


@pytest.mark.fault(43)
def test_no_command_needs_a_network_and_a_name_of_the_hub_is_refused_at_once(tmp_path, temporary):
    write_corpus(tmp_path / "corpus")
    refused = tmp_path / "refused"
    places = {"PYTHONPATH": str(OFFLINE), "REFUSED": str(refused)}
    for arguments in COMMANDS:
        done = ended(arguments, tmp_path, temporary, **places)
        assert done.code == 0, done.err
        assert not refused.exists(), f"{arguments[0]}: {refused.read_text(encoding='utf-8')}"
    done = ended(["train", "someone/stories", *TRAINED], tmp_path, temporary, **places)
    assert done.code == 3
    assert "hint: offline: give a local path" in done.err
    asked = refused.read_text(encoding="utf-8").splitlines()
    assert 1 <= len(asked) <= 2, "its library asks once more"


def test_no_command_warns_of_itself_or_leaves_a_file_or_a_process_behind(tmp_path, temporary):
    write_corpus(tmp_path / "corpus")
    for arguments in COMMANDS:
        done = ended(arguments, tmp_path, temporary, "-X", "dev", "-W", "error::ResourceWarning")
        assert done.code == 0, done.err
        own = [line for line in done.err.splitlines() if "Warning" in line and "/pgsum/" in line]
        assert own == []
        assert "ResourceWarning" not in done.err, done.err
        assert done.left == []
        left = {path.name for path in temporary.iterdir()}
        assert left <= {f"torchinductor_{getuser()}"}, "torch keeps that one"
