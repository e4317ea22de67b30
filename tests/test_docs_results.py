"""docs/make_results.py, from tiny trainings to the page."""

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from shutil import copytree

import pytest
from typer.testing import CliRunner

from pgsum.cli import console
from pgsum.cli.main import app
from pgsum.errors import ConfigError, DataError, ModelError

DOCS = Path(__file__).parent.parent / "docs"
NAMES = ("ant", "bee", "cow", "dog", "eel", "fox", "gnu", "hen")
TINY = [
    "model.embedding_size=6",
    "model.hidden_size=8",
    "text.vocab_size=12",
    "trainer.max_steps=4",
    "trainer.validate_every=4",
    "trainer.validation_pairs=4",
    "trainer.batch_size=8",
    "optim.warmup_steps=2",
    "decode.max_tokens=5",
    "decode.beam_size=2",
    "data.workers=1",
]


@pytest.fixture(scope="module")
def scripts():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        names = ("make_results", "result_records", "result_corpora", "commands")
        yield {name: import_module(name) for name in names}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Whose first training documents are test documents, too."""
    folder = tmp_path_factory.mktemp("corpus")
    pairs = [
        {
            "document": f"This is a {a} and a {b}{i} for {a} users.\nIt has ``` and | in it.",
            "summary": f"{a} with {b}{i}",
        }
        for i, (a, b) in enumerate(zip(NAMES * 5, NAMES[3:] * 8, strict=False))
    ]
    parts = {"train": pairs[:24] + pairs[32:34], "validation": pairs[24:32], "test": pairs[32:]}
    for name, part in parts.items():
        lines = [json.dumps(pair) + "\n" for pair in part]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def pgsum(*arguments: object) -> None:
    words = list(map(str, arguments))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "mode", console.Mode())
        patch.setattr(sys, "argv", ["/somewhere/bin/pgsum", *words])
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.exception or done.output


@pytest.fixture(scope="module")
def runs(tmp_path_factory, corpus):
    """Trainings with and without what leaked, their evaluations, and those of other systems."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("drop", "keep"):
        data = [f"data.root={corpus}", f"data.leaks={name}", "trainer.threads=1"]
        settings = ["experiment=debian", *data, *TINY]
        pgsum("train", *settings, "--out", folder / name, "--quiet")
        model = ["--model", folder / name, "--threads", "1"]
        pgsum("evaluate", *model, "--split", "test", "--out", folder / name / "figures/test")
    pgsum("evaluate", *model, "--split", "validation", "--out", folder / "keep/figures/validation")
    for name, split in ("first-3", "test"), ("lead-2", "validation"):
        options = ["--system", name, "--split", split, "--out", folder / name]
        pgsum("evaluate", corpus, *options)
    predictions = folder / "drop/figures/test/predictions.jsonl"
    pgsum("evaluate", "--predictions", predictions, "--out", folder / "predictions")
    return folder


@pytest.fixture
def keep(scripts, runs, tmp_path):
    """Keeps a run with folders of `runs` as a record; its folder."""

    def keep(run: str, *scores: str, name: str, examples: int | None = None) -> Path:
        folders = [str(runs / each) for each in scores]
        drawn = ["--examples", str(examples)] if examples else []
        records = ["--records", str(tmp_path / "records")]
        scripts["make_results"].main(
            [*records, "keep", str(runs / run), *folders, "--as", name, *drawn]
        )
        return tmp_path / "records" / name

    return keep


@pytest.fixture
def page(scripts, tmp_path):
    def page() -> str:
        out = tmp_path / "results.md"
        places = ["--records", str(tmp_path / "records"), "--out", str(out)]
        scripts["make_results"].main(places)
        return out.read_text(encoding="utf-8")

    return page


def row(text: str, start: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {start} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_has_each_run_beside_its_bar(keep, page, runs):
    keep("drop", "drop/figures/test", "first-3", name="debian")
    text = page()
    metrics = json.loads((runs / "drop/figures/test/metrics.json").read_text(encoding="utf-8"))
    first = json.loads((runs / "first-3/metrics.json").read_text(encoding="utf-8"))
    own, lead_1 = (metrics["systems"][name]["rouge1"]["f"] for name in ("drop", "lead-1"))
    bar = max(lead_1, first["systems"]["first-3"]["rouge1"]["f"])
    corpus, pairs, run, rouge_1, *_, shown_bar, above, _, _, published = row(text, "debian")
    assert (corpus, pairs, run, published) == ("debian", "test, 8 pairs", "`debian`", "")
    assert rouge_1.startswith(f"{own:.2f} [")
    assert shown_bar.startswith(f"{bar:.2f} (")
    assert above == f"{own - bar:+.2f}"
    for name in ("`debian`", "lead-1", "lead-3", "first-3", "random-3", "textrank", "oracle"):
        assert row(text, name)[1].count("[") == 1
    assert f"`{metrics['signature']}`" in text


def test_corpora_without_a_run_are_left_out_and_named(keep, page):
    assert "No run has been kept yet." in page()
    keep("drop", "drop/figures/test", name="debian")
    text = page()
    assert "Left out, for want of a run: samsum, aeslc, csl," in text
    assert "## Debian" in text
    assert "## SAMSum" not in text
    assert "<!--" not in text
    assert "$" not in text


def test_neither_records_nor_page_name_a_place_of_this_machine(keep, page, runs, corpus):
    kept = keep("drop", "drop/figures/test", "first-3", name="debian", examples=1)
    texts = [path.read_text(encoding="utf-8") for path in kept.rglob("*") if path.is_file()]
    assert len(texts) == 7
    for text in [*texts, page()]:
        for place in (*runs.parents, runs, corpus, "/somewhere"):
            assert len(str(place)) == 1 or str(place) not in text
    assert "pgsum train experiment=debian data.root=DIR data.leaks=drop trainer.threads=1" in page()
    assert "pgsum evaluate --model RUN --threads 1 --split test --out SCORES\n" in page()
    assert "pgsum evaluate DIR --system first-3 --split test --out SCORES\n" in page()


def test_the_same_records_give_the_same_bytes(keep, page):
    first = keep("drop", "drop/figures/test", "first-3", name="debian", examples=2)
    before = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}, page()
    keep("drop", "drop/figures/test", "first-3", name="debian", examples=2)
    after = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}, page()
    assert before == after
    keep("drop", "drop/figures/test", name="debian")
    assert {path.name for path in first.iterdir()} == {"train.json", "config.yaml", "test"}


def test_it_is_said_what_a_training_cost(keep, page, runs):
    keep("drop", "drop/figures/test", name="debian")
    train = json.loads((runs / "drop/run.json").read_text(encoding="utf-8"))
    cores = train["hardware"]["cores"]
    assert f"Seed 1; {train['parameters']:,} parameters; 22 training pairs; 4 steps," in page()
    assert f"; 1 thread of {cores} cores (" in page()


def test_trainings_that_differ_in_leaks_alone_stand_side_by_side(keep, page):
    keep("drop", "drop/figures/test", name="debian")
    assert "held-out documents, too" not in page()
    keep("keep", "keep/figures/test", "keep/figures/validation", "lead-2", name="debian-leaks")
    text = page()
    assert "### Training documents that are held-out documents, too" in text
    sizes = [line.split(" | ")[1:3] for line in text.splitlines() if line.startswith("| test, 8")]
    assert sizes == [["24", "22"]]
    assert row(text, "lead-2")


def test_examples_are_quoted_with_their_ids(keep, page, runs):
    keep("drop", "drop/figures/test", name="debian", examples=2)
    text = page()
    rows = (runs / "drop/figures/test/predictions.jsonl").read_text(encoding="utf-8").splitlines()
    summaries = {str(each["id"]): each["prediction"] for each in map(json.loads, rows)}
    parts = text.split("\nid         ")[1:]
    assert len(parts) == 6
    for part in parts:
        id_, _, rest = part.partition(",")
        assert f"summary    {' '.join(summaries[id_].split())}".rstrip() in rest
        assert "It has ``` and | in it." in rest


def test_good_examples_score_no_lower_than_bad_ones(scripts, runs, tmp_path, keep):
    kept = keep("drop", "drop/figures/test", name="debian", examples=2)
    examples = json.loads((kept / "examples.json").read_text(encoding="utf-8"))
    good, middling, bad = (
        [sum(each["rouge"]) for each in examples[kind]] for kind in ("good", "middling", "bad")
    )
    assert min(good) >= max(middling)
    assert min(middling) >= max(bad)


def test_no_examples_are_kept_where_the_licence_forbids_it(keep):
    with pytest.raises(ConfigError, match=r"Texts of samsum are not shown \(CC BY-NC-ND 4.0\)"):
        keep("drop", "drop/figures/test", name="samsum", examples=1)


def test_a_run_that_may_be_of_another_corpus_is_not_quoted(keep, runs):
    copytree(runs / "drop", runs / "unsaid")
    history = runs / "unsaid/history.jsonl"
    text = history.read_text(encoding="utf-8").replace('"experiment=debian", ', "")
    history.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="The run is of a corpus of files, and not of debian"):
        keep("unsaid", "unsaid/figures/test", name="debian", examples=1)
    assert keep("unsaid", "unsaid/figures/test", name="debian")
    config = runs / "unsaid/config.yaml"
    text = re.sub(
        "^  root: .*$", "  root: x/samsum_1", config.read_text(encoding="utf-8"), flags=re.M
    )
    config.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="The run is of samsum, and not of debian"):
        keep("unsaid", "unsaid/figures/test", name="debian")


def test_more_examples_than_there_are_are_refused(keep):
    with pytest.raises(ConfigError, match=r"There are 8 examples, too few for 3 of each kind"):
        keep("drop", "drop/figures/test", name="debian", examples=3)


def test_a_record_has_the_name_of_its_corpus(keep):
    for name in ("debian-a", "debian-leaks-2"):
        assert keep("drop", "drop/figures/test", name=name).name == name
    for name in ("mine", "debian_a", "../debian", "Debian"):
        with pytest.raises(ConfigError, match=r"names no record.*debian"):
            keep("drop", "drop/figures/test", name=name)
    with pytest.raises(DataError, match="The run is of debian, and not of samsum"):
        keep("drop", "drop/figures/test", name="samsum")
    with pytest.raises(DataError, match="The run is of debian, and not of docstrings"):
        keep("drop", "drop/figures/test", name="docstrings")


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ("keep/figures/test", "is of another model than the run's"),
        ("lead-2", "lead-2 was scored on other pairs than the run's model"),
        ("predictions", "is of predictions, drop, and not of the run's model"),
        ("nothing", "cannot be read"),
    ],
)
def test_scores_that_do_not_belong_to_the_run_are_refused(keep, scores, expected):
    with pytest.raises(DataError, match=expected):
        keep("drop", "drop/figures/test", scores, name="debian")


def test_scores_of_a_baseline_alone_are_refused(keep):
    with pytest.raises(DataError, match="first-3 was scored on other pairs"):
        keep("drop", "first-3", name="debian")


def test_folders_of_one_name_are_refused(keep):
    with pytest.raises(ConfigError, match="Two folders of scores have one name"):
        keep("drop", "drop/figures/test", "drop/figures/test", name="debian")


def test_a_training_that_was_interrupted_is_refused(keep, runs):
    copytree(runs / "drop", runs / "stopped")
    record = json.loads((runs / "stopped/run.json").read_text(encoding="utf-8"))
    record["stopped"] = "interrupted"
    (runs / "stopped/run.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(ModelError, match="The training was interrupted after 4 steps"):
        keep("stopped", "stopped/figures/test", name="debian")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("train experiment=debian data.root=/a/b --out /c -q", "experiment=debian data.root=DIR"),
        ("train model.embeddings=/a/b.npz", "model.embeddings=VECTORS"),
        ("train data/mine a=1", "data/mine a=1"),
    ],
)
def test_a_command_is_shown_without_folders(scripts, given, expected):
    shown = scripts["commands"].shown_command(["/x/bin/pgsum", *given.split()], out="RUN")
    assert shown.removesuffix(" --out RUN") == f"pgsum train {expected}"


@pytest.mark.parametrize("word", ["/a/b.yaml", "data.train=/a/b.jsonl", "~/b", "x='/a/b'"])
def test_a_place_that_is_left_in_a_command_is_refused(scripts, word):
    with pytest.raises(DataError, match="names a place of one machine"):
        scripts["commands"].shown_command(["pgsum", "train", "--config", word], out="RUN")


def test_the_page_of_the_project_is_made_from_its_records(scripts, tmp_path):
    scripts["make_results"].main(["--out", str(tmp_path / "results.md")])
    made = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert made == (DOCS / "results.md").read_text(encoding="utf-8")


def test_each_corpus_has_a_section(scripts):
    template = (DOCS / "results.template.md").read_text(encoding="utf-8")
    sections = scripts["make_results"].SECTION.findall(template)
    corpora = list(scripts["result_corpora"].CORPORA)
    assert [corpus for corpus, _ in sections] == corpora
    assert all(f"\n${corpus}\n" in text for corpus, text in sections)
