import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.data.example import Source, encode_example, encode_source
from pgsum.text.extended import ExtendedVocab
from pgsum.text.vocab import BOS_ID, EOS_ID, UNK_ID, Vocab

VOCAB = Vocab(["the", "cat", "sat"], [3, 2, 1])
THE, CAT, SAT = 4, 5, 6
FIRST_OOV, SECOND_OOV = 7, 8


def test_a_source_has_ids_to_embed_and_extended_ids_to_point_at():
    source = encode_source(VOCAB, ["zoe", "sat", "zoe", "the", "yak"])
    assert source.source_ids == [UNK_ID, SAT, UNK_ID, THE, UNK_ID]
    assert source.source_extended_ids == [FIRST_OOV, SAT, FIRST_OOV, THE, SECOND_OOV]
    assert source.source_oovs == ("zoe", "yak")


def test_a_target_is_read_after_bos_as_known_words_and_learned_as_extended_ids_before_eos():
    """`zoe` can be copied; `dog` is in neither the vocabulary nor the source."""
    example = encode_example(VOCAB, ["zoe", "sat"], ["the", "zoe", "dog"], target_cut=False)
    assert example.target_input_ids == [BOS_ID, THE, UNK_ID, UNK_ID]
    assert example.target_extended_ids == [THE, FIRST_OOV, UNK_ID, EOS_ID]


def test_a_target_that_was_cut_has_no_end_to_learn():
    example = encode_example(VOCAB, ["zoe", "sat"], ["the", "zoe"], target_cut=True)
    assert example.target_input_ids == [BOS_ID, THE]
    assert example.target_extended_ids == [THE, FIRST_OOV]


def test_an_empty_target_is_an_end_alone():
    example = encode_example(VOCAB, ["sat"], [], target_cut=False)
    assert (example.target_input_ids, example.target_extended_ids) == ([BOS_ID], [EOS_ID])


def test_an_empty_source_is_refused():
    with pytest.raises(ValueError, match="at least one token: leave empty documents out"):
        encode_source(VOCAB, [])
    with pytest.raises(ValueError, match="at least one token"):
        Source([], [], ())


words = st.sampled_from(["the", "cat", "sat", "zoe", "yak", "[UNK]", "[PAD]", "dog"])


@given(source=st.lists(words, min_size=1), target=st.lists(words), cut=st.booleans())
def test_every_word_comes_back_from_its_ids(source, target, cut):
    """A target word that is neither in the vocabulary nor in the source comes back as UNK."""
    example = encode_example(VOCAB, source, target, target_cut=cut)
    extended = ExtendedVocab(VOCAB, example.source.source_oovs)
    assert [extended.form(i) for i in example.source.source_extended_ids] == source
    assert len(example.target_input_ids) == len(example.target_extended_ids)
    sayable = {"the", "cat", "sat", *source}
    gold = example.target_extended_ids if cut else example.target_extended_ids[:-1]
    for word, extended_id in zip(target, gold, strict=True):
        assert extended_id == UNK_ID if word not in sayable else extended.form(extended_id) == word
    assert cut or example.target_extended_ids[-1] == EOS_ID
