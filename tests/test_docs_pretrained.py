"""docs/make_pretrained.py, from a tiny training to a bundle with a card."""

import json
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from reference.small_corpus import TINY, write_corpus
from typer.testing import CliRunner

from pgsum.bundle import load_bundle, sha256
from pgsum.cli import console
from pgsum.cli.main import app
from pgsum.config import load_config
from pgsum.errors import DataError, ModelError

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    return import_module("make_pretrained")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with run/, scores/, as the recipe says, and greedy/, by another search."""
    here = tmp_path_factory.mktemp("made")
    corpus = write_corpus(here / "corpus")
    settings = [s for s in TINY if not s.startswith(("decode.", "data="))]
    steps = ["trainer.max_steps=2", "trainer.validate_every=2", "data.leaks=keep"]
    run = here / "run"
    tiny = [*settings, *steps, f"data.root={corpus}", "--out", str(run)]
    pgsum("train", "experiment=pretrained", *tiny)
    scored = ["evaluate", str(corpus), "--model", str(run), "--threads", "1"]
    pgsum(*scored, "--out", str(here / "scores"))
    pgsum(*scored, "--set", "decode.beam_size=1", "--out", str(here / "greedy"))
    return here


def pgsum(*arguments: str) -> None:
    done = CliRunner().invoke(app, list(arguments))
    console.set_mode(quiet=False, verbose=False, debug=False, as_json=False)
    assert done.exit_code == 0, done.output


def test_the_bundle_has_the_recipes_search_and_a_card_with_its_scores(script, made, tmp_path):
    script.ship(made / "run", [made / "scores"], tmp_path / "shipped")
    bundle = load_bundle(tmp_path / "shipped")
    assert bundle.config.decode == load_config(["experiment=pretrained"]).decode
    assert bundle.config.decode.faithful
    weights = [
        sha256(folder / "model.safetensors")
        for folder in (made / "run/model", tmp_path / "shipped")
    ]
    assert weights[0] == weights[1]
    card = (tmp_path / "shipped" / "README.md").read_text(encoding="utf-8")
    metrics = json.loads((made / "scores" / "metrics.json").read_text(encoding="utf-8"))
    for system in ("run", "lead-1"):
        assert f"{metrics['systems'][system]['rouge1']['f']:.2f}" in card
    assert "$" not in card


def test_the_card_says_which_word_vectors_it_began_with(script, made, tmp_path):
    run = shutil.copytree(made / "run", tmp_path / "run")
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    record["word_vectors"] = {"file": "there/vectors.npz", "sha256": "0", "found": 1234}
    (run / "run.json").write_text(json.dumps(record), encoding="utf-8")
    cards = []
    for folder in (made / "run", run):
        script.ship(folder, [made / "scores"], tmp_path / "shipped")
        cards.append((tmp_path / "shipped" / "README.md").read_text(encoding="utf-8"))
    assert "ectors" not in cards[0]
    assert "of 1,234 words to begin with, from `vectors.npz`" in cards[1]


def test_scores_of_another_search_or_model_are_refused(script, made, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="of other settings of search"):
        script.ship(made / "run", [made / "greedy"], tmp_path / "shipped")
    monkeypatch.setattr(script, "sha256", lambda path: "another")
    with pytest.raises(DataError, match="of another model"):
        script.ship(made / "run", [made / "scores"], tmp_path / "shipped")
    assert not (tmp_path / "shipped").exists()


def test_a_bundle_that_is_too_large_is_not_put_there(script, made, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "MOST_BYTES", 1000)
    with pytest.raises(ModelError, match="bytes, more than 1,000"):
        script.ship(made / "run", [made / "scores"], tmp_path / "shipped")
    assert not (tmp_path / "shipped").exists()
