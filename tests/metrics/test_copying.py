import subprocess
import sys

import pytest

from pgsum.metrics.copying import (
    Health,
    Ratio,
    duplicate_ngrams,
    health,
    novelty,
    oovs_produced,
    repetition,
)

VOCAB = {"interface", "to", "the", "a", "perl", ","}


@pytest.mark.parametrize(
    ("summary", "reference", "found", "total"),
    [
        # Net::Pcap and POE lie outside the vocabulary; case does not matter.
        ("perl interface to Net::Pcap", "POE interface to Net::Pcap", 1, 2),
        ("poe interface to net::pcap", "POE interface to Net::Pcap", 2, 2),
        ("a perl interface", "POE interface to Net::Pcap", 0, 2),
        ("", "POE interface to Net::Pcap", 0, 2),
        # The parts of a word are other words.
        ("interface to net and pcap", "interface to Net::Pcap", 0, 1),
        # Clipped: what is asked for once is found once, what is asked for twice may be found twice.
        ("zsh zsh zsh", "the zsh", 1, 1),
        ("zsh zsh zsh", "zsh , zsh", 2, 2),
        ("zsh", "zsh , zsh", 1, 2),
        # Words of the vocabulary count on neither side, nor does what only the summary has.
        ("the interface to perl , bash", "the interface to perl", 0, 0),
        ("zsh", "", 0, 0),
    ],
)
def test_words_outside_the_vocabulary_are_counted_as_often_as_the_reference_has_them(
    summary, reference, found, total
):
    assert oovs_produced(summary, reference, VOCAB, lowercase=True) == Ratio(found, total)


def test_without_lowercase_a_form_has_its_case():
    assert oovs_produced("The zsh", "The Zsh", VOCAB, lowercase=False) == Ratio(1, 2)
    assert oovs_produced("the zsh", "The Zsh", VOCAB, lowercase=True) == Ratio(1, 1)


def test_forms_are_the_models_so_that_composed_and_decomposed_letters_are_one():
    assert oovs_produced("cafe\u0301", "caf\u00e9", set(), lowercase=True) == Ratio(1, 1)


@pytest.mark.parametrize(
    ("text", "n", "found", "total"),
    [
        ("a b c", 1, 0, 3),
        ("a b a", 1, 1, 3),
        ("a a a a", 1, 3, 4),
        ("a a a a", 2, 2, 3),
        ("a b a b", 2, 1, 3),
        ("a b a b", 3, 0, 2),
        ("a b c a b c", 3, 1, 4),
        ("a b c d", 4, 0, 1),  # n words have one n-gram
        ("a b c", 4, 0, 0),  # and fewer have none
        ("", 1, 0, 0),
        ("The the", 1, 1, 2),
        ("one, two, three", 1, 0, 3),  # a comma is no word
        ("module modules", 1, 0, 2),  # nor is anything stemmed
    ],
)
def test_a_duplicate_is_an_ngram_that_stood_in_the_text_before(text, n, found, total):
    assert duplicate_ngrams(text, n) == Ratio(found, total)


def test_scripts_without_blanks_repeat_characters():
    assert duplicate_ngrams("今天今天", 1) == Ratio(0, 1)
    assert duplicate_ngrams("今天今天", 2, tokenizer="char") == Ratio(1, 3)


DOCUMENT = "The cat sat down. It slept, and the cat dreamt."


@pytest.mark.parametrize(
    ("summary", "novel"),
    [
        # Of one, two, three and four words, those that the document lacks, and all there are.
        ("The cat slept.", [(0, 3), (1, 2), (1, 1), (0, 0)]),
        ("the CAT sat down", [(0, 4), (0, 3), (0, 2), (0, 1)]),  # four words have one 4-gram
        ("down it slept and", [(0, 4), (0, 3), (0, 2), (0, 1)]),  # across sentences
        ("dog dog cat", [(2, 3), (2, 2), (1, 1), (0, 0)]),  # each time it is said
        ("cats", [(1, 1), (0, 0), (0, 0), (0, 0)]),  # nothing is stemmed
        ("", [(0, 0)] * 4),
        ("!", [(0, 0)] * 4),
    ],
)
def test_a_novel_ngram_is_one_that_the_document_lacks(summary, novel):
    assert novelty(summary, DOCUMENT).ngrams == tuple(Ratio(*share) for share in novel)


def test_to_an_empty_document_all_is_novel():
    assert novelty("a b", "").ngrams[:2] == (Ratio(2, 2), Ratio(1, 1))


@pytest.mark.parametrize(
    ("summary", "found", "total"),
    [
        ("the cat sat down", 1, 1),  # neither case nor full stop counts
        ("the cat sat down .\nit slept and the cat dreamt .", 2, 2),
        ("The cat sat down. It slept.", 1, 2),  # a part of a sentence is none
        ("the cat sat down it slept and the cat dreamt", 0, 1),  # nor are two
        ("the cat sat <q> the cat sat down", 1, 2),
        ("!\nthe cat sat down", 1, 1),  # what has no words is no sentence
        ("", 0, 0),
    ],
)
def test_a_copied_sentence_is_one_of_the_document(summary, found, total):
    assert novelty(summary, DOCUMENT).copied_sentences == Ratio(found, total)


def test_novelty_is_by_characters_where_that_is_asked_for():
    by_char = novelty("今天召回", "今天发布。明天召回。", tokenizer="char")
    assert by_char.ngrams[:3] == (Ratio(0, 4), Ratio(0, 3), Ratio(1, 2))
    assert novelty("今天召回", "今天发布。明天召回。").ngrams[0] == Ratio(1, 1)


def test_repetition_is_of_ngrams_and_of_sentences():
    found = repetition("the cat sat\nThe cat sat.\nit slept\n!\n!")
    assert found.sentences == Ratio(1, 3)
    assert found.ngrams == (Ratio(3, 8), Ratio(2, 7), Ratio(1, 6), Ratio(0, 5))
    assert repetition("") == ((Ratio(0, 0),) * 4, Ratio(0, 0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat sat down.", Health(False, False, False)),
        (" \n", Health(True, False, False)),
        ("a b c a b c", Health(False, True, False)),
        ("a b c a b", Health(False, False, False)),
        ("the [UNK] sat", Health(False, False, True)),
        ("the <unk> sat", Health(False, False, True)),
        ("the unk sat", Health(False, False, False)),
    ],
)
def test_health(text, expected):
    assert health(text) == expected


def test_neither_imports_torch():
    program = "import sys, pgsum.metrics.copying; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
