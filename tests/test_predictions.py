import json

import pytest

from pgsum.data.records import Pair
from pgsum.errors import DataError
from pgsum.evaluation import evaluate
from pgsum.metrics.copying import Ratio
from pgsum.prediction_line import prediction_lines
from pgsum.predictions import Predictions, match_predictions, read_predictions
from pgsum.systems import Baseline, Trace, Written, recorded

PAIRS = [
    Pair("a", "The cat sat down. It slept.", ("The cat slept.", "A cat\nslept.")),
    Pair("b", "Prices rose.", ("今天", "Prices rose again.")),
]


def jsonl(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def predictions(*ids):
    pairs = tuple(Pair(id_, "", ()) for id_ in ids)
    written = tuple(Written(f"text {id_}") for id_ in ids)
    return Predictions("sut", pairs, written, (None,) * len(ids), {}, (), 0)


def texts(read):
    return tuple(written.text for written in read.written)


def ours(path, *, trace=None):
    """A file as `pgsum evaluate --out` writes it."""
    system = recorded([Written("A cat.", trace), Written("Prices\nrose.", trace)])
    lines = prediction_lines(evaluate(PAIRS, {"sut": system}))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_columns_are_prediction_and_references_by_default(tmp_path):
    path = jsonl(
        tmp_path / "p.jsonl",
        {"id": "a", "prediction": "x", "references": ["r", "s"]},
        {"id": "b", "prediction": "", "references": ["t"]},
    )
    read = read_predictions(path, references=True)
    assert read.name == "prediction"
    assert read.pairs == (Pair("a", "", ("r", "s")), Pair("b", "", ("t",)))
    assert texts(read) == ("x", "")


def test_named_columns_are_read_and_name_the_system(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("id,ours,reference\n7,x y,z\n", encoding="utf-8")
    read = read_predictions(
        path, references=True, prediction_column="ours", reference_column="reference"
    )
    assert (read.name, read.pairs, texts(read)) == ("ours", (Pair("7", "", ("z",)),), ("x y",))


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
    assert texts(read) == ("x", "y")
    assert "1 bad row skipped" in read.notes[0]
    assert read.skipped == 1


def test_a_file_without_predictions_is_an_error(tmp_path):
    with pytest.raises(DataError, match="holds no prediction"):
        read_predictions(jsonl(tmp_path / "p.jsonl"), references=True)


def test_predictions_are_matched_by_id_in_any_order():
    assert match_predictions(predictions("b", "a"), PAIRS) == [1, 0]


def test_ids_that_are_numbers_are_ids():
    three = predictions("1", "2", "3")
    assert match_predictions(three, [Pair(i, "", ("x",)) for i in "312"]) == [2, 0, 1]
    with pytest.raises(DataError, match="none for 4, 5; some for what is not in the data: 1, 2"):
        match_predictions(three, [Pair(i, "", ("x",)) for i in "345"])


def test_predictions_without_ids_are_matched_by_order():
    assert match_predictions(predictions("1", "2"), PAIRS) == [0, 1]
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


def test_predictions_of_other_documents_are_refused_though_the_ids_are_the_same(tmp_path):
    read = read_predictions(ours(tmp_path / "p.jsonl"), references=False)
    assert match_predictions(read, PAIRS) == [0, 1]
    others = [PAIRS[0], Pair("b", "Prices fell.", ("x",))]
    with pytest.raises(DataError, match="do not belong to these pairs: other documents for b;"):
        match_predictions(read, others)


def test_of_our_own_file_all_that_was_known_comes_back(tmp_path):
    trace = Trace(-1.5, "eos", False, 0, 27, 2, 1, 0, 0.5, 0.25, None, Ratio(0, 1))
    read = read_predictions(ours(tmp_path / "p.jsonl", trace=trace), references=True)
    assert read.name == "sut"
    assert read.written[0] == Written("A cat.", trace)
    assert read.baselines["lead-1"] == ("The cat sat down.", "Prices rose.")
    assert read.measured[1].summary["words"] == (2, 1)
    assert read.measured[1].references["words"] == (3, 2)


def test_columns_that_are_named_as_they_are_anyway_change_nothing(tmp_path):
    path = ours(tmp_path / "p.jsonl")
    named = read_predictions(
        path, references=True, prediction_column="prediction", reference_column="references"
    )
    assert named == read_predictions(path, references=True)


def change(path, **new):
    first, *others = path.read_text(encoding="utf-8").splitlines(keepends=True)
    row = {**json.loads(first), **new}
    path.write_text(json.dumps(row) + "\n" + "".join(others), encoding="utf-8")
    return path


@pytest.mark.parametrize("changed", [{"prediction": "A dog."}, {"references": ["A dog."]}])
def test_a_text_that_was_changed_after_it_was_measured_is_an_error(tmp_path, changed):
    path = change(ours(tmp_path / "p.jsonl"), **changed)
    with pytest.raises(DataError, match=r"changed after they were measured; at .*p.jsonl:1"):
        read_predictions(path, references=True)


def test_a_line_of_ours_that_is_damaged_is_an_error(tmp_path):
    path = change(ours(tmp_path / "p.jsonl"), measured=3)
    with pytest.raises(DataError, match=r"measured is 3; it must be an object; at .*:1; evaluate"):
        read_predictions(path, references=False)


@pytest.mark.parametrize("name", ["lead-3", "random-12", "document"])
def test_a_foreign_system_never_takes_the_name_of_a_baseline(tmp_path, name):
    rows = {"prediction": "x", "system": name}, {"prediction": "y", "system": name}
    read = read_predictions(jsonl(tmp_path / "p.jsonl", *rows), references=False)
    assert read.name == f"{name} (predictions)"
    named = jsonl(tmp_path / "named.jsonl", {name: "x"})
    found = read_predictions(named, references=False, prediction_column=name)
    assert found.name == f"{name} (predictions)"


def test_a_baseline_that_was_evaluated_keeps_its_name(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text(
        "".join(prediction_lines(evaluate(PAIRS, {"lead-3": Baseline("lead-3")}))),
        encoding="utf-8",
    )
    assert read_predictions(path, references=True).name == "lead-3"
