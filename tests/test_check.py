"""Small corpora, each with a fault that is found and counted."""

import json
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from datasets import Dataset

from pgsum.check import Check, Spread, Words, _count_rows, _Examiner, check
from pgsum.config import Config, load_config
from pgsum.data.records import Pair, Record, Tally
from pgsum.data.sources import Unsorted
from pgsum.errors import ConfigError, DataError
from pgsum.training import pace

TEXT = "the cat sat on a mat and the dog ran home with one red hat"


def row(number: int, **changed: object) -> dict[str, object]:
    """A sound pair unlike the others, with one word that no other has."""
    document = f"{TEXT[number % 5 :]} near town{number}. {TEXT[:11]}."
    return {"document": document, "summary": f"the cat in town{number}"} | changed


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def checked(tmp_path):
    """What `check` finds of these rows; those of train are 12 sound ones where not given."""

    def run(*settings: str, **rows: list[dict[str, object]]) -> Check:
        for split, given in ({"train": [row(n) for n in range(12)]} | rows).items():
            write(tmp_path / f"{split}.jsonl", given)
        return check(config(tmp_path, *settings))

    return run


def config(folder: Path, *settings: str) -> Config:
    return load_config(
        ["data.name=files", f"data.root={folder}", "data.workers=1", "text.min_count=2", *settings]
    )


def test_a_sound_corpus_can_be_trained_on(checked):
    found = checked(validation=[row(20), row(21)], test=[row(30)])
    assert found.problem is None
    assert [found.rows[split].rows for split in found.rows] == [12, 2, 1]
    assert [found.pairs[split].pairs for split in found.pairs] == [12, 2, 1]
    train = found.rows["train"]
    assert (train.columns.document, train.columns.summary) == ("document", "summary")
    assert train.bad == {}
    for pairs in found.pairs.values():
        assert pairs.cut_documents == pairs.repeated_documents == pairs.summary_is_document == 0
        assert set(pairs.leaked.values()) <= {0}
        assert set(pairs.oddities.values()) == {0}
    assert len(found.prepared.train) == 12


def test_where_validation_is_held_out_it_is_looked_at_too(checked):
    found = checked("data.holdout=0.5")
    assert list(found.rows) == ["train"]
    assert found.pairs["train"].pairs + found.pairs["validation"].pairs == 12


def test_rows_that_cannot_be_used_are_counted_by_their_reason(checked):
    bad = [row(1, summary=None), row(2, summary=None), row(3, document=7), {"document": "d"}]
    found = checked("data.on_bad=skip", train=[row(0), *bad, *(row(n) for n in range(9, 15))])
    assert found.rows["train"].rows == 11
    assert found.rows["train"].bad == {
        "The summary is null; a text is needed.": 2,
        "The document is a number; a text is needed.": 1,
        "The row has no summary.": 1,
    }
    assert found.pairs["train"].pairs + found.pairs["validation"].pairs == 7
    assert found.problem is None


def test_empty_texts_are_counted(checked):
    empty = [row(1, document=" \u200b"), row(2, summary=""), row(3, document="", summary="")]
    found = checked(train=[*(row(n) for n in range(9, 15)), *empty])
    rows = found.rows["train"]
    assert (rows.empty_documents, rows.empty_summaries, rows.bad) == (2, 2, {})
    assert found.pairs["train"].pairs + found.pairs["validation"].pairs == 6


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(1, document=None)], "The document is null; a text is needed"),
        ([row(1, summary=["one", "two"])], "The document has 2 references, and training takes one"),
    ],
)
def test_what_training_would_stop_at_is_the_problem_and_the_rest_is_told(checked, rows, message):
    """With a file of its own for validation, so that nothing is held out."""
    sound = [row(n) for n in range(9, 15)]
    found = checked(train=[*sound, *rows], validation=[row(20)])
    assert message in found.problem.message
    assert found.problem.where.endswith("train.jsonl:7")
    assert found.pairs["train"].pairs >= 6
    assert found.vocab is not None


@pytest.mark.parametrize(
    "rows",
    [[], [row(1, summary="")], [row(1, document=None)], [row(1, document=" ", summary=" ")]],
    ids=["none", "empty summary", "null", "blank"],
)
def test_a_corpus_without_a_pair_has_a_problem_and_no_figures(checked, rows):
    found = checked(train=rows)
    assert "There are no train pairs that can be used" in found.problem.message
    assert found.rows["train"].rows == len(rows)
    assert found.pairs == {}
    assert found.vocab is found.lead is found.prepared is None


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "train.csv").write_bytes("document,summary\nBär,Käse\n".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        check(config(tmp_path))
    (tmp_path / "train.csv").rename(tmp_path / "other.csv")
    with pytest.raises(ConfigError, match="holds no file of train pairs"):
        check(config(tmp_path))


@pytest.mark.fault(29)
def test_repeated_and_leaked_documents_are_found_whatever_their_case_and_blanks(checked):
    shouted = row(1, document=row(1)["document"].upper().replace(" ", "\n "))
    found = checked(
        train=[row(1), row(2), shouted, row(1, summary="another")],
        validation=[row(2), row(20)],
        test=[shouted, row(20), row(2), row(30)],
    )
    assert found.pairs["train"].repeated_documents == 2
    assert found.pairs["validation"].leaked == {"train": 1}
    assert found.pairs["test"].leaked == {"train": 2, "validation": 2}
    assert found.pairs["test"].repeated_documents == 0


def test_summaries_that_are_the_document_or_longer_are_counted(checked):
    same, longer = row(1, summary=f" {row(1)['document'].title()}"), row(2, document="a b c")
    found = checked(train=[row(0), same, longer], validation=[row(20)])
    assert found.pairs["train"].summary_is_document == 1
    assert found.pairs["train"].summary_is_longer == 1


@pytest.mark.parametrize(
    ("text", "oddity"),
    [
        ("a caf\ufffd", "replacement characters"),
        ("half \ud83d", "replacement characters"),
        ("a cafÃ©", "UTF-8 read as Latin-1"),
        ("it â€™s", "UTF-8 read as Latin-1"),
        ("Ât", None),
        ("CAFÉ», SÃO", None),
        ("a\x00b", "control characters"),
        ("a\tb\r\nc", None),
        ("this &amp; that &#39;", "HTML entities"),
        ("R&D; AT&T", None),
    ],
)
def test_texts_that_were_read_or_cleaned_badly_are_found(checked, text, oddity):
    changed = row(1, document=f"{text} {row(1)['document']}")
    found = checked(train=[row(0), changed], validation=[row(20, summary=text)])
    for split in ("train", "validation"):
        assert {name for name, n in found.pairs[split].oddities.items() if n} == {oddity} - {None}


def test_lengths_are_counted_whole_and_shares_cut_at_the_limits(checked):
    rows = [row(0, document="w " * n, summary="v. " * 3) for n in range(1, 101)]
    found = checked(
        "text.max_source_tokens=90", "text.max_target_tokens=5", train=rows, validation=[row(1)]
    )
    train = found.pairs["train"]
    assert train.document_tokens == train.document_words == Spread(5, 50, 95, 100)
    assert train.summary_words == Spread(3, 3, 3, 3)
    assert train.summary_tokens == Spread(6, 6, 6, 6)
    assert (train.cut_documents, train.cut_summaries) == (10, 100)


def test_words_outside_the_vocabulary_and_those_that_copying_recovers(checked):
    """`a` and `b` are frequent; `x` stands in its document, `y` nowhere but in the summary."""
    rows = [
        {"document": "a a b b x", "summary": "a b x"},
        {"document": "a a b b z", "summary": "a y"},
        {"document": "a a b b a", "summary": "b"},
    ]
    new = {"document": "a v w", "summary": "w w v u a"}
    found = checked("text.min_count=3", train=rows, validation=[new])
    assert found.vocab == 4 + 2
    assert found.words["train"] == Words(15, 2, 6, 2, 1)
    assert found.words["validation"] == Words(3, 2, 5, 4, 3)


def test_the_first_sentences_are_scored_against_the_validation_references(checked):
    rows = [{"document": "One two three. Four five. Six. Seven.", "summary": "One two three."}]
    lead = checked(validation=rows).lead
    assert lead.pairs == 1
    assert lead.scores["lead-1"] == {"rouge1": 1, "rouge2": 1, "rougeL": 1}
    assert lead.scores["lead-3"]["rouge1"] == pytest.approx(2 * 0.5 / 1.5)
    assert "tok:rouge155" in lead.signature


@pytest.mark.fault(29)
def test_ids_seen_before_and_several_references_are_counted(checked):
    rows = [row(0, id="x"), row(1, id="x"), row(2, id="y", summary=["one", "two"])]
    found = checked("data.reference=first", train=rows, validation=[row(9)]).rows["train"]
    assert (found.repeated_ids, found.several_references) == (1, 1)


def test_of_each_row_eight_bytes_are_held():
    def rows():
        for n in range(2_000):
            yield Record(n, f"f:{n}", Pair(f"an id of some length {n}", "d", ("s",)))

    def peak_of(found: Iterator[Record]) -> int:
        tracemalloc.start()
        try:
            _count_rows(Unsorted("train", found, Tally("f")))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak_of(islice(rows(), 100))  # what is only made once
    assert peak_of(rows()) < 40 * 2_000  # the array, its copies while it is sorted, and some air


def test_of_each_pair_less_than_thirty_bytes_are_held():
    pairs = Dataset.from_list([{"document": f"d{n} " * 99, "references": ["s"]} for n in range(9)])
    assert _Examiner(pairs)(range(9)).nbytes < 9 * 30


def test_progress_tells_what_is_looked_at(tmp_path):
    write(tmp_path / "train.jsonl", [row(n) for n in range(12)])
    told: list[tuple[str, int, int]] = []
    found = check(config(tmp_path), progress=lambda *said: told.append(said))
    pairs = found.pairs["train"].pairs
    assert ("looking at train pairs", pairs, pairs) in told


def test_the_time_of_a_training_is_that_of_its_steps(checked, tmp_path, monkeypatch):
    found = checked()
    sizes = ["model.embedding_size=4", "model.hidden_size=4", "trainer.max_steps=700"]
    timed = pace.time_steps(config(tmp_path, *sizes), found.prepared)
    assert timed.timed_steps == 20
    assert timed.seconds == pytest.approx(700 * timed.seconds_per_step)
    monkeypatch.setattr(pace, "_MOST_SECONDS", 0.0)
    assert pace.time_steps(config(tmp_path, *sizes), found.prepared).timed_steps == 1
