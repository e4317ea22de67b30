import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.data.columns import NamedColumns
from pgsum.data.files import DATA_OPTIONS
from pgsum.data.records import (
    Pair,
    Reading,
    Record,
    Repeats,
    Tally,
    for_evaluation,
    for_summarizing,
    for_training,
    is_blank,
    only_pairs,
    to_records,
)
from pgsum.data.rows import BadRow, Row
from pgsum.errors import DataError

REFERENCES = Reading("references")


def rows(*values: dict[str, object]) -> list[Row]:
    return [Row(number, f"f:{number}", value) for number, value in enumerate(values, 1)]


def read(*values: dict[str, object], reading: Reading = REFERENCES, tally: Tally | None = None):
    return list(to_records(rows(*values), reading, tally or Tally("f")))


def record(document: str, *references: str, number: int = 1, id: str = "a") -> Record:
    return Record(number, f"f:{number}", Pair(id, document, references))


# --- values ---------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=2)))
def test_repeats_are_counted_as_a_set_would_count_them(texts):
    repeats = Repeats()
    for text in texts:
        repeats.add(text)
    assert repeats.count() == len(texts) - len({*texts})


def test_row_becomes_a_pair_with_its_place():
    assert read({"id": "x", "document": "d", "summary": "s"}) == [
        Record(1, "f:1", Pair("x", "d", ("s",)))
    ]


def test_list_of_texts_is_several_references():
    assert read({"document": "d", "references": ["s", "t"]})[0].pair.references == ("s", "t")


def test_extra_keys_and_those_that_come_late_are_nothing_to_us():
    records = read({"document": "d", "summary": "s"}, {"document": "e", "summary": "t", "new": 1})
    assert [item.pair.document for item in records] == ["d", "e"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"document": "d", "summary": None}, "The summary is null; a text is needed."),
        ({"document": "d", "summary": 7}, "The summary is a number; a text is needed."),
        ({"document": "d", "summary": True}, "The summary is a truth value; a text is needed."),
        ({"document": "d", "summary": {}}, "The summary is an object; a text is needed."),
        ({"document": "d", "summary": []}, "The summary is an empty list; a text is needed."),
        ({"document": "d", "summary": ["s", None]}, "The summary holds null; a list of texts"),
        ({"document": ["d"], "summary": "s"}, "The document is a list; a text is needed."),
        ({"document": None, "summary": "s"}, "The document is null; a text is needed."),
        ({"summary": "s"}, "The row has no document."),
        ({"document": "d"}, "The row has no summary."),
        ({"document": "d", "summary": "s", "id": 1.5}, "The id is a number; a text or a whole"),
        ({"document": "d", "summary": "s", "id": []}, "The id is a list; a text or a whole"),
    ],
)
def test_value_of_another_kind_makes_a_bad_row(row, reason):
    good, bad = read({"document": "d", "summary": "s", "id": None}, row)
    assert isinstance(good, Record)
    assert isinstance(bad, BadRow)
    assert bad.where == "f:2"
    assert bad.reason.startswith(reason)


@pytest.mark.parametrize(
    ("values", "identity"),
    [({"id": "x"}, "x"), ({"id": 7}, "7"), ({"id": None}, "1"), ({"id": ""}, "1"), ({}, "1")],
)
def test_id_is_a_text_a_number_or_else_the_number_of_the_row(values, identity):
    assert read({"document": "d", "summary": "s", **values})[0].pair.id == identity


def test_lone_surrogates_are_replaced_and_counted_and_whole_characters_stay():
    tally = Tally("f")
    row = json.loads(
        r'{"id": "\ud801", "document": "a \ud800 b \ud83d\ude00", "summary": "\udfff"}'
    )
    pair = read(row, tally=tally)[0].pair
    assert pair == Pair("\ufffd", "a \ufffd b 😀", ("\ufffd",))
    assert list(tally.notes()) == ["f: 3 lone surrogates replaced, each half a character."]


def test_document_is_cut_at_max_chars_and_counted():
    tally = Tally("f")
    reading = Reading("references", max_chars=3)
    cut, whole = read(
        {"document": "abcd", "summary": "long"},
        {"document": "abc", "summary": "s"},
        reading=reading,
        tally=tally,
    )
    assert (cut.pair.document, cut.pair.references, whole.pair.document) == (
        "abc",
        ("long",),
        "abc",
    )
    assert list(tally.notes()) == ["f: 1 document cut after 3 characters (data.max_chars)."]


def test_columns_are_those_of_the_first_good_row():
    bad = BadRow(1, "f:1", "why")
    records = list(to_records([bad, *rows({"text": "d", "title": "s"})], REFERENCES, Tally("f")))
    assert records == [bad, Record(1, "f:1", Pair("1", "d", ("s",)))]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["id", "document", "summary", "references"]), JSON)),
    st.sampled_from(["documents", "pairs", "references"]),
)
def test_whatever_the_rows_hold_pairs_are_sound_text(values, wanted):
    with suppress(DataError):  # no columns that are known
        for item in read(*values, reading=Reading(wanted)):
            if isinstance(item, Record):
                "".join((item.pair.id, item.pair.document, *item.pair.references)).encode()


# --- what is done with them -----------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " \n\t\u3000", "\u200b\u200d\ufeff\u2060", "\x00\x1b\u00ad"])
def test_text_with_nothing_to_be_seen_is_blank(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", [".", "\u200ba", "🙂", "\ufffd", "中"])
def test_text_with_anything_to_be_seen_is_not_blank(text):
    assert not is_blank(text)


def test_training_leaves_empty_pairs_out_and_counts_them():
    tally = Tally("f")
    records = [record("d", "s"), record(" ", "s"), record("d", "\u200b")]
    assert list(for_training(records, reference="error", tally=tally)) == records[:1]
    assert list(tally.notes()) == ["f: 2 pairs left out, with an empty document or summary."]


def test_training_refuses_several_references_and_says_how_to_take_the_first():
    with pytest.raises(
        DataError,
        match=r"has 2 references, and training takes one; at f:1; "
        r"add data\.reference=first to train on the first",
    ):
        list(for_training([record("d", "s", "t")], reference="error", tally=Tally("f")))


def test_training_on_the_first_reference_counts_such_pairs():
    tally = Tally("f")
    taken = list(for_training([record("d", "s", "t")], reference="first", tally=tally))
    assert taken == [record("d", "s")]
    assert list(tally.notes()) == ["f: 1 pair with several references learned by the first."]


def test_list_of_one_reference_is_one_reference():
    taken = list(for_training([record("d", "s")], reference="error", tally=Tally("f")))
    assert taken == [record("d", "s")]


@pytest.mark.parametrize(
    ("empty", "reason"),
    [
        (record(" ", "s", number=3), "Document 3 is empty."),
        (record("d", "", number=3), "Summary 3 is empty."),
        (record("d", "s", " ", number=3), "Summary 3 is empty."),
    ],
)
def test_evaluation_takes_an_empty_pair_for_a_bad_row(empty, reason):
    assert list(for_evaluation([empty], tally=Tally("f"))) == [
        BadRow(3, "f:3", reason, is_empty=True)
    ]


def test_evaluation_counts_ids_that_come_again_and_keeps_their_pairs():
    tally = Tally("f")
    records = [record("d", "s", id=id) for id in "aba"]
    assert list(for_evaluation(records, tally=tally)) == records
    assert list(tally.notes()) == ["f: 1 id seen before."]


def test_empty_document_to_be_summarized_is_a_bad_row():
    records = [record("d"), record("\u200b", number=2)]
    empty = BadRow(2, "f:2", "Document 2 is empty.", is_empty=True)
    assert list(for_summarizing(records)) == [records[0], empty]


BAD = [BadRow(number, f"f:{number}", f"Reason {number}.", "mend it") for number in range(1, 6)]


def test_first_bad_row_stops_and_says_how_to_go_on():
    pairs = only_pairs(
        [record("d", "s"), *BAD], on_bad="error", tally=Tally("f"), options=DATA_OPTIONS
    )
    assert next(pairs) == Pair("a", "d", ("s",))
    with pytest.raises(
        DataError,
        match=r"Reason 1; at f:1; mend it; or add data\.on_bad=skip to leave such rows out",
    ):
        next(pairs)


def test_bad_rows_are_counted_and_the_first_are_listed():
    tally = Tally("f")
    records = [*BAD, record("d", "s")]
    pairs = list(only_pairs(records, on_bad="skip", tally=tally, options=DATA_OPTIONS))
    assert pairs == [Pair("a", "d", ("s",))]
    assert list(tally.notes()) == [
        "f: 5 bad rows skipped: Reason 1 (f:1); Reason 2 (f:2); Reason 3 (f:3); and so on."
    ]


def test_nothing_to_tell_makes_no_notes():
    assert list(Tally("f").notes()) == []


def test_named_columns_reach_the_rows():
    reading = Reading("references", columns=NamedColumns("body", "abstract", "key"))
    taken = read({"body": "d", "abstract": "s", "key": "k", "summary": "x"}, reading=reading)
    assert taken[0].pair == Pair("k", "d", ("s",))
