"""Command lines that cannot be, and surroundings that are not as usual."""

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pgsum.cli import explanations
from pgsum.cli.explanations import check_target
from pgsum.errors import ConfigError

fault = pytest.mark.fault
PGSUM = [sys.executable, "-m", "pgsum"]
LONG = "n" * 300


@dataclass(frozen=True)
class Case:
    """Files, a command that is given them, and what it says of it."""

    arguments: list[str]
    code: int
    words: str
    files: dict[str, str] = field(default_factory=dict)


def case(mark: pytest.MarkDecorator, *of: Any) -> Any:
    made = Case(*of)
    return pytest.param(made, id=" ".join(made.arguments)[:60], marks=mark)


def settings(text: str, words: str) -> Any:
    """A file of settings that is refused."""
    return case(fault(39), ["train", "--config", "s.yaml"], 2, words, {"s.yaml": text})


CASES = [
    case(fault(39), ["train", "optim.lrr=1"], 2, "did you mean optim.lr?"),
    case(fault(39), ["train", "trainer.max_stepz=1"], 2, "did you mean trainer.max_steps?"),
    case(fault(39), ["train", "optim.lr=fast"], 2, "optim.lr is 'fast': it must be a finite"),
    case(fault(39), ["train", "optim.lr=nan"], 2, "optim.lr is nan"),
    case(fault(39), ["train", "optim.lr=-1"], 2, "optim.lr is -1.0"),
    case(fault(39), ["train", "trainer.max_steps=1.5"], 2, "trainer.max_steps is '1.5'"),
    case(fault(39), ["train", f"trainer.max_steps={'9' * 5000}"], 2, "it must be a whole number"),
    case(fault(39), ["train", "model.encoder=rrn"], 2, "did you mean model.encoder=rnn?"),
    case(fault(39), ["train", "model=see2018"], 2, "did you mean model=see2017?"),
    case(fault(39), ["train", "name=${oc.env:HOME}"], 2, "nothing is put in for ${...}"),
    settings("optim: {lr: 1, lr: 2}\n", "sets optim.lr twice"),
    settings("optim:\n  lr: !!python/object/apply:os.system [ls]\n", "a tag"),
    settings("a: " + "[" * 100 + "]" * 100, "a list or a section where one value belongs"),
    settings("a: &a [x]\nb: *a\n", "an anchor, an alias or a tag"),
    settings("optim:\n\tlr: 1\n", "is not YAML"),
    settings("optim.lr: 1\n" * 9000, "has at most 65,536 bytes"),
    settings("optim:\n  lrr: 1\n", "--> s.yaml:2\nhint: did you mean optim.lr?"),
    case(fault(52), ["summarize", "a.txt", "--beam-size", "0"], 2, "decode.beam_size is 0"),
    case(fault(52), ["summarize", "a.txt", "--beam-size", "-1"], 2, "decode.beam_size is -1"),
    case(fault(52), ["summarize", "a.txt", "--beam-size", "x"], 2, "Invalid value for '--beam"),
    case(
        fault(52),
        ["summarize", "a.txt", "--beam-size", "18"],
        2,
        "decode.beam_size is 18, more than the model's 17 words.\n  --> decode.beam_size\n"
        "hint: decode.beam_size=3 is what",
    ),
    case(
        fault(52),
        ["summarize", "a.txt", "--min-tokens", "9", "--max-tokens", "5"],
        2,
        "decode.min_tokens (9) must not exceed decode.max_tokens (5)",
    ),
    case(
        fault(52),
        ["summarize", "a.txt", "--n-best", "4"],
        2,
        "decode.n_best (4) must not exceed decode.beam_size (3)",
    ),
    case(fault(30), ["summarize", LONG], 3, "It cannot be read: file name too long"),
    case(fault(30), ["summarize", "[no]*.txt"], 3, "No file matches the pattern"),
    case(fault(30), ["summarize", "--", "-no.txt"], 3, "There is no such file.\n  --> -no.txt"),
    case(fault(30), ["train", LONG], 3, "There is no file, no folder and no corpus called"),
    case(fault(30), ["train", f"data.train={LONG}", "data=files"], 3, "file name too long"),
    case(fault(32), ["summarize", "a.txt", "--explain", f"{LONG}.html"], 2, "name is too long"),
    case(fault(32), ["summarize", "a.txt", "--explain", "no/a.html"], 2, "its folder is not there"),
    case(fault(32), ["summarize", "a.txt", "--explain", "."], 2, "does not say what to make"),
]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("The cat sat on the mat near Oslo.", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("jsonl", [False, True], ids=["", "--jsonl"])
def test_what_cannot_be_is_refused_in_one_sentence(pgsum, tiny_model, here, case, jsonl):
    for name, text in case.files.items():
        Path(name).write_text(text, encoding="utf-8")
    verb, *arguments = case.arguments
    if verb == "summarize":
        arguments = ["--model", str(tiny_model), *arguments]
    if jsonl and verb == "summarize":
        arguments.insert(0, "--jsonl")
    before = sorted(here.rglob("*"))
    done = pgsum(verb, "--quiet", *arguments)
    assert (done.code, done.out) == (case.code, ""), done.err
    if "--jsonl" in arguments:
        error = json.loads(done.err)
        assert error["exit_code"] == case.code
        assert error["error"][-1] in ".?"
        where = f"  --> {error['where']}\n" if error["where"] else ""
        said = f"error: {error['error']}\n{where}hint: {error['hint']}\n"
    else:
        said = done.err
    assert case.words in said
    assert said.startswith("error: ")
    assert sorted(here.rglob("*")) == before, "nothing half done is left"


@fault(32)
def test_a_folder_that_cannot_be_written_to_is_said_before_the_work(monkeypatch, tmp_path):
    monkeypatch.setattr(explanations.os, "access", lambda path, mode: False)
    with pytest.raises(ConfigError, match="--explain cannot be written: its folder cannot be"):
        check_target("--explain", tmp_path / "a.html", endings=[".html"], hint="")


@fault(32)
def test_a_disk_that_is_full_leaves_what_stood_there(pgsum, tiny_model, here, monkeypatch):
    Path("out.html").write_text("old", encoding="utf-8")
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        write(path, content[:100])
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    done = pgsum("summarize", "--model", tiny_model, "a.txt", "--explain", "out.html")
    assert done.code == 2
    assert "The file cannot be written: No space left on device" in done.err
    assert Path("out.html").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in here.iterdir()) == ["a.txt", "out.html"]


@fault(42)
@pytest.mark.parametrize("kind", ["closed", "terminal"])
def test_standard_input_that_gives_nothing_is_not_waited_for(pgsum, monkeypatch, here, kind):
    if kind == "closed":
        monkeypatch.setattr(sys, "stdin", None)
    else:
        _, terminal = os.openpty()
        monkeypatch.setattr(sys, "stdin", os.fdopen(terminal, encoding="utf-8"))
    for arguments in ([], ["-"]):
        done = pgsum("summarize", *arguments)
        assert done.code == 2
        assert "error: Nothing comes from standard input.\n  --> -\n" in done.err


@fault(41)
@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, -signal.SIGTERM),
        (signal.SIGHUP, -signal.SIGHUP),
    ],
    ids=["INT", "TERM", "HUP"],
)
def test_a_signal_ends_it_without_a_word(sent, code):
    with subprocess.Popen(
        [*PGSUM, "summarize", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write(b"word " * 100_000)  # more than a pipe holds: it has begun to read
        process.stdin.flush()
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, b"", b"")


@fault(41)
def test_whoever_has_read_enough_summaries_ends_it_in_silence(tiny_model, here):
    rows = "\n".join(json.dumps({"text": f"The cat sat {n}."}) for n in range(300))
    Path("rows.jsonl").write_text(rows, encoding="utf-8")
    command = [*PGSUM, "summarize", "--model", tiny_model, "--quiet", "rows.jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@fault(45)
@pytest.mark.parametrize(
    "environment",
    [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}],
    ids=["C", "ascii"],
)
def test_summaries_are_utf8_whatever_the_locale(tiny_model, here, environment):
    Path("naïve.txt").write_text("naïve 字 😀", encoding="utf-8")
    command = [*PGSUM, "summarize", "--model", tiny_model, "--set", "decode.copy_bias=9"]
    done = subprocess.run(
        [*command, "naïve.txt", "naïve.txt"],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
    )
    assert done.returncode == 0
    name, summary = done.stdout.decode("utf-8").splitlines()[0].split("\t")
    # Where Python is told that names are ASCII, the bytes that are none are spelt out.
    assert name in ("naïve.txt", r"na\udcc3\udcafve.txt")
    assert set(summary) & set("ï字😀")


@fault(45)
@pytest.mark.parametrize(
    "name", ["with blank.txt", "naïve 字.txt", "-dash.txt", "a=b.txt", "[x].txt"]
)
def test_files_of_any_name_are_read_and_named(pgsum, tiny_model, here, name):
    Path("a.txt").rename(name)
    done = pgsum("summarize", "--model", tiny_model, "--", name, name)
    assert done.code == 0
    assert [line.partition("\t")[0] for line in done.out.splitlines()] == [name, name]


@fault(45)
def test_a_name_that_is_no_text_is_read_and_spelt_out(pgsum, tiny_model, here):
    name = os.fsdecode(b"caf\xe9.txt")
    Path("a.txt").rename(name)
    done = pgsum("summarize", "--model", tiny_model, "--jsonl", name)
    assert done.code == 0
    assert json.loads(done.out.encode("utf-8", "backslashreplace"))["id"] == name
