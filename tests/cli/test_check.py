import json

import pytest

from pgsum.training import pace

PAIRS = [
    {"article": f"The cat sat near town{n}. It was happy.", "highlights": f"Cat in town{n}."}
    for n in range(40)
]
TINY = ["model.embedding_size=4", "model.hidden_size=4", "text.min_count=1", "data.workers=1"]


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    """Writes a file of these rows."""
    monkeypatch.chdir(tmp_path)

    def write(rows):
        path = tmp_path / "my pairs.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def test_a_corpus_is_told_about_in_a_table_and_sentences(pgsum, pairs):
    done = pgsum("check", pairs(PAIRS), *TINY, "trainer.max_steps=50", "--quiet")
    assert (done.code, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert lines[0] == "train validation"
    assert "rows 40 -" in lines
    assert "document article -" in lines
    assert "summary highlights -" in lines
    assert "bad rows 0 -" in lines
    assert "documents also in train - 0" in lines
    assert any(line.startswith("vocabulary: ") for line in lines)
    assert any(line.startswith("of these to be copied ") for line in lines)
    assert any(line.startswith("lead-1: R-1 ") for line in lines)
    assert lines[-1].startswith("training: about ")
    assert "without its validations: 20 steps took" in lines[-1]
    assert max(map(len, done.out.splitlines()[:25])) <= 80


def test_json_is_one_object_with_the_same(pgsum, pairs):
    done = pgsum("check", pairs(PAIRS), *TINY, "--json")
    assert (done.code, done.err) == (0, "")
    (line,) = done.out.splitlines()
    found = json.loads(line)
    assert list(found) == [
        "corpus",
        "trainable",
        "problem",
        "notes",
        "rows",
        "pairs",
        "vocab",
        "words",
        "lead",
        "training",
    ]
    assert found["trainable"]
    assert found["problem"] is None
    assert found["rows"]["train"]["columns"]["document"] == "article"
    assert list(found["pairs"]["train"]["summary_tokens"]) == ["p5", "p50", "p95", "p100"]
    assert found["pairs"]["validation"]["leaked"] == {"train": 0}
    assert found["training"]["timed_steps"] == 20


def test_without_timing_no_step_is_made(pgsum, pairs, monkeypatch):
    monkeypatch.delattr(pace, "build_model")
    done = pgsum("check", pairs(PAIRS), *TINY, "--no-timing", "--json")
    assert done.code == 0
    assert json.loads(done.out)["training"] is None


def test_what_training_would_stop_at_is_told_last_with_exit_code_3(pgsum, pairs):
    path = pairs([*PAIRS, {"article": "A \x1b[31m dog.", "highlights": None}])
    done = pgsum("check", path, *TINY, "--no-timing")
    assert done.code == 3
    assert "bad rows of train: 1: The highlights is null; a text is needed." in done.out
    assert "vocabulary: " in done.out
    note, error, *_ = done.err.splitlines()
    assert note.startswith("my pairs.jsonl: 1 bad row skipped: ")
    assert error == "error: The highlights is null; a text is needed."
    assert "data.on_bad=skip" in done.err
    assert pgsum("check", path, *TINY, "data.on_bad=skip", "--no-timing").code == 0
    told = json.loads(pgsum("check", path, *TINY, "--no-timing", "--json").out)
    assert not told["trainable"]
    assert told["problem"]["message"] == "The highlights is null; a text is needed."


@pytest.mark.fault(23)
def test_all_that_was_left_out_is_to_be_found_in_a_list(pgsum, pairs):
    path = pairs([*PAIRS, *[{"article": "A dog."}] * 9])
    told = json.loads(pgsum("check", path, *TINY, "--no-timing", "--json").out)
    listing = told["notes"][-1].removeprefix("All that was left out is listed in ")[:-1]
    with open(listing, encoding="utf-8") as lines:
        assert [json.loads(line)["row"] for line in lines] == [*range(41, 50)]


def test_a_corpus_without_a_pair_says_so_with_exit_code_3(pgsum, pairs):
    done = pgsum("check", pairs([{"article": "A dog.", "highlights": " "}]), *TINY)
    assert done.code == 3
    assert [" ".join(line.split()) for line in done.out.splitlines()] == [
        "train",
        "rows 1",
        "document article",
        "summary highlights",
        "bad rows 0",
        "empty documents 0",
        "empty summaries 1",
        "with several references 0",
        "ids seen before 0",
    ]
    assert "error: There are no train pairs that can be used." in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.jsonl"], 3, "There is no file, no folder and no corpus called 'nowhere.jsonl'"),
        (["text.vocab=3"], 2, "'text.vocab' is not a setting"),
        (["--device", "abacus"], 2, "trainer.accelerator is 'abacus'"),
    ],
)
def test_what_cannot_be_checked_is_refused(pgsum, arguments, code, message):
    done = pgsum("check", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
