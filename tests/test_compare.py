import json
import re
from pathlib import Path

import pytest

from pgsum.compare import compare_runs, read_evaluation
from pgsum.data.records import Pair
from pgsum.errors import DataError
from pgsum.evaluation import evaluate
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


def without_number(lines):
    return [re.sub(r'"f": [0-9.]+', '"f": NaN', lines[0]), *lines[1:]]


def better(lines):
    return [re.sub(r'"f": [0-9.]+', '"f": 12.5', lines[0]), *lines[1:]]


@pytest.mark.parametrize("change", [shortened, without_number, better])
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
        ("predictions.jsonl", '{"id": "a"}\n', "damaged, or not one of ours: KeyError"),
        ("metrics.json", "{}", "damaged, or not one of ours: KeyError 'signature'"),
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
    with pytest.raises(DataError, match="Ids must be unique; these are not: id0"):
        read_evaluation(folder)
