import json

import pytest

import pgsum
from pgsum.data.records import Pair
from pgsum.errors import ConfigError, DataError
from pgsum.evaluation import evaluate, recorded
from pgsum.metrics.rouge import METRICS
from pgsum.predictions import (
    Predictions,
    check_output_folder,
    match_predictions,
    read_predictions,
    write_evaluation,
)

PAIRS = [
    Pair("a", "The cat sat down. It slept.", ("The cat slept.", "A cat\nslept.")),
    Pair("b", "Prices rose.", ("今天", "Prices rose again.")),
]
RUN = {"command": ["pgsum", "evaluate"], "config": {"seed": 1}, "inputs": {}, "seconds": 1.5}


def jsonl(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def predictions(*ids):
    pairs = tuple(Pair(id_, "", ()) for id_ in ids)
    return Predictions("sut", pairs, tuple(f"text {id_}" for id_ in ids), (), 0)


def written(folder, **kwargs):
    evaluation = evaluate(PAIRS, {"sut": recorded(["A cat.", "Prices\nrose."])}, **kwargs)
    write_evaluation(folder, evaluation, **RUN)
    return folder


def test_columns_are_prediction_and_references_by_default(tmp_path):
    path = jsonl(
        tmp_path / "p.jsonl",
        {"id": "a", "prediction": "x", "references": ["r", "s"]},
        {"id": "b", "prediction": "", "references": ["t"]},
    )
    read = read_predictions(path, references=True)
    assert read.name == "prediction"
    assert read.pairs == (Pair("a", "", ("r", "s")), Pair("b", "", ("t",)))
    assert read.texts == ("x", "")


def test_named_columns_are_read_and_name_the_system(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("id,ours,reference\n7,x y,z\n", encoding="utf-8")
    read = read_predictions(
        path, references=True, prediction_column="ours", reference_column="reference"
    )
    assert (read.name, read.pairs, read.texts) == ("ours", (Pair("7", "", ("z",)),), ("x y",))


def test_without_references_only_predictions_are_needed(tmp_path):
    read = read_predictions(jsonl(tmp_path / "p.jsonl", {"prediction": "x"}), references=False)
    assert read.pairs == (Pair("1", "", ()),)


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"prediction": None, "references": ["x"]}, {}, r"p.jsonl:1"),
        ({"prediction": "x", "references": [None]}, {}, r"p.jsonl:1"),
        ({"prediction": "x", "references": []}, {}, "empty list"),
        ({"predictions": "x", "references": ["x"]}, {}, "--prediction-column predictions"),
        ({"prediction": "x", "references": "x"}, {"reference_column": "gold"}, "no column 'gold'"),
        ({"prediction": "x", "gold": "x"}, {}, "--reference-column"),
    ],
)
def test_a_row_that_cannot_be_scored_is_an_error_with_its_place(tmp_path, row, options, message):
    with pytest.raises(DataError, match=message):
        read_predictions(jsonl(tmp_path / "p.jsonl", row), references=True, **options)


def test_bad_rows_are_skipped_and_counted_where_that_is_asked_for(tmp_path):
    path = jsonl(tmp_path / "p.jsonl", {"prediction": "x"}, {"prediction": 3}, {"prediction": "y"})
    read = read_predictions(path, references=False, on_bad="skip")
    assert read.texts == ("x", "y")
    assert "1 bad row skipped" in read.notes[0]
    assert read.skipped == 1


def test_a_file_without_predictions_is_an_error(tmp_path):
    with pytest.raises(DataError, match="holds no prediction"):
        read_predictions(jsonl(tmp_path / "p.jsonl"), references=True)


def test_predictions_are_matched_by_id_in_any_order():
    assert match_predictions(predictions("b", "a"), PAIRS) == ["text a", "text b"]


def test_predictions_without_ids_are_matched_by_order():
    assert match_predictions(predictions("1", "2"), PAIRS) == ["text 1", "text 2"]
    with pytest.raises(DataError, match="3 predictions of sut and 2 pairs"):
        match_predictions(predictions("1", "2", "3"), PAIRS)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("a", "none for b"),
        ("aab", "more than one for a"),
        ("abc", "some for what is not in the data: c"),
        ("cdefghi", "none for a, b; some for what is not in the data: c, d, e, f, g and 2 more"),
    ],
)
def test_predictions_that_do_not_belong_are_refused_with_the_first_five(ids, message):
    with pytest.raises(DataError, match=message):
        match_predictions(predictions(*ids), PAIRS)


def test_an_evaluation_is_written_as_three_files(tmp_path):
    folder = written(tmp_path / "new" / "out")
    assert sorted(path.name for path in folder.iterdir()) == [
        "metrics.json",
        "predictions.jsonl",
        "run.json",
    ]
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["n"] == 2
    assert metrics["signature"].startswith("ROUGE|n:2|nrefs:2|")
    assert list(metrics["systems"]) == ["sut", "lead-1", "lead-3"]
    assert list(metrics["systems"]["sut"]) == list(METRICS)

    lines = (folder / "predictions.jsonl").read_text(encoding="utf-8").split("\n")
    first = json.loads(lines[0])
    assert list(first) == ["id", "system", "prediction", "references", *METRICS]
    assert first["references"] == list(PAIRS[0].references)
    assert first["rouge1"] == {"p": 100.0, "r": 66.6667, "f": 80.0}
    assert lines[2:] == [""]

    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert run["command"] == ["pgsum", "evaluate"]
    assert run["versions"]["pgsum"] == pgsum.__version__
    assert (run["seed"], run["seconds"]) == (12345, 1.5)


def test_the_same_input_gives_the_same_bytes_whatever_the_number_of_processes(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("pgsum.metrics.rouge._PAIRS_PER_WORKER", 1)
    once, twice = (written(tmp_path / str(workers), workers=workers) for workers in (1, 2))
    for name in ("metrics.json", "predictions.jsonl"):
        assert (once / name).read_bytes() == (twice / name).read_bytes()


def test_scoring_the_predictions_again_gives_the_same_metrics(tmp_path):
    once = written(tmp_path / "once", baselines=False)
    read = read_predictions(once / "predictions.jsonl", references=True)
    again = evaluate(read.pairs, {read.name: recorded(read.texts)})
    write_evaluation(tmp_path / "again", again, **RUN)
    metrics = [(tmp_path / name / "metrics.json").read_bytes() for name in ("once", "again")]
    assert metrics[0] == metrics[1]


def test_half_a_surrogate_pair_is_written_as_json_escapes_it(tmp_path):
    evaluation = evaluate(PAIRS, {"sut": recorded(["\ud83d", "x"])})
    write_evaluation(tmp_path, evaluation, **RUN)
    line = (tmp_path / "predictions.jsonl").read_text(encoding="utf-8").split("\n")[0]
    assert json.loads(line)["prediction"] == "\ud83d"


def test_results_are_never_written_over(tmp_path):
    check_output_folder(tmp_path / "new")
    check_output_folder(tmp_path)
    (tmp_path / "mine.txt").touch()
    with pytest.raises(ConfigError, match=r"holds files already.*--out"):
        written(tmp_path)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        written(tmp_path / "file")
    with pytest.raises(ConfigError, match="cannot be written"):
        written(tmp_path / "file" / "below")


def test_a_full_disk_leaves_no_half_file(tmp_path, monkeypatch):
    def replace(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", replace)
    with pytest.raises(ConfigError, match="cannot be written: No space left on device"):
        written(tmp_path)
    assert list(tmp_path.iterdir()) == []
