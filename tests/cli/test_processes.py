import os
import subprocess
import sys

import pytest

TWO = ["--set", "trainer.devices=2"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("The cat sat on the mat near Oslo.", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*TWO], "Several processes cannot share what can be read only once, as standard input"),
        (["-", *TWO], "Several processes cannot share what can be read only once"),
        (["a.txt", "pipe", "--set", "trainer.nodes=2"], "read only once"),
        (["a.txt", *TWO, "--explain", "a.html"], "--explain is for one process, and several are"),
        (["a.txt", "--set", "trainer.max_steps=2"], "trainer.max_steps cannot be set here."),
        (["a.txt", "--set", "trainer.device=2"], "did you mean trainer.devices?"),
        (["a.txt", "--set", "trainer.devices=0"], "trainer.devices is 0: it must be"),
        (["a.txt", *TWO, "--device", "abacus"], "--device is 'abacus': it must be"),
    ],
)
def test_what_several_processes_cannot_do_is_refused(pgsum, tiny_model, arguments, message):
    done = pgsum("summarize", "--model", tiny_model, *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize("of", [["--system", "lead-3"], ["--predictions", "a.jsonl"]])
def test_several_processes_are_for_a_model(pgsum, of):
    done = pgsum("evaluate", "a.jsonl", *of, *TWO)
    assert (done.code, done.out) == (2, "")
    assert f"--set trainer.* has no effect with {of[0]}: there is no model." in done.err


def test_a_file_that_is_not_there_is_no_matter_of_processes(pgsum, tiny_model):
    done = pgsum("summarize", "--model", tiny_model, "no.txt", *TWO)
    assert done.code == 3
    assert "There is no such file." in done.err


def test_one_process_asked_for_is_one_as_ever(pgsum, tiny_model):
    command = ["summarize", "--model", tiny_model, "a.txt", "--threads", "1"]
    asked = pgsum(*command, "--set", "trainer.devices=1", "--set", "trainer.nodes=1")
    assert asked == pgsum(*command)


@pytest.mark.slow
def test_one_process_imports_neither_lightning_nor_datasets(tiny_model):
    code = (
        "import sys\n"
        f"sys.argv = ['pgsum', 'summarize', 'a.txt', '--model', {str(tiny_model)!r}]\n"
        "from pgsum.cli.main import main\n"
        "try:\n    main()\n"
        "finally:\n    print(*{'pytorch_lightning', 'datasets', 'torch'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "torch"
