import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pgsum import __version__
from pgsum.cli import info as info_module
from pgsum.errors import ConfigError, DataError, ModelError, PgsumError

VERBS = ("train", "summarize", "evaluate", "compare", "check", "serve", "info")
PGSUM = [sys.executable, "-m", "pgsum"]


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def environment() -> dict[str, str]:
        raise error

    monkeypatch.setattr(info_module, "environment", environment)


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_is_a_screen_with_two_examples(pgsum, monkeypatch, verb):
    monkeypatch.setenv("COLUMNS", "80")
    done = pgsum(verb, "--help")
    lines = done.out.rstrip("\n").split("\n")
    assert done.code == 0
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    examples = lines[lines.index("  Examples:") + 1 :]
    assert len(examples) == 2
    assert all(f"pgsum {verb}" in example for example in examples)


def test_help_lists_the_verbs_and_the_version_is_printed(pgsum):
    done = pgsum("--help")
    assert all(f"\n  {verb} " in done.out for verb in VERBS)
    assert pgsum("--version").out == f"pgsum {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["train", "--help"], ["serve", "--help"]]
)
def test_help_imports_nothing_that_takes_seconds(arguments):
    code = (
        "import sys; from pgsum.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'pytorch_lightning', 'datasets', 'hydra', 'numpy', 'pyarrow', 'rich',\n"
        "    'fastapi', 'uvicorn'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "Train a pointer-generator on your own text"),
        (["trian"], 2, "Did you mean 'train'?"),
        (["train", "--frobnicate"], 2, "No such option: --frobnicate"),
        (["train", "optim.lrr=1"], 2, "hint: did you mean optim.lr?"),
        (["train", "optim.lr=nan"], 2, "optim.lr is nan"),
        (["train", "nosuch.jsonl"], 3, "no corpus called 'nosuch.jsonl'"),
        (["train", "--config", "nosuch.yaml"], 2, "cannot be read"),
        (["evaluate", "nosuch.jsonl", "--system", "lead-1"], 3, "no corpus called"),
        (["evaluate", "--system", "lead-x"], 2, "no system 'lead-x'"),
        (["evaluate", "--system", "lead-1", "--model", "x"], 2, "exclude each other"),
        (["summarize", "nosuch.txt"], 3, "There is no such file"),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(
    pgsum, monkeypatch, tmp_path, arguments, code, message
):
    monkeypatch.chdir(tmp_path)
    done = pgsum(*arguments)
    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("error", "code"), [(PgsumError, 1), (ConfigError, 2), (DataError, 3), (ModelError, 4)]
)
def test_an_error_says_what_where_and_what_to_do(pgsum, monkeypatch, error, code):
    fail_with(monkeypatch, error("It broke.", where="here:3", hint="mend it"))
    done = pgsum("info")
    assert (done.code, done.out) == (code, "")
    assert done.err == "error: It broke.\n  --> here:3\nhint: mend it\n"


@pytest.mark.fault(10)
def test_control_characters_in_an_error_do_not_reach_the_terminal(pgsum, monkeypatch):
    fail_with(monkeypatch, DataError("Bad \x1b[31m\nword.", where="a\x9bb", hint="\u202e"))
    assert pgsum("info").err == "error: Bad \\x1b[31m word.\n  --> a\\x9bb\nhint: \\u202e\n"


def test_a_fault_of_ours_asks_to_be_reported(pgsum, monkeypatch):
    fail_with(monkeypatch, KeyError("x"))
    done = pgsum("info")
    assert done.code == 1
    assert done.err.startswith("error: KeyError: 'x'\nhint: this is a fault of pgsum's")
    assert "Traceback" not in done.err


def test_a_full_disk_is_no_fault_of_the_program(pgsum, monkeypatch):
    fail_with(monkeypatch, OSError(errno.ENOSPC, "No space left on device", "there/model"))
    done = pgsum("info")
    assert done.code == 2
    assert done.err == (
        "error: What was to be written could not be: No space left on device.\n"
        "  --> there/model\nhint: make room there, or write elsewhere\n"
    )


def test_debug_shows_where_an_error_came_from(pgsum, monkeypatch):
    fail_with(monkeypatch, KeyError("x"))
    assert "in environment\n    raise error\n" in pgsum("info", "--debug").err
    fail_with(monkeypatch, DataError("It broke."))
    done = pgsum("info", "--debug")
    assert done.code == 3
    assert "in environment\n    raise error\n" in done.err


@pytest.mark.fault(41)
def test_ctrl_c_leaves_with_130(pgsum, monkeypatch):
    fail_with(monkeypatch, KeyboardInterrupt())
    assert pgsum("info").code == 130


@pytest.mark.parametrize("option", [["evaluate", "--json"], ["summarize", "--jsonl"]])
def test_with_json_an_error_is_one_object(pgsum, option):
    done = pgsum(*option, "nosuch\x1b.csv")
    assert done.err.count("\n") == 1
    assert "\x1b" not in done.err
    error = json.loads(done.err)
    assert error["exit_code"] == done.code == 3
    assert error.keys() == {"error", "where", "hint", "exit_code"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "--json", "--bogus"], "No such option: --bogus"),
        (["summarize", "--jsonl", "--beam-size", "x"], "Invalid value for '--beam-size'"),
        (["summarize", "--threads", "0", "--jsonl"], "Invalid value for '--threads'"),
        (["check", "--json", "--jsno"], "No such option: --jsno"),
    ],
)
def test_with_json_what_cannot_be_parsed_is_one_object_too(pgsum, arguments, message):
    done = pgsum(*arguments)
    error = json.loads(done.err)
    assert (done.out, error["exit_code"], done.code) == ("", 2, 2)
    assert message in error["error"]
    assert f"{arguments[0]} --help" in error["hint"]


def test_without_json_what_cannot_be_parsed_is_said_as_other_errors_are(pgsum):
    done = pgsum("train", "--frobnicate")
    assert done.err == (
        "error: No such option: --frobnicate.\nhint: `pgsum train --help` lists what there is\n"
    )


def test_info_names_all_that_a_report_needs(pgsum):
    names = [line.partition(":")[0] for line in pgsum("info").out.splitlines()]
    wanted = {"pgsum", "python", "torch", "datasets", "cpu", "cores", "bfloat16", "model"}
    assert wanted <= set(names)


def test_info_says_where_pgsum_has_no_model_of_its_own(pgsum, tmp_path, monkeypatch):
    monkeypatch.setattr("pgsum.bundle.PRETRAINED", tmp_path)
    assert "model:             none of its own\n" in pgsum("info").out


@pytest.mark.parametrize(
    ("variable", "value"),
    [("GOMP_SPINCOUNT", "5000"), ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")],
)
def test_torch_is_told_how_to_run_unless_it_has_been_already(pgsum, monkeypatch, variable, value):
    for before, after in ((None, value), ("1", "1")):
        if before is None:
            monkeypatch.delenv(variable)
        else:
            monkeypatch.setenv(variable, before)
        pgsum("info")
        assert os.environ[variable] == after


@pytest.mark.fault(41)
def test_whoever_stops_reading_stops_it_in_silence():
    with subprocess.Popen(
        [*PGSUM, "train", "--print-config"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_output_that_cannot_be_written_is_an_error():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PGSUM, "train", "--print-config"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "Standard output cannot be written: No space left on device" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_messages_that_cannot_be_written_change_no_outcome():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PGSUM, "summarize", "nosuch.txt"], stderr=full)
    assert done.returncode == 3


@pytest.mark.fault(45)
@pytest.mark.parametrize(
    "environment",
    [{"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}],
)
def test_files_and_output_are_utf8_whatever_the_locale(tmp_path, environment):
    (tmp_path / "a.yaml").write_bytes("name: é中\n".encode())
    done = subprocess.run(
        [*PGSUM, "train", "--print-config", "--config", tmp_path / "a.yaml"],
        env={**os.environ, **environment},
        capture_output=True,
    )
    assert "name: é中\n" in done.stdout.decode("utf-8")


def test_neither_a_home_nor_streams_are_needed(tmp_path):
    tmp_path.chmod(0o500)
    for home in ({}, {"HOME": str(tmp_path)}):
        done = subprocess.run(
            ["sh", "-c", '"$0" -m pgsum train --print-config <&- 2>&-', sys.executable],
            env={"PATH": os.environ["PATH"], **home},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout[:1]) == (0, "#")
