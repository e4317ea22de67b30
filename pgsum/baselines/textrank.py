"""TextRank: the sentences that are most like the others, by PageRank over their common words."""

import math
from collections import Counter
from itertools import chain

import numpy as np
from jaxtyping import Float

from pgsum.metrics.tokens import tokenizer_for, tokens
from pgsum.text.sentences import split_sentences

_DAMPING = 0.85
_TOLERANCE = 1e-6
_MOST_STEPS = 100
# All pairs are compared: of a book only so much of its beginning, and of a sentence, too.
_MOST_SENTENCES = 1000
_MOST_WORDS = 200


def textrank(document: str, k: int = 3) -> str:
    """The `k` highest sentences, in the document's order, one a line; the first of equals.

    Mihalcea and Tarau 2004, section 4, with no filter for words but ROUGE's stems.
    """
    sentences = split_sentences(document)[:_MOST_SENTENCES]
    ranks = pagerank(similarities(sentences)).round(9)  # what should be equal is
    highest = sorted(range(len(sentences)), key=lambda i: -ranks[i])[:k]
    return "\n".join(sentences[i] for i in sorted(highest))


def similarities(sentences: list[str]) -> Float[np.ndarray, "sentences sentences"]:
    """How many different words two sentences share, by the logs of their lengths in words.

    |words of both| / (log |one| + log |other|); 0 for a sentence with itself, and for two of one
    word each, where that is not defined.
    """
    tokenizer = tokenizer_for(sentences)
    stemmer = "nltk" if tokenizer == "rouge155" else "none"
    parted = [tokens(s, tokenizer=tokenizer, stemmer=stemmer)[:_MOST_WORDS] for s in sentences]
    times = Counter(chain.from_iterable(map(set, parted)))
    columns = {word: i for i, word in enumerate(w for w, count in times.items() if count > 1)}
    present = np.zeros((len(parted), len(columns)), dtype=np.float32)
    for row, words in enumerate(parted):
        present[row, [columns[word] for word in words if word in columns]] = 1
    logs = np.array([math.log(max(len(words), 1)) for words in parted])
    lengths = logs[:, None] + logs
    shared = (present @ present.T).astype(float)  # whole numbers: exact in whatever order
    np.fill_diagonal(shared, 0)
    likeness: np.ndarray = np.divide(shared, lengths, out=np.zeros_like(shared), where=lengths > 0)
    return likeness


def pagerank(weights: Float[np.ndarray, "nodes nodes"]) -> Float[np.ndarray, " nodes"]:
    """The rank of each node by symmetric `weights` (section 2.2 of the paper), iterated."""
    sums = weights.sum(axis=1)
    shares = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    ranks = np.ones(len(weights))
    for _ in range(_MOST_STEPS):
        # Not `@`: a BLAS may add in another order with another number of threads.
        following = 1 - _DAMPING + _DAMPING * np.einsum("ij,j->i", shares, ranks)
        change = np.abs(following - ranks).max(initial=0)
        ranks = following
        if change < _TOLERANCE:
            break
    return ranks
