"""What of a summary had to be copied, and what of it is said again.

Counts, not shares: a corpus's figure is the ratio of their sums (the micro average) or the mean of
their ratios (the macro average), and that is the caller's to choose.
"""

from collections import Counter
from collections.abc import Container
from typing import NamedTuple

from pgsum.metrics.tokens import tokens
from pgsum.text.tokenize import lookup_form, tokenize


class Share(NamedTuple):
    """So many out of so many; `total` may be 0."""

    found: int
    total: int


def oovs_produced(summary: str, reference: str, vocab: Container[str], *, lowercase: bool) -> Share:
    """Of the reference's words outside `vocab`, how many stand in the summary.

    A word that the reference has n times is found at most n times. Words are the model's own,
    lookup forms of `pgsum.text`: what lies outside a vocabulary depends on how a text was parted
    when the vocabulary was counted. `lowercase` is the setting that it was counted with. Both texts
    are parted alike, so that any system can be asked, not only a model that tells its tokens.
    """
    wanted = Counter(form for form in _forms(reference, lowercase) if form not in vocab)
    produced = wanted & Counter(_forms(summary, lowercase))
    return Share(produced.total(), wanted.total())


def duplicate_ngrams(text: str, n: int, *, tokenizer: str = "unicode") -> Share:
    """Of the n-grams of one text, how many repeat an earlier one: 1 - unique / total.

    Words are those that ROUGE compares, by one of its tokenizers, but not stemmed: a second comma
    is no repetition, and neither is a plural beside its singular.
    """
    words = tokens(text, tokenizer=tokenizer, stemmer="none")
    ngrams = list(zip(*(words[start:] for start in range(n)), strict=False))
    return Share(len(ngrams) - len(set(ngrams)), len(ngrams))


def _forms(text: str, lowercase: bool) -> list[str]:
    return [lookup_form(token.text, lowercase=lowercase) for token in tokenize(text)]
