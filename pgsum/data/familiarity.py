"""How unlike the training documents a text is, by its words alone.

A unigram model of the training text, as the vocabulary's counts give it. Costs no search, and knows
nothing of what a model would say.
"""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from pgsum.text.vocab import SPECIAL_TOKENS, Vocab

if TYPE_CHECKING:
    from datasets import Dataset

USUAL = 0.98
"""Share of the training documents that are to count as usual."""

_DOCUMENTS = 5_000  # enough to know that quantile to a fifth of a percent


class Familiarity:
    """How rare words are in the text that a vocabulary was counted in."""

    def __init__(self, vocab: Vocab) -> None:
        self._counts = np.array([0] * len(SPECIAL_TOKENS) + list(vocab.counts), float)
        self._log_total = float(np.log(max(self._counts.sum(), 1)))

    def surprise(self, source_ids: Sequence[int], *, own_ids: Sequence[int] = ()) -> float:
        """Mean of -log of each word's share of the training text, in nats a word.

        A word without an id counts as seen once. What stands in `own_ids` is taken off the counts
        first: a training document then surprises as if it were new.
        """
        own = Counter(own_ids)
        seen = self._counts[source_ids] - [own[id_] for id_ in source_ids]
        return self._log_total - float(np.log(np.maximum(seen, 1)).mean())


def usual_surprise(vocab: Vocab, train: "Dataset") -> float:
    """The surprise that `USUAL` of the training documents, each as if it were new, do not exceed.

    `train` is that of `pgsum.data.prepare.Prepared`. Of many documents some are looked at, evenly
    spread. Where `vocab` is that of an earlier training on other text, words get a little rarer
    than they were, and fewer documents will be called unusual.
    """
    familiarity = Familiarity(vocab)
    some = range(0, len(train), ceil(len(train) / _DOCUMENTS))
    rows = train.select(some).select_columns(["source_ids", "target_input_ids"])
    surprises = [
        familiarity.surprise(
            row["source_ids"], own_ids=[*row["source_ids"], *row["target_input_ids"]]
        )
        for row in rows
    ]
    return float(np.quantile(surprises, USUAL))
