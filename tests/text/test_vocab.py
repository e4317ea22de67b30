import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.errors import ModelError
from pgsum.text.vocab import BOS_ID, EOS_ID, PAD_ID, SPECIAL_TOKENS, UNK_ID, Vocab

# No tokenizer gives the name of a special token: it parts the brackets from the letters.
WORDS = st.text(min_size=1).filter(
    lambda text: text.split() == [text] and text not in SPECIAL_TOKENS
)
COUNTS = st.dictionaries(WORDS, st.integers(min_value=1, max_value=5))


def test_the_special_ids_come_first_and_show_their_names():
    vocab = Vocab.build({"word": 1}, size=9, min_count=1)
    assert (PAD_ID, UNK_ID, BOS_ID, EOS_ID) == (0, 1, 2, 3)
    assert tuple(vocab.form(i) for i in range(4)) == SPECIAL_TOKENS
    assert vocab.form(4) == "word"


def test_the_most_frequent_forms_are_kept_and_ties_stand_in_order_of_the_form():
    vocab = Vocab.build({"c": 2, "b": 2, "a": 1, "d": 5}, size=7, min_count=1)
    assert vocab.forms == ("d", "b", "c")
    assert vocab.counts == (5, 2, 2)
    assert len(vocab) == 7


def test_rare_forms_are_left_out():
    vocab = Vocab.build({"often": 3, "once": 1}, size=100, min_count=2)
    assert "often" in vocab
    assert "once" not in vocab
    assert vocab.id_of("once") == UNK_ID


def test_a_form_that_reads_like_a_special_token_is_a_form_like_any_other():
    without = Vocab.build({"word": 1}, size=9, min_count=1)
    assert "[PAD]" not in without
    assert without.id_of("[PAD]") == UNK_ID
    vocab = Vocab.build({"[PAD]": 2, "[EOS]": 1}, size=9, min_count=1)
    assert vocab.id_of("[PAD]") == 4
    assert vocab.id_of("[EOS]") == 5


def test_a_vocabulary_without_room_for_a_word_is_refused():
    with pytest.raises(
        ValueError, match="A vocabulary of 4 has no room beside its 4 special tokens"
    ):
        Vocab.build({"a": 1}, size=4, min_count=1)


@given(counts=COUNTS)
def test_a_saved_vocabulary_loads_as_it_was(counts, tmp_path_factory):
    vocab = Vocab.build(counts, size=1000, min_count=2)
    path = tmp_path_factory.getbasetemp() / "vocab.json"
    vocab.save(path)
    loaded = Vocab.load(path)
    assert (loaded.forms, loaded.counts) == (vocab.forms, vocab.counts)
    assert loaded.fingerprint == vocab.fingerprint


def test_the_fingerprint_knows_the_forms_and_their_order_but_not_the_counts():
    one = Vocab(["a", "b"], [2, 1])
    assert one.fingerprint == Vocab(["a", "b"], [9, 9]).fingerprint
    assert one.fingerprint != Vocab(["b", "a"], [2, 1]).fingerprint
    assert one.fingerprint != Vocab(["ab"], [2]).fingerprint


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is damaged: it is not JSON"),
        ("\ufeff{", "is damaged: it is not JSON"),
        ("[" * 100_000, "is damaged: it is not JSON"),
        ("[]", "is damaged: it is not an object"),
        ('{"format": 2}', "has format 2; this version of pgsum reads format 1"),
        ("{}", "has format None; this version"),
        ('{"format": 1}', '"words" is not a list of strings'),
        ('{"format": 1, "words": ["a", 1], "counts": [1, 1]}', '"words" is not a list of strings'),
        (
            f'{{"format": 1, "words": ["a"], "counts": [{10**400}]}}',
            '"counts" is not a list of whole numbers',
        ),
        (
            '{"format": 1, "words": ["a"], "counts": [1.5]}',
            '"counts" is not a list of whole numbers',
        ),
        ('{"format": 1, "words": ["a"], "counts": [true]}', '"counts" is not a list of whole'),
        ('{"format": 1, "words": ["a"], "counts": []}', "has 1 forms, 0 counts"),
        ('{"format": 1, "words": ["a", "a"], "counts": [1, 1]}', "lists a form twice"),
        ('{"format": 1, "words": ["a"], "counts": [-1]}', '"counts" is not a list of whole'),
        ('{"format": 1, "words": ["a", ""], "counts": [1, 1]}', "'' is no word"),
        ('{"format": 1, "words": ["a\\nb"], "counts": [1]}', r"'a\nb' is no word"),
        ('{"format": 1, "words": ["[UNK]"], "counts": [1]}', "'[UNK]' is no word"),
    ],
)
def test_a_damaged_file_is_refused_in_words(content, words, tmp_path):
    path = tmp_path / "vocab.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ModelError) as error:
        Vocab.load(path)
    assert words in str(error.value)
    assert str(path) in str(error.value)


def test_bytes_that_are_no_text_and_a_missing_file_are_refused_in_words(tmp_path):
    path = tmp_path / "vocab.json"
    with pytest.raises(ModelError, match="The vocabulary cannot be read: No such file"):
        Vocab.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match="is damaged: it is not JSON"):
        Vocab.load(path)


def test_the_file_is_ascii_json_with_a_format_number(tmp_path):
    path = tmp_path / "vocab.json"
    Vocab(["né", "\ud800"], [2, 1]).save(path)
    content = json.loads(path.read_bytes().decode("ascii"))
    assert content == {"format": 1, "words": ["né", "\ud800"], "counts": [2, 1]}
