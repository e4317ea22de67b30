"""oracle: the sentences that score best, found with the references in hand.

What choosing whole sentences could reach; a measure of the corpus, not a system.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from pgsum.metrics.tokens import summary_sentences, tokenizer_for, tokens
from pgsum.text.sentences import split_sentences


class _Ngrams(NamedTuple):
    """How often a text has each n-gram, for one n; `total` counts those that are left out, too."""

    counts: Counter[tuple[str, ...]]
    total: int


def oracle(document: str, references: Sequence[str], k: int = 3) -> str:
    """At most `k` sentences, in the document's order, one a line.

    Greedy, after Nallapati et al. 2017 (SummaRuNNer): the sentence that raises
    ROUGE-1 plus ROUGE-2, by F1, the most, the first of equals, again and again until none does. Of
    several references the best counts. N-grams are those within sentences, so that the time is
    linear in the document. Nothing is taken where no sentence has a word of the references.
    """
    tokenizer = tokenizer_for(references)
    sentences = split_sentences(document)
    wanted = [_by_length(summary_sentences(text), tokenizer) for text in references]
    known = {ngram for lengths in wanted for ngrams in lengths for ngram in ngrams.counts}
    parts = [_by_length([sentence], tokenizer, among=known) for sentence in sentences]

    def score(chosen: Sequence[int]) -> float:
        own = [parts[i] for i in chosen]
        return max((_score(own, expected) for expected in wanted), default=0.0)

    taken: list[int] = []
    best = 0.0
    for _ in range(min(k, len(sentences))):
        rest = [i for i in range(len(sentences)) if i not in taken]
        choice = max(rest, key=lambda i: score([*taken, i]))
        raised = score([*taken, choice])
        if raised <= best:
            break
        best = raised
        taken.append(choice)
    return "\n".join(sentences[i] for i in sorted(taken))


def _by_length(
    sentences: Iterable[str], tokenizer: str, *, among: set[tuple[str, ...]] | None = None
) -> tuple[_Ngrams, _Ngrams]:
    """The words and the pairs of words, those `among` the given ones where they are given."""
    stemmer = "nltk" if tokenizer == "rouge155" else "none"
    parted = [tokens(sentence, tokenizer=tokenizer, stemmer=stemmer) for sentence in sentences]
    words = [(word,) for sentence in parted for word in sentence]
    pairs = [pair for sentence in parted for pair in pairwise(sentence)]
    return _counted(words, among), _counted(pairs, among)


def _counted(ngrams: Sequence[tuple[str, ...]], among: set[tuple[str, ...]] | None) -> _Ngrams:
    return _Ngrams(Counter(n for n in ngrams if among is None or n in among), len(ngrams))


def _score(parts: Sequence[tuple[_Ngrams, _Ngrams]], wanted: tuple[_Ngrams, _Ngrams]) -> float:
    """ROUGE-1 plus ROUGE-2 of the parts together; F1 = 2 hits / (predicted + expected)."""
    score = 0.0
    for predicted, expected in zip(zip(*parts, strict=True), wanted, strict=True):
        counts = sum((ngrams.counts for ngrams in predicted), Counter[tuple[str, ...]]())
        total = sum(ngrams.total for ngrams in predicted) + expected.total
        score += 2 * (counts & expected.counts).total() / max(total, 1)
    return score
