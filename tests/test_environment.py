import subprocess
from pathlib import Path

import pytest

import pgsum
from pgsum.environment import git_commit, hardware, versions


def test_versions_and_hardware_are_those_that_figures_depend_on():
    assert {"pgsum", "python", "torch", "rouge-score", "nltk"} <= versions().keys()
    assert {"platform", "cpu", "cores", "threads", "gpu"} <= hardware().keys()


@pytest.mark.parametrize(
    "error", [FileNotFoundError("git"), subprocess.CalledProcessError(128, "git")]
)
def test_without_git_there_is_no_commit(monkeypatch, error):
    def run(*_, **__):
        raise error

    monkeypatch.setattr(subprocess, "run", run)
    assert git_commit() is None


def test_an_installed_package_has_no_commit(monkeypatch, tmp_path):
    monkeypatch.setattr(pgsum, "__file__", str(tmp_path / "pgsum" / "__init__.py"))
    assert git_commit() is None


def test_a_checkout_names_its_commit(monkeypatch, tmp_path):
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(pgsum, "__file__", str(tmp_path / "pgsum" / "__init__.py"))

    def run(command, **_):
        assert Path(command[2]) == tmp_path.resolve()
        return subprocess.CompletedProcess(command, 0, stdout="abc123-dirty\n")

    monkeypatch.setattr(subprocess, "run", run)
    assert git_commit() == "abc123-dirty"
