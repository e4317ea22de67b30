"""What of a summary had to be copied, what of it is new, and what of it is said again.

Counts, not quotients: a corpus's figure is the ratio of sums (the micro average) or the mean of
ratios (the macro average), and that is the caller's to choose. Words are those that ROUGE
compares, by one of its tokenizers, but not stemmed: a second comma is no repetition, and neither is
a plural beside its singular. What is copied in one piece is `fragments`' to find, and numbers and
names `support`'s.
"""

import re
from collections import Counter
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import NamedTuple

from pgsum.metrics.tokens import summary_sentences, tokens
from pgsum.text.sentences import split_sentences
from pgsum.text.tokenize import lookup_form, tokenize

LENGTHS = (1, 2, 3, 4)
"""Of the n-grams that are counted where no length is asked for."""

UNKNOWN_WORD = re.compile(r"\[unk\]|<unk>", re.IGNORECASE)
"""What models write for a word that they do not know."""

Ngram = tuple[str, ...]


class Ratio(NamedTuple):
    """So much out of so much; where `total` is 0, the text says nothing of what was counted."""

    found: float
    total: float


class Novelty(NamedTuple):
    """Of a summary's n-grams, by n from 1 to 4, those that its document does not have; of its
    sentences, those that are a sentence of the document, word by word.
    """

    ngrams: tuple[Ratio, ...]
    copied_sentences: Ratio


class Repetition(NamedTuple):
    """Of a text's n-grams, by n from 1 to 4, and of its sentences, those that stood before."""

    ngrams: tuple[Ratio, ...]
    sentences: Ratio


class Health(NamedTuple):
    """What no summary should be or have: no text, a trigram twice, a mark for an unknown word."""

    empty: bool
    repeated_trigram: bool
    unknown_word: bool


def oovs_produced(summary: str, reference: str, vocab: Container[str], *, lowercase: bool) -> Ratio:
    """Of the reference's words outside `vocab`, how many stand in the summary.

    A word that the reference has n times is found at most n times. Words are the model's own,
    lookup forms of `pgsum.text`: what lies outside a vocabulary depends on how a text was parted
    when the vocabulary was counted. `lowercase` is the setting that it was counted with. Both texts
    are parted alike, so that any system can be asked, not only a model that tells its tokens.
    """
    wanted = Counter(form for form in _forms(reference, lowercase) if form not in vocab)
    produced = wanted & Counter(_forms(summary, lowercase))
    return Ratio(produced.total(), wanted.total())


def novelty(summary: str, document: str, *, tokenizer: str = "unicode") -> Novelty:
    """What the summary has and `document` has not: all of it, or what of it the model read.

    Each n-gram of the summary counts, as often as it stands there (See et al. 2017, section 7.2).
    Sentences without words are none.
    """
    written = words_of(summary, tokenizer)
    novel = []
    for n in LENGTHS:
        own, known = _ngrams(written, n), _known_ngrams(document, n, tokenizer)
        novel.append(Ratio(sum(ngram not in known for ngram in own), len(own)))
    sentences = _sentences(summary_sentences(summary), tokenizer)
    known_sentences = _known_sentences(document, tokenizer)
    copied = sum(sentence in known_sentences for sentence in sentences)
    return Novelty(tuple(novel), Ratio(copied, len(sentences)))


def repetition(text: str, *, tokenizer: str = "unicode") -> Repetition:
    """What of `text` is said again: 1 - unique / total."""
    ngrams = tuple(duplicate_ngrams(text, n, tokenizer=tokenizer) for n in LENGTHS)
    return Repetition(ngrams, _duplicates(_sentences(summary_sentences(text), tokenizer)))


def duplicate_ngrams(text: str, n: int, *, tokenizer: str = "unicode") -> Ratio:
    """Of the n-grams of one text, how many repeat an earlier one: 1 - unique / total."""
    return _duplicates(_ngrams(words_of(text, tokenizer), n))


def health(text: str, *, tokenizer: str = "unicode") -> Health:
    """Whether something is wrong with a summary that any reader would see."""
    return Health(
        empty=not text.strip(),
        repeated_trigram=duplicate_ngrams(text, 3, tokenizer=tokenizer).found > 0,
        unknown_word=UNKNOWN_WORD.search(text) is not None,
    )


# A few texts are asked about again and again: one document and what several systems made of it.
@lru_cache(maxsize=16)
def words_of(text: str, tokenizer: str) -> tuple[str, ...]:
    """The words that are compared here."""
    return tuple(tokens(text, tokenizer=tokenizer, stemmer="none"))


@lru_cache(maxsize=16)
def _known_ngrams(document: str, n: int, tokenizer: str) -> frozenset[Ngram]:
    return frozenset(_ngrams(words_of(document, tokenizer), n))


@lru_cache(maxsize=4)
def _known_sentences(document: str, tokenizer: str) -> frozenset[Ngram]:
    return frozenset(_sentences(split_sentences(document), tokenizer))


def _ngrams(words: Sequence[str], n: int) -> list[Ngram]:
    """All runs of n words: n words have one."""
    return list(zip(*(words[start:] for start in range(n)), strict=False))


def _sentences(sentences: Sequence[str], tokenizer: str) -> list[Ngram]:
    parted = (tokens(sentence, tokenizer=tokenizer, stemmer="none") for sentence in sentences)
    return [tuple(words) for words in parted if words]


def _duplicates(several: Sequence[Ngram]) -> Ratio:
    return Ratio(len(several) - len(set(several)), len(several))


def _forms(text: str, lowercase: bool) -> list[str]:
    return [lookup_form(token.text, lowercase=lowercase) for token in tokenize(text)]
