from pgsum.text.casing import Casing
from pgsum.text.support import ids_needing_support
from pgsum.text.vocab import Vocab


def needing(vocab: Vocab, usual: dict[str, str]) -> set[str]:
    return {
        vocab.form(index) for index in ids_needing_support(vocab, Casing(usual, frozenset(), True))
    }


def test_numbers_and_names_need_support_and_other_words_do_not():
    words = ["the", "oslo", "1990s", "b2b", "٣", "iphone", "and", ".", "今天", "½"]
    vocab = Vocab(words, [1] * len(words))
    usual = {"oslo": "Oslo", "iphone": "iPhone"}
    assert needing(vocab, usual) == {"oslo", "1990s", "b2b", "٣", "iphone"}


def test_where_forms_keep_their_case_the_more_frequent_of_two_is_usual():
    words = ["the", "The", "May", "may", "Oslo"]
    assert needing(Vocab(words, [5, 4, 3, 2, 1]), {}) == {"May", "Oslo"}


def test_special_tokens_need_none():
    assert ids_needing_support(Vocab([], []), Casing({}, frozenset(), False)) == []
    assert ids_needing_support(Vocab(["[EOS]"], [1]), Casing({}, frozenset(), False)) == [4]
