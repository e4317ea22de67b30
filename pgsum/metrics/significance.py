"""Whether two systems that were scored on the same examples differ.

Knows numbers only: arrays of per-example scores, in the same order. Differences are `a`'s score
less `b`'s. Intervals and p are seeded and two-sided; `holm` is for several p at once.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Float

from pgsum.metrics.bootstrap import bootstrap_intervals, in_blocks

# What a mean of differences may lose to rounding: a tie counts against the difference.
_ROUNDING = 1e-12


def paired_bootstrap(
    a: Float[np.ndarray, " examples"],
    b: Float[np.ndarray, " examples"],
    *,
    trials: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The 95% interval of the mean difference, by percentiles of resampled examples."""
    (interval,) = bootstrap_intervals((a - b)[:, None], trials=trials, rng=rng)
    low, high = interval.tolist()
    return low, high


def approximate_randomization(
    a: Float[np.ndarray, " examples"],
    b: Float[np.ndarray, " examples"],
    *,
    trials: int,
    rng: np.random.Generator,
) -> float:
    """p, from exchanging the two systems' scores on a random half of the examples.

    Noreen 1989; Riezler and Maxwell 2005: (count + 1) / (trials + 1), where count is of
    trials whose difference is at least the observed one, either way.
    """
    differences = a - b
    observed = differences.mean()
    count = sum(
        _as_extreme(np.where(kept, differences, -differences).mean(axis=1), observed)
        for kept in _coins(len(differences), trials, rng)
    )
    return (count + 1) / (trials + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """`p_values` adjusted for being several, in their order (Holm 1979).

    The smallest of m is multiplied by m, the next by m - 1, and so on; none gets below one that
    was smaller, nor above 1.
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def _coins(
    examples: int, trials: int, rng: np.random.Generator
) -> Iterator[Bool[np.ndarray, "trials examples"]]:
    for size in in_blocks(trials, examples):
        yield rng.integers(2, size=(size, examples), dtype=np.uint8).astype(bool)


def _as_extreme(means: Float[np.ndarray, " trials"], observed: float) -> int:
    return int(np.count_nonzero(np.abs(means) >= abs(observed) - _ROUNDING))
