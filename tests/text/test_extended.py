import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.text.extended import ExtendedVocab
from pgsum.text.vocab import SPECIAL_TOKENS, UNK_ID, Vocab

FORMS = st.lists(st.one_of(st.sampled_from([*SPECIAL_TOKENS, "", "a", "b", "<s>"]), st.text()))


@given(known=FORMS, source=FORMS)
def test_every_source_form_survives_the_way_to_an_id_and_back(known, source):
    vocab = Vocab.build(dict.fromkeys(known, 1), size=1000, min_count=1)
    extended = ExtendedVocab.from_source(vocab, source)
    assert [extended.form(extended.id_of(form)) for form in source] == source


@given(known=FORMS, source=FORMS)
def test_ids_of_a_source_are_the_vocabularys_or_follow_it_without_gaps(known, source):
    vocab = Vocab.build(dict.fromkeys(known, 1), size=1000, min_count=1)
    extended = ExtendedVocab.from_source(vocab, source)
    ids = {extended.id_of(form) for form in source}
    assert {i for i in ids if i >= len(vocab)} == set(range(len(vocab), len(extended)))
    assert ids.isdisjoint(range(len(SPECIAL_TOKENS)))


def test_oovs_stand_in_order_of_first_use():
    vocab = Vocab.build({"the": 3, "cat": 2}, size=10, min_count=1)
    extended = ExtendedVocab.from_source(vocab, ["zog", "the", "yip", "zog", "cat"])
    assert extended.source_oovs == ("zog", "yip")
    assert [extended.id_of(form) for form in ("the", "cat", "zog", "yip")] == [4, 5, 6, 7]
    assert extended.id_of("elsewhere") == UNK_ID


@pytest.mark.fault(18)
def test_five_thousand_oovs_have_five_thousand_ids():
    vocab = Vocab.build({"the": 1}, size=10, min_count=1)
    extended = ExtendedVocab.from_source(vocab, (f"w{i}" for i in range(5000)))
    assert len(extended) == len(vocab) + 5000
    assert extended.form(len(extended) - 1) == "w4999"
    with pytest.raises(IndexError):
        extended.form(len(extended))
