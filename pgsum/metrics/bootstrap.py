"""From the scores of single examples to a corpus's figures: plain means, and seeded intervals.

Knows numbers only. rouge-score's own aggregator is not used: it reports the median of bootstrap
means and draws from an unseeded generator, so that two runs differ.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from pgsum.metrics.rouge import METRICS, Scores

# Resamples are drawn in blocks of about so many indices, to bound memory.
_BLOCK = 2**20


class Figure(NamedTuple):
    """Mean precision, recall and F1 over a corpus, and the 95% interval of F1; from 0 to 1."""

    p: float
    r: float
    f: float
    low: float
    high: float


def figures(
    scores: Sequence[Scores], *, trials: int, rng: np.random.Generator
) -> dict[str, Figure]:
    """By metric, the plain mean of `scores` with its bootstrap interval; at least one score."""
    by_metric = {metric: np.array([s[metric] for s in scores]) for metric in METRICS}
    f_scores = np.stack([values[:, 2] for values in by_metric.values()], axis=1)
    intervals = bootstrap_intervals(f_scores, trials=trials, rng=rng)
    return {
        metric: Figure(*values.mean(axis=0).tolist(), *interval.tolist())
        for (metric, values), interval in zip(by_metric.items(), intervals, strict=True)
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
    examples = len(scores)
    block = max(1, _BLOCK // examples)
    means = np.concatenate(
        [
            _resampled_means(
                scores, rng.integers(examples, size=(min(block, trials - done), examples))
            )
            for done in range(0, trials, block)
        ]
    )
    tail = (1 - level) / 2
    return np.asarray(np.quantile(means, [tail, 1 - tail], axis=0).T)


def _resampled_means(
    scores: Float[np.ndarray, "examples columns"], drawn: np.ndarray
) -> Float[np.ndarray, "trials columns"]:
    trials, examples = drawn.shape
    cells = drawn + examples * np.arange(trials)[:, None]
    times = np.bincount(cells.ravel(), minlength=drawn.size).reshape(drawn.shape)
    # Not `@`: a BLAS may add in another order with another number of threads.
    return np.asarray(np.einsum("te,ec->tc", times.astype(float), scores) / examples)
