import json
import re
import shutil

import pytest
from datasets import Dataset

from pgsum.by_name import Model
from pgsum.cli.model import run_name
from pgsum.data.files import content_digest
from pgsum.data.sources import Split
from pgsum.summarizer import Summarizer
from pgsum.systems import BASELINES

PAIRS = [
    {"id": "x", "document": "The cat sat. It slept.", "summary": "The cat sat."},
    {"id": "y", "document": "A dog ran home. It ate.", "summary": "A dog ate."},
]
PREDICTIONS = [
    {"id": "y", "prediction": "A dog ate.", "reference": "A dog ate.", "other": "A dog."},
    {"id": "x", "prediction": "The cat sat.", "reference": "The cat sat.", "other": "A cat."},
]


def write(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pairs.jsonl", PAIRS)
    write(tmp_path / "mine.jsonl", PREDICTIONS)
    return tmp_path


def figures(done, *, code=0) -> dict[str, dict[str, float]]:
    assert done.code == code, done.err
    systems = json.loads(done.out)["systems"]
    return {
        name: {metric: figure["f"] for metric, figure in by_metric.items()}
        for name, by_metric in systems.items()
    }


def test_predictions_are_scored_against_the_references_beside_them(pgsum):
    options = ["--predictions", "mine.jsonl", "--reference-column", "reference"]
    done = pgsum("evaluate", *options)
    assert (done.code, done.err) == (0, "")
    heading, row, _, signature, *below = done.out.splitlines()
    assert heading.split() == ["system", "R-1", "R-2", "R-L", "R-Lsum"]
    assert row.split() == ["prediction", "100.00", "100.00", "100.00", "100.00"]
    assert signature.startswith("ROUGE|n:2|nrefs:1|")
    assert "words                                3.00        3.00" in below
    assert below[-1].startswith("ROUGE and the proxies count shared words: overlap, neither truth")
    other = figures(pgsum("evaluate", *options, "--prediction-column", "other", "--json"))
    assert list(other) == ["other"]
    assert other["other"]["rouge1"] < 100


def test_predictions_are_matched_with_data_by_id_and_baselines_stand_below_them(pgsum):
    found = figures(pgsum("evaluate", "pairs.jsonl", "--predictions", "mine.jsonl", "--json"))
    assert list(found) == ["prediction", *BASELINES]
    assert found["prediction"]["rouge1"] == 100
    alone = ["--no-baselines", "--json"]
    found = figures(pgsum("evaluate", "pairs.jsonl", "--predictions", "mine.jsonl", *alone))
    assert list(found) == ["prediction"]


def test_a_baseline_needs_no_model(pgsum):
    found = figures(pgsum("evaluate", "pairs.jsonl", "--system", "lead-2", "--json"))
    assert list(found) == ["lead-2", *BASELINES]
    assert found["lead-2"] == found["lead-3"]


def test_rouge_options_change_the_signature(pgsum):
    options = ["--rouge-tokenizer", "unicode", "--rouge-stemmer", "none", "--multi-ref", "mean"]
    done = pgsum("evaluate", "pairs.jsonl", "--system", "lead-1", *options, "--json")
    assert "|multi:mean|tok:unicode|stem:none|" in json.loads(done.out)["signature"]


def test_results_are_kept_in_a_new_folder_only(pgsum, here):
    options = ["evaluate", "pairs.jsonl", "--system", "lead-1", "--out", "results"]
    assert "written: results\n" in pgsum(*options).err
    done = pgsum(*options[:-1], "again", "--json")
    assert done.err == ""
    assert (here / "results" / "metrics.json").read_text(encoding="utf-8") == done.out
    assert not (here / "results" / "skipped.jsonl").exists()
    run = json.loads((here / "results" / "run.json").read_text(encoding="utf-8"))
    inputs = run["inputs"]
    assert (inputs["data"], inputs["split"]) == ("pairs.jsonl", "test")
    assert inputs["files"] == {"pairs.jsonl": content_digest(here / "pairs.jsonl")}
    assert len(inputs["fingerprint"]) == 64
    assert run["config"]["data"]["test"] == "pairs.jsonl"
    taken = pgsum(*options, "--json")
    assert taken.code == 2
    assert json.loads(taken.err)["where"] == "results"


@pytest.mark.parametrize("no_baselines", [[], ["--no-baselines"]])
def test_scoring_what_was_kept_again_gives_the_same_metrics(pgsum, tiny_model, here, no_baselines):
    model = ["--model", tiny_model, "--threads", "1"]
    done = pgsum("evaluate", "pairs.jsonl", *model, "--out", "once", *no_baselines)
    assert done.code == 0
    pgsum("evaluate", "--predictions", "once/predictions.jsonl", "--out", "again", *no_baselines)
    once, again = ((here / name / "metrics.json").read_bytes() for name in ("once", "again"))
    assert once == again
    assert "p_gen, mean" in done.out
    assert "novel 1-grams, to what was read" in done.out
    inputs = json.loads((here / "once" / "run.json").read_text(encoding="utf-8"))["inputs"]
    assert inputs["model_sha256"] == content_digest(tiny_model / "model.safetensors")
    assert inputs["vocabulary_sha256"] == content_digest(tiny_model / "vocab.json")


def test_predictions_with_what_a_model_told_are_measured_anew_where_there_are_documents(
    pgsum, tiny_model, here
):
    pgsum("evaluate", "pairs.jsonl", "--model", tiny_model, "--threads", "1", "--out", "once")
    options = ["--predictions", "once/predictions.jsonl", "--out", "again"]
    pgsum("evaluate", "pairs.jsonl", *options)
    once, again = ((here / name / "metrics.json").read_bytes() for name in ("once", "again"))
    assert once == again


def test_the_oracle_is_called_no_system(pgsum):
    done = pgsum("evaluate", "pairs.jsonl", "--system", "lead-1")
    assert "oracle chooses sentences by looking at the references: a bound, no system." in done.out


def test_a_model_is_scored_on_data_under_settings(pgsum, tiny_model):
    model = ["--model", tiny_model, "--threads", "1", "--json"]
    found = figures(pgsum("evaluate", "pairs.jsonl", *model))
    assert list(found) == [run_name(Model(tiny_model)), *BASELINES]
    done = pgsum("evaluate", "pairs.jsonl", *model, "--set", "decode.beam=2")
    assert done.code == 2
    assert "did you mean decode.beam_size?" in json.loads(done.err)["hint"]


def test_many_documents_are_summarized_some_at_a_time(pgsum, tiny_model, here, monkeypatch):
    rows = [PAIRS[n % 2] | {"id": n} for n in range(7)]
    write(here / "seven.jsonl", rows)
    options = ["evaluate", "seven.jsonl", "--model", tiny_model, "--threads", "1"]
    pgsum(*options, "--out", "at-once")
    sizes = []
    summarize = Summarizer.summarize

    def counting(self, documents, **settings):
        sizes.append(len(documents))
        return summarize(self, documents, **settings)

    monkeypatch.setattr(Summarizer, "summarize", counting)
    monkeypatch.setattr("pgsum.cli.processes._BATCHES_AT_ONCE", 1)
    pgsum(*options, "--out", "in-parts", "--set", "decode.batch_size=3")
    assert sizes == [3, 3, 1]
    at_once, in_parts = (
        (here / folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
        for folder in ("at-once", "in-parts")
    )
    assert len(at_once) == 7
    for one, other in zip(at_once, in_parts, strict=True):
        # How many rows a product has moves its last digits on some processors.
        rounded = [
            json.loads(line, parse_float=lambda x: f"{float(x):.4f}") for line in (one, other)
        ]
        assert rounded[0] == rounded[1]


@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [
        ("xy", ["--rouge-tokenizer", "abacus"], "no ROUGE tokenizer"),
        ("xy", ["--rouge-stemmer", "abacus"], "no ROUGE stemmer"),
        ("xx", [], "Ids must be unique; these are not: x.\n  --> two.jsonl"),
    ],
)
def test_what_cannot_be_scored_is_not_summarized(
    pgsum, tiny_model, here, monkeypatch, ids, options, message
):
    def summarize(*_, **__):
        raise AssertionError("nothing was to be summarized")

    monkeypatch.setattr("pgsum.summarizer.Summarizer.summarize", summarize)
    write(here / "two.jsonl", [row | {"id": id_} for id_, row in zip(ids, PAIRS, strict=True)])
    done = pgsum("evaluate", "two.jsonl", "--model", tiny_model, *options)
    assert done.code in (2, 3)
    assert message in done.err


def test_without_data_a_model_is_scored_on_its_own_corpus(pgsum, tiny_model, monkeypatch):
    asked = []

    def open_split(config, split, *, progress, options):
        asked.append((config.name, split))
        pairs = [
            {"id": row["id"], "document": row["document"], "references": [row["summary"]]}
            for row in PAIRS
        ]
        return Split(Dataset.from_list(pairs), (), 0, "f" * 64)

    monkeypatch.setattr("pgsum.data.sources.open_split", open_split)
    done = pgsum("evaluate", "--model", tiny_model, "--split", "validation", "--json")
    assert len(figures(done)) == 1 + len(BASELINES)
    assert asked == [("docstrings", "validation")]


def test_columns_and_bad_rows_are_set_as_for_training(pgsum, here):
    rows = [{"id": 1, "a": "The cat sat.", "b": "A cat."}, {"id": 2, "a": "x", "b": None}]
    write(here / "odd.jsonl", rows)
    columns = ["--set", "data.document_column=a", "--set", "data.summary_column=b"]
    options = ["evaluate", "odd.jsonl", "--system", "lead-1", "--json"]
    assert pgsum(*options).code == 3
    assert pgsum(*options, *columns).code == 3
    done = pgsum(*options, *columns, "--on-bad", "skip")
    assert list(figures(done, code=5)) == ["lead-1", *BASELINES[1:]]
    pgsum(*options, *columns, "--on-bad", "skip", "--out", "kept")
    (left_out,) = (here / "kept" / "skipped.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(left_out)["row"] == 2
    assert json.loads(done.err) == {"warning": "1 bad row is left out of these figures."}
    done = pgsum(*options[:-1], *columns, "--on-bad", "skip")
    assert "odd.jsonl: 1 bad row skipped" in done.err
    assert "warning: 1 bad row is left out of these figures.\n" in done.err


def test_skipped_predictions_leave_with_5_too(pgsum, here):
    write(here / "pairs.jsonl", [*PAIRS, {"id": "z", "document": "A bird.", "summary": 3}])
    write(here / "mine.jsonl", [*PREDICTIONS, {"id": "z", "prediction": None}])
    skip = ["--predictions", "mine.jsonl", "--on-bad", "skip"]
    done = pgsum("evaluate", *skip, "--reference-column", "reference")
    assert done.code == 5
    assert "warning: 1 bad row is left out of these figures.\n" in done.err
    for _ in range(2):  # read, then from the cache
        done = pgsum("evaluate", "pairs.jsonl", *skip)
        assert done.code == 5
        assert "warning: 2 bad rows are left out of these figures.\n" in done.err


@pytest.mark.parametrize(
    ("row", "options", "hint"),
    [
        ({"text": "A cat.", "gist": "A."}, [], "--set data.summary_column="),
        ({"text": "A cat.", "summary": None}, [], "add --on-bad skip"),
        (
            {"text": "A cat.", "references": ["A.", "B."]},
            ["--split", "train"],
            "add --set data.reference=first",
        ),
    ],
)
def test_hints_name_what_this_command_takes(pgsum, here, row, options, hint):
    write(here / "odd.jsonl", [row])
    done = pgsum("evaluate", "odd.jsonl", "--system", "lead-1", *options)
    assert done.code == 3
    assert hint in done.err


def test_a_folder_without_the_split_may_be_told_its_file(pgsum, here):
    (here / "data").mkdir()
    done = pgsum("evaluate", "data", "--system", "lead-1")
    assert done.code == 2
    assert "add --set data.test=FILE" in done.err


def test_an_encoding_that_is_named_is_that_of_the_predictions_too(pgsum, here):
    path = here / "latin.csv"
    path.write_bytes("prediction,gold\ncafé,café\n".encode("latin-1"))
    options = ["--predictions", "latin.csv", "--reference-column", "gold", "--json"]
    done = pgsum("evaluate", *options)
    assert done.code == 3
    assert json.loads(done.err)["hint"] == "it looks like latin-1: add --set data.encoding=latin-1"
    assert figures(pgsum("evaluate", *options, "--set", "data.encoding=latin-1"))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--model", "x", "--predictions", "mine.jsonl"], 2, "--model and --predictions exclude"),
        (["pairs.jsonl", "--model", "nosuch"], 4, "nosuch"),
        (["pairs.jsonl", "--system", "lead-1", "--set", "decode.beam_size=2"], 2, "decode.beam_si"),
        (
            ["--predictions", "mine.jsonl", "--set", "data.max_pairs=2"],
            2,
            "Without DATA no setting",
        ),
        (["pairs.jsonl", "--predictions", "nosuch.jsonl"], 3, "There is no such file"),
        (["pairs.jsonl", "--system", "lead-1", "--rouge-tokenizer", "x"], 2, "no ROUGE tokenizer"),
        (["pairs.jsonl", "--system", "lead-1", "--split", "dev"], 2, "'dev'"),
        (["--predictions", "mine.jsonl"], 3, "reference"),
    ],
)
def test_what_cannot_be_scored_is_refused(pgsum, arguments, code, message):
    done = pgsum("evaluate", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


SYSTEM = ["pairs.jsonl", "--system", "lead-1"]
MINE = ["--predictions", "mine.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*SYSTEM, "--prediction-column", "x"], "--prediction-column has no effect without --pred"),
        ([*SYSTEM, "--reference-column", "x"], "--reference-column has no effect without --pred"),
        (["pairs.jsonl", *MINE, "--reference-column", "x"], "no effect with DATA."),
        ([*MINE, "--split", "test"], "--split has no effect without DATA."),
        (["pairs.jsonl", "--examples", "3"], "--examples has no effect without --report."),
        (
            [*SYSTEM, "--report", "r.html", "--examples", "3"],
            "--examples has no effect with --system: there is no model.",
        ),
        ([*MINE, "--device", "cpu"], "--device has no effect with --predictions: there is no mod"),
    ],
)
def test_an_option_without_effect_is_refused(pgsum, arguments, message):
    done = pgsum("evaluate", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.endswith("hint: leave it out\n")


def test_threads_are_those_of_scoring_too(pgsum, monkeypatch):
    asked = []

    def map_here(function, items, *, workers, **_):
        asked.append(workers)
        return function(items)

    monkeypatch.setattr("pgsum.evaluation.map_in_processes", map_here)
    assert pgsum("evaluate", *SYSTEM, "--threads", "3").code == 0
    assert asked == [3]


def test_bad_predictions_may_be_skipped_by_a_setting(pgsum, here):
    write(here / "mine.jsonl", [*PREDICTIONS, {"prediction": None}])
    options = [*MINE, "--reference-column", "reference"]
    assert pgsum("evaluate", *options).code == 3
    assert pgsum("evaluate", *options, "--set", "data.on_bad=skip").code == 5


def test_the_help_has_a_line_for_each_option(pgsum, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = pgsum("evaluate", "--help").out.rstrip("\n").split("\n")
    assert len(lines) <= 34
    options = lines[lines.index("Options:") + 1 : lines.index("  Examples:") - 1]
    assert all(re.match("  -[-a-z]", line) for line in options)


def test_a_model_never_takes_the_name_of_a_baseline(pgsum, tiny_model, here):
    shutil.copytree(tiny_model, here / "lead-3" / "model")
    found = figures(pgsum("evaluate", "pairs.jsonl", "--model", "lead-3", "--json"))
    assert list(found) == ["lead-3 (model)", *BASELINES]


def test_scoring_predictions_again_keeps_which_documents_they_were_of(pgsum, here):
    pgsum("evaluate", *SYSTEM, "--out", "once")
    pgsum("evaluate", "--predictions", "once/predictions.jsonl", "--out", "again")
    once, again = ((here / name / "predictions.jsonl").read_bytes() for name in ("once", "again"))
    assert once == again
    write(here / "pairs.jsonl", [PAIRS[0], PAIRS[1] | {"document": "Another dog ran home."}])
    done = pgsum("evaluate", "pairs.jsonl", "--predictions", "once/predictions.jsonl")
    assert done.code == 3
    assert "other documents for y" in done.err


def test_a_run_gives_its_model_its_name(tmp_path):
    assert run_name(Model(tmp_path / "quick-001" / "model")) == "quick-001"
    assert run_name(Model(tmp_path / "bundle")) == "bundle"
    assert run_name(Model(tmp_path / "a" / ".." / "bundle")) == "bundle"


def test_a_model_of_the_hub_is_recorded_with_its_commit(pgsum, tiny_model, here, hub):
    commit = hub.push("owner/tiny", tiny_model)
    options = ["evaluate", "pairs.jsonl", "--model", "owner/tiny", "--threads", "1"]
    done = pgsum(*options, "--out", "scores")
    assert f"model: owner/tiny@{commit}\n" in done.err
    metrics = json.loads((here / "scores" / "metrics.json").read_text(encoding="utf-8"))
    assert f"owner/tiny@{commit[:12]}" in metrics["systems"]
    inputs = json.loads((here / "scores" / "run.json").read_text(encoding="utf-8"))["inputs"]
    assert inputs["model"] == f"owner/tiny@{commit}"
    assert inputs["model_sha256"] == content_digest(tiny_model / "model.safetensors")
