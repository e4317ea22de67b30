import json
import re
from pathlib import Path

import pytest

from pgsum.compare import compare_runs, read_evaluation
from pgsum.data.records import Pair
from pgsum.errors import DataError
from pgsum.evaluation import evaluate
from pgsum.metrics.bootstrap import Figure
from pgsum.metrics.rouge import METRICS
from pgsum.results import write_evaluation
from pgsum.systems import recorded

PAIRS = [Pair(f"id{i}", f"Document {i}.", (f"the cat sat on mat {i}",)) for i in range(7)]
TEXTS = [f"the cat sat on mat {i}" for i in range(7)]


def run(folder, *, name="sut", pairs=PAIRS, texts=TEXTS, **kwargs):
    systems = {name: recorded(texts)}
    write_evaluation(
        folder,
        evaluate(pairs, systems, baselines=False, **kwargs),
        command=[],
        config={},
        inputs={},
        seconds=0.0,
    )
    return folder


def test_scores_are_matched_by_id_whatever_their_order(tmp_path):
    worse = ["the cat", *TEXTS[1:]]
    a = run(tmp_path / "a", name="a")
    b = run(tmp_path / "b", name="b", pairs=PAIRS[::-1], texts=worse[::-1])
    found = compare_runs([a, b])
    expected = read_evaluation(b).scores["rouge1"].mean() - 100
    assert list(found.means) == ["a", "b"]
    assert found.of("b")[0].value == pytest.approx(expected)


def test_systems_of_one_name_are_called_as_their_folders(tmp_path):
    a, b = run(tmp_path / "a"), run(tmp_path / "b")
    assert list(compare_runs([a, b]).means) == [str(a), str(b)]
    assert list(compare_runs([a, a]).means) == [str(a), f"{a} (2)"]


def test_a_name_that_is_taken_is_not_given_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a, b = run(Path("a")), run(Path("a (2)"))
    assert list(compare_runs([a, a, b]).means) == ["a", "a (2)", "a (2) (2)"]


def shortened(lines):
    return lines[:-1]


def better(lines):
    return [re.sub(r'"f": [0-9.]+', '"f": 12.5', lines[0]), *lines[1:]]


def wordier(lines):
    return [re.sub(r'"words": \[[0-9]+', '"words": [99', lines[0]), *lines[1:]]


@pytest.mark.parametrize("change", [shortened, better, wordier])
def test_an_evaluation_that_was_changed_is_refused(tmp_path, change):
    folder = run(tmp_path / "a")
    path = folder / "predictions.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(change(lines)), encoding="utf-8")
    with pytest.raises(DataError, match=r"do not belong together: of 7 examples"):
        compare_runs([folder, folder])


def changed(pairs, **new):
    return [Pair(**{"id": p.id, "document": p.document, "references": p.references, **new})
            for p in pairs]  # fmt: skip


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"stemmer": "none"}, r"different ways: stem is nltk in .*a and none in .*b"),
        (
            {"pairs": [Pair(f"x{p.id}", p.document, p.references) for p in PAIRS]},
            r"only the first has id0, id1, id2, id3, id4 and 2 more; only the second has xid0",
        ),
        (
            {"pairs": [*PAIRS[:-1], *changed(PAIRS[-1:], references=("another",))]},
            r"different references for id6;",
        ),
        (
            {"pairs": changed(PAIRS, document="Another.")},
            r"different documents for id0, id1, id2, id3, id4 and 2 more",
        ),
    ],
)
def test_runs_that_measure_something_else_are_refused(tmp_path, other, message):
    with pytest.raises(DataError, match=message):
        compare_runs([run(tmp_path / "a"), run(tmp_path / "b", **other)])


def test_of_a_run_over_some_of_the_pairs_the_missing_ones_are_named(tmp_path):
    whole = run(tmp_path / "a")
    some = run(tmp_path / "b", pairs=PAIRS[:1], texts=TEXTS[:1])
    with pytest.raises(DataError, match=r"only the first has id1, id2, id3, id4, id5 and 1 more;"):
        compare_runs([whole, some])
    with pytest.raises(DataError, match=r"only the second has id1, id2, id3, id4, id5 and 1 more;"):
        compare_runs([some, whole])


def test_documents_that_are_not_known_are_not_compared(tmp_path):
    bare = changed(PAIRS, document="")
    assert compare_runs([run(tmp_path / "a"), run(tmp_path / "b", pairs=bare)]).n == 7


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("metrics.json", None, "holds no evaluation: it has no metrics.json"),
        ("predictions.jsonl", None, "holds no evaluation: it has no predictions.jsonl"),
        ("predictions.jsonl", "", "holds no prediction"),
        ("predictions.jsonl", "{", r"This is no JSON: .*predictions.jsonl:1"),
        ("predictions.jsonl", "[]\n", r"no JSON object.*predictions.jsonl:1"),
        ("predictions.jsonl", '{"id": "a"}\n', r"field prediction is missing.*predictions.jsonl:1"),
        ("metrics.json", "{}", r"The field systems is missing; at .*metrics.json"),
        ("metrics.json", "\ud83d", "it is not UTF-8"),
    ],
)
def test_a_folder_that_holds_no_evaluation_is_refused(tmp_path, name, content, message):
    folder = run(tmp_path / "a")
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(DataError, match=message):
        read_evaluation(folder)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match="nosuch' does not exist"):
        read_evaluation(tmp_path / "nosuch")


def test_ids_that_are_repeated_are_refused(tmp_path):
    folder = run(tmp_path / "a")
    path = folder / "predictions.jsonl"
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert json.loads(first)["id"] == "id0"
    path.write_text(f"{first}\n{first}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"id 'id0' stands at .*l:1 already: .*; at .*l:2"):
        read_evaluation(folder)


def test_lines_of_several_systems_are_refused(tmp_path):
    folder = run(tmp_path / "a")
    path = folder / "predictions.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[2] = lines[2].replace('"system": "sut"', '"system": "other"')
    path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(DataError, match=r"The system is 'other', and 'sut' in .*:3"):
        read_evaluation(folder)


MODEL = {
    "score": -1.0,
    "stop": "eos",
    "truncated": False,
    "unread_tokens": 0,
    "read_chars": 3,
    "words": 3,
    "copied": 1,
    "oovs": 0,
    "p_gen": 0.5,
    "copy_mass": 0.5,
    "coverage_loss": None,
    "reference_oovs": [0, 0],
}


SCORE = {"p": 100.0, "r": 100.0, "f": 100.0}
FIGURE = dict.fromkeys(Figure._fields, 100.0)
WHOLE = dict.fromkeys(METRICS, FIGURE)


def test_what_a_model_told_is_read(tmp_path):
    assert read_evaluation(damaged(run(tmp_path / "a"), model=MODEL)).system == "sut"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"id": 3}, "id is 3; it must be text"),
        ({"system": None}, "system is null; it must be text"),
        ({"source_sha256": 5}, "source_sha256 is 5; it must be text"),
        ({"prediction": ["x"]}, r'prediction is \["x"\]; it must be text'),
        ({"references": []}, r"references is \[\]; it must be a list of texts"),
        ({"references": ["x", 1]}, r"references is .*; it must be a list of texts"),
        ({"rouge2": SCORE | {"f": float("nan")}}, r"rouge2\.f is NaN; it must be a number"),
        ({"rouge2": SCORE | {"f": "1.0"}}, r'rouge2\.f is "1\.0"; it must be a number'),
        ({"rouge2": SCORE | {"f": True}}, r"rouge2\.f is true; it must be a number"),
        ({"rouge2": SCORE | {"f": 10**400}}, r"rouge2\.f is 10{39}\.\.\.; it must be a number"),
        ({"rouge2": SCORE | {"r": []}}, r"rouge2\.r is \[\]; it must be a number"),
        ({"rouge2": {}}, r"The field rouge2\.p is missing"),
        ({"rouge2": 5}, "rouge2 is 5; it must be an object"),
        ({"measured": {"summary": {"words": [float("nan"), 1]}}}, r"summary\.words is \[NaN, 1\]"),
        ({"measured": {"summary": {"words": [-1, 1]}}}, "it must be a pair of numbers, none"),
        ({"measured": {"summary": {"words": [1]}}}, "it must be a pair of numbers"),
        ({"measured": {"summary": {}}}, r"The field measured\.references is missing"),
        ({"model": "x"}, 'model is "x"; it must be an object'),
        ({"model": {}}, r"The field model\.score is missing"),
        ({"model": MODEL | {"p_gen": "0.5"}}, r'model\.p_gen is "0\.5"; it must be a number'),
        ({"model": MODEL | {"words": 2.5}}, r"model\.words is 2\.5; it must be a whole number"),
        ({"model": MODEL | {"words": -1}}, r"model\.words is -1; it must be a whole number, not"),
        ({"model": MODEL | {"stop": None}}, r"model\.stop is null; it must be text"),
        ({"model": MODEL | {"truncated": 0}}, r"model\.truncated is 0; it must be true or false"),
        ({"baselines": {"lead-1": None}}, r"baselines\.lead-1 is null; it must be text"),
        ({"texts_sha256": "f00d"}, "were changed after they were measured"),
    ],
)
def test_a_damaged_line_is_refused_by_file_line_and_field(tmp_path, damage, message):
    folder = damaged(run(tmp_path / "a"), **damage)
    with pytest.raises(DataError, match=message) as refused:
        read_evaluation(folder)
    assert refused.value.where == f"{folder / 'predictions.jsonl'}:2"
    assert refused.value.hint == "evaluate again with --out"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"signature": 1}, "signature is 1; it must be text"),
        ({"n": "7"}, 'n is "7"; it must be a whole number'),
        ({"systems": {"sut": {}}}, r"systems\.sut\.rouge1 is missing"),
        ({"systems": {}}, r"systems\.sut is missing"),
        ({"systems": {"sut": WHOLE, "lead-1": 5}}, r"systems\.lead-1 is 5; it must be an object"),
        (
            {"systems": {"sut": WHOLE | {"rougeL": FIGURE | {"p_low": "1"}}}},
            r'systems\.sut\.rougeL\.p_low is "1"; it must be a number',
        ),
        ({"measures": []}, r"measures is \[\]; it must be an object"),
    ],
)
def test_damaged_metrics_are_refused_by_field(tmp_path, damage, message):
    path = run(tmp_path / "a") / "metrics.json"
    content = json.loads(path.read_text(encoding="utf-8")) | damage
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError, match=message) as refused:
        read_evaluation(path.parent)
    assert refused.value.where == str(path)


def damaged(folder, **fields):
    """With other fields in its second line."""
    path = folder / "predictions.jsonl"
    first, second, *others = path.read_text(encoding="utf-8").splitlines(keepends=True)
    second = json.dumps(json.loads(second) | fields) + "\n"
    path.write_text("".join([first, second, *others]), encoding="utf-8")
    return folder


def test_how_each_run_wrote_is_read_from_its_lines(tmp_path):
    a, b = run(tmp_path / "a", name="a"), run(tmp_path / "b", name="b", texts=["new words"] * 7)
    found = compare_runs([a, b])
    assert found.measures["a"]["words"].micro == 6
    assert found.measures["b"]["novel_1grams"].micro == 1
    assert found.references["words"].micro == 6


def test_what_the_references_have_of_documents_comes_from_a_run_that_had_some(tmp_path):
    bare = run(tmp_path / "a", name="a", pairs=changed(PAIRS, document=""))
    found = compare_runs([bare, run(tmp_path / "b", name="b")])
    assert "coverage" in found.references
    assert "coverage" not in found.measures["a"]
