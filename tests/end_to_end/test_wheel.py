"""The wheel, installed outside the checkout, does what the checkout does."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from reference.command_line import save_tiny_model

from pgsum.bundle import FILES
from pgsum.systems import BASELINES

ROOT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made of a source distribution, of what the checkout holds and a tiny model of its own."""
    checkout, folder = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    for name in ("pgsum", "conf"):
        without = shutil.ignore_patterns("__pycache__", "pretrained")
        shutil.copytree(ROOT / name, checkout / name, ignore=without)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, checkout)
    save_tiny_model(checkout / "pgsum" / "pretrained")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, checkout],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment that holds the wheel, and borrows the rest."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, with_pip=False, symlinks=True)
    paths = {"base": str(folder), "platbase": str(folder)}
    site_packages = Path(sysconfig.get_path("purelib", "posix_prefix", vars=paths))
    (site_packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = folder / "bin" / "python"
    install = ["install", "--no-deps", "--no-index", "--disable-pip-version-check", wheel]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, *install], check=True, capture_output=True
    )
    return python.parent


def run(command: Path, *arguments: str, cwd: Path) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [command, *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_the_settings_a_model_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    in_checkout = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("conf/**/*.yaml")}
    assert in_checkout
    assert {f"pgsum/{name}" for name in in_checkout} <= set(names)
    assert {"pgsum/py.typed", "pgsum/metrics/wordnet/noun.exc"} <= set(names)
    assert {f"pgsum/pretrained/{name}" for name in (*FILES, "MANIFEST.json")} <= set(names)
    assert any(name.endswith("licenses/pgsum/metrics/wordnet/LICENSE") for name in names)
    assert all(name.startswith(("pgsum/", "pgsum-")) for name in names)


def test_the_installed_command_is_that_of_the_wheel(installed, tmp_path):
    where = run(installed / "python", "-c", "import pgsum; print(pgsum.__file__)", cwd=tmp_path)
    assert Path(where).is_relative_to(installed.parent)
    assert "summarize" in run(installed / "pgsum", "--help", cwd=tmp_path)
    printed = run(installed / "pgsum", "train", "--print-config", "model=see2017", cwd=tmp_path)
    assert "attention: additive\n" in printed


def test_the_installed_command_summarizes_without_a_training(installed, tmp_path):
    (tmp_path / "a.txt").write_text("The cat sat on the mat near Oslo.", encoding="utf-8")
    assert run(installed / "pgsum", "summarize", "a.txt", cwd=tmp_path).count("\n") == 1
    own = next(installed.parent.glob("lib/*/site-packages/pgsum/pretrained"))
    assert f"model:             {own}\n" in run(installed / "pgsum", "info", cwd=tmp_path)


def test_the_installed_command_trains_and_summarizes(installed, tmp_path):
    pairs = [
        {
            "id": str(n),
            "document": f"The cat called number {n} sat down.",
            "summary": f"Number {n}.",
        }
        for n in range(60)
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
    small = ["model.embedding_size=6", "model.hidden_size=5", "decode.max_tokens=4"]
    steps = ["trainer.max_steps=4", "trainer.validate_every=4", "trainer.batch_size=5"]
    stdout = run(installed / "pgsum", "train", "pairs.jsonl", *small, *steps, cwd=tmp_path)
    run_folder = stdout.strip()
    assert (tmp_path / run_folder / "model" / "MANIFEST.json").is_file()
    (tmp_path / "a.txt").write_text("The cat called number 7 sat down.", encoding="utf-8")
    assert run(installed / "pgsum", "summarize", "a.txt", cwd=tmp_path).count("\n") == 1
    figures = run(installed / "pgsum", "evaluate", "--split", "validation", "--json", cwd=tmp_path)
    assert set(json.loads(figures)["systems"]) == {Path(run_folder).name, *BASELINES}
