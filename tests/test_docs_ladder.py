"""docs/make_ladder.py, from tiny trainings to the page."""

import json
import sys
from importlib import import_module
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.config import Config, load_config
from pgsum.errors import DataError
from pgsum.training.run import train

pytest.importorskip("matplotlib")
DOCS = Path(__file__).parent.parent / "docs"
NAMES = ("ant", "bee", "cow", "dog", "eel", "fox", "gnu", "hen")
TINY = [
    "model.embedding_size=6",
    "text.vocab_size=12",
    "trainer.max_steps=10",
    "trainer.validate_every=5",
    "trainer.validation_pairs=4",
    "trainer.batch_size=8",
    "optim.warmup_steps=2",
    "decode.max_tokens=5",
    "data.workers=1",
]
SIZES = {
    "seq2seq": ["model.hidden_size=8"],
    "additive": ["model.hidden_size=4", "model.decoder_size=8", "model.attention_size=5"],
    "pointer": ["model.hidden_size=4", "model.decoder_size=8", "model.attention_size=5"],
}
RUNS = ("seq2seq-1", "additive-1", "pointer-1", "pointer-2")


@pytest.fixture(scope="module")
def scripts():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        yield import_module("make_ladder"), import_module("ladder_runs")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    pairs = [
        {"document": f"This is a {a} and a {b}{i} for {a} users.", "summary": f"{a} with {b}{i}"}
        for i, (a, b) in enumerate(zip(NAMES * 4, NAMES[3:] * 8, strict=False))
    ]
    for name, part in ("train", pairs[:24]), ("validation", pairs[24:]):
        lines = [json.dumps(pair) + "\n" for pair in part]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("runs")
    for run in RUNS:
        name, seed = run.split("-")
        settings = [f"experiment=ladder_{name}", f"data.root={corpus}", f"trainer.seed={seed}"]
        settings += [*SIZES[name], *TINY]
        with pytest.MonkeyPatch.context() as patch:
            argv = [".venv/bin/pgsum", "train", *settings, "--out", str(folder / run), "--quiet"]
            patch.setattr(sys, "argv", argv)
            train(load_config(settings), out=folder / run, say=lambda line: None)
    return folder


@pytest.fixture(scope="module")
def page(scripts, runs, corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("docs") / "ladder.md"
    scripts[0].main([str(runs), "--data", str(corpus), "--out", str(out)])
    return out


def written(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.parent.rglob("*") if path.is_file()}


def test_the_table_has_a_row_for_each_rung_that_was_trained(page):
    first_table = page.read_text(encoding="utf-8").split("\n\n")[3].splitlines()
    names = [row.split("|")[1].strip() for row in first_table[2:]]
    assert names == ["lead-1", "seq2seq", "additive", "pointer"]
    assert all(row.count("[") == 6 for row in first_table[2:])


def test_rungs_without_a_run_are_left_out_and_named(page):
    text = page.read_text(encoding="utf-8")
    assert "Left out, for want of a run: bidirectional, dot, scaled_dot, general, coverage" in text
    assert "## A pointer" in text
    assert "## Coverage" not in text
    assert "<!--" not in text


def test_only_rungs_with_several_seeds_have_a_range(page):
    text = page.read_text(encoding="utf-8")
    assert "| pointer | 1, 2 |" in text
    assert "| additive | 1 |" not in text


def test_each_picture_that_the_page_shows_is_there(page):
    pictures = ["curves.svg", "alignment_additive.svg", "alignment_pointer.svg"]
    text = page.read_text(encoding="utf-8")
    for picture in pictures:
        assert f"](ladder/{picture})" in text
        assert (page.parent / "ladder" / picture).read_text(encoding="utf-8").strip()
    assert sorted(path.name for path in (page.parent / "ladder").iterdir()) == sorted(pictures)


def test_commands_and_page_name_no_folder_of_this_machine(page, runs, corpus):
    text = page.read_text(encoding="utf-8")
    assert "pgsum train experiment=ladder_pointer data.root=DIR trainer.seed=2" in text
    assert "--out RUNS/pointer-2\n" in text
    assert "--quiet" not in text
    assert not any(str(folder) in text for folder in (runs, corpus))


def test_settings_are_those_that_differ_from_the_rung_below(page):
    text = page.read_text(encoding="utf-8")
    assert "Settings: those of additive, and `model.pointer=true`." in text


def test_a_second_time_gives_the_same_bytes_and_scores_nothing(scripts, page, runs, corpus, capsys):
    before = written(page)
    scripts[0].main([str(runs), "--data", str(corpus), "--out", str(page)])
    assert written(page) == before
    assert capsys.readouterr().err == ""


def test_an_evaluation_of_another_model_is_made_anew(scripts, page, runs, corpus, tmp_path, capsys):
    copytree(runs / "pointer-2", tmp_path / "pointer-1")
    copytree(runs / "additive-1", tmp_path / "additive-1")
    stale = tmp_path / "pointer-1" / "evaluation" / "run.json"
    record = json.loads(stale.read_text(encoding="utf-8"))
    record["inputs"]["model"] = "another"
    stale.write_text(json.dumps(record), encoding="utf-8")
    out = tmp_path / "ladder.md"
    scripts[0].main([str(tmp_path), "--data", str(corpus), "--out", str(out)])
    assert capsys.readouterr().err == "pointer-1: summarizing 8 documents\n"
    assert "All have one seed." in out.read_text(encoding="utf-8")


def test_a_folder_without_runs_is_refused(scripts, tmp_path):
    with pytest.raises(DataError, match=r"holds no run of the ladder, such as seq2seq-1"):
        scripts[1].find_runs(tmp_path, ["pointer"])


def test_another_corpus_is_refused(scripts, runs, corpus, tmp_path):
    copytree(corpus, tmp_path / "other")
    with (tmp_path / "other" / "train.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"document": "One more.", "summary": "more"}\n')
    (run,) = scripts[1].find_runs(runs, ["seq2seq"])["seq2seq"]
    with pytest.raises(DataError, match=r"seq2seq-1 was trained on another corpus"):
        scripts[1].open_validation(run, tmp_path / "other")


def test_runs_with_different_vocabularies_are_refused(scripts, runs, tmp_path):
    copytree(runs / "pointer-1", tmp_path / "pointer-1")
    copytree(runs / "pointer-2", tmp_path / "pointer-2")
    record = tmp_path / "pointer-2" / "run.json"
    content = json.loads(record.read_text(encoding="utf-8")) | {"vocabulary": "another"}
    record.write_text(json.dumps(content), encoding="utf-8")
    expected = r"pointer-1 and pointer-2 cannot be compared: they have different vocabularies"
    with pytest.raises(DataError, match=expected):
        scripts[1].find_runs(tmp_path, ["pointer"])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(5, 9)), min_size=1, max_size=9))
def test_the_parts_of_a_ratio_have_the_ratio_as_their_mean(scripts, counts):
    found, total = np.array(counts, dtype=float).T
    measured = scripts[1].Measured(found, total)
    assert measured.figure == pytest.approx(100 * found.sum() / total.sum())
    assert measured.parts.mean() == pytest.approx(measured.figure)


def test_nothing_to_find_is_a_figure_of_0(scripts):
    nothing = scripts[1].Measured(np.zeros(3), np.zeros(3))
    assert (nothing.figure, nothing.interval) == (0.0, (0.0, 0.0))


@pytest.mark.parametrize(
    ("gain", "seed_gain", "higher", "expected", "holds"),
    [
        (0.2, 0.01, True, "better: so it is here", True),
        (-0.2, 0.01, False, "better: so it is here", True),
        (-0.2, 0.01, True, "**not so here**: it is lower", False),
        (0.2, 0.01, False, "**not so here**: it is higher", False),
        (0.0, 0.01, True, "**not so here**: the interval of the difference holds 0", False),
        (0.2, 0.3, True, "**not so here**: another seed alone makes a difference of up to", False),
    ],
)
def test_a_claim_holds_if_documents_and_seeds_leave_no_doubt(
    scripts, gain, seed_gain, higher, expected, holds
):
    ladder, found = scripts
    base = np.linspace(0.2, 0.4, 50)

    def figures(more: float) -> dict[str, object]:
        return {"rouge1": found.Measured(base + more, np.ones(50))}

    run = found.Run(Path("additive-1"), {"seed": 1}, Config())
    runs = {"additive": [run, run], "pointer": [run]}
    of_seeds = {"additive": [figures(0), figures(seed_gain)], "pointer": [figures(gain)]}
    page = ladder.Page(runs, of_seeds, {}, [])
    claim = ladder.Claim("additive", "rouge1", "Someone found it better", higher=higher)
    compared, verdict = page.verdict("pointer", claim)
    assert expected in compared
    assert verdict is holds
