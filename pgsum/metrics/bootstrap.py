"""From the scores of single examples to a corpus's figures: plain means, and seeded intervals.

Knows numbers only. rouge-score's own aggregator is not used: it reports the median of bootstrap
means and draws from an unseeded generator, so that two runs differ.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from pgsum.metrics.rouge import METRICS, Scores

# Resamples are drawn in blocks of about so many indices, to bound memory.
_BLOCK = 2**20


class Figure(NamedTuple):
    """Mean precision, recall and F1 over a corpus, from 0 to 1, and the 95% interval of each.

    `low` and `high` are F1's.
    """

    p: float
    r: float
    f: float
    low: float
    high: float
    p_low: float
    p_high: float
    r_low: float
    r_high: float


def figures(
    scores: Sequence[Scores], *, trials: int, rng: np.random.Generator
) -> dict[str, Figure]:
    """By metric, the plain mean of `scores` with its bootstrap intervals; at least one score."""
    columns = np.array([[s[metric] for metric in METRICS] for s in scores])
    means = columns.mean(axis=0)
    intervals = bootstrap_intervals(columns.reshape(len(scores), -1), trials=trials, rng=rng)
    return {
        metric: Figure(*mean.tolist(), *f.tolist(), *p.tolist(), *r.tolist())
        for metric, mean, (p, r, f) in zip(
            METRICS, means, intervals.reshape(len(METRICS), 3, 2), strict=True
        )
    }


def bootstrap_intervals(
    scores: Float[np.ndarray, "examples columns"],
    *,
    trials: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Float[np.ndarray, "columns 2"]:
    """The percentile bootstrap interval of each column's mean (Efron 1979).

    All columns share their resamples, so that what is drawn for one metric is drawn for all.
    """
    tail = (1 - level) / 2
    means = resampled_means(scores, trials=trials, rng=rng)
    return np.asarray(np.quantile(means, [tail, 1 - tail], axis=0).T)


def resampled_means(
    scores: Float[np.ndarray, "examples columns"], *, trials: int, rng: np.random.Generator
) -> Float[np.ndarray, "trials columns"]:
    """The means of `trials` samples, each of as many examples drawn with replacement."""
    examples = len(scores)
    return np.concatenate(
        [
            _means_of(scores, rng.integers(examples, size=(size, examples)))
            for size in in_blocks(trials, examples)
        ]
    )


def in_blocks(trials: int, examples: int) -> Iterator[int]:
    """How many of `trials` to take at once, of `examples` draws each."""
    block = max(1, _BLOCK // examples)
    for done in range(0, trials, block):
        yield min(block, trials - done)


def _means_of(
    scores: Float[np.ndarray, "examples columns"], drawn: np.ndarray
) -> Float[np.ndarray, "trials columns"]:
    trials, examples = drawn.shape
    cells = drawn + examples * np.arange(trials)[:, None]
    times = np.bincount(cells.ravel(), minlength=drawn.size).reshape(drawn.shape)
    # Not `@`: a BLAS may add in another order with another number of threads.
    return np.asarray(np.einsum("te,ec->tc", times.astype(float), scores) / examples)
