"""Whether two systems that were scored on the same examples differ.

Knows numbers only: arrays of per-example scores, in the same order. Differences are `a`'s score
less `b`'s. Both tests are two-sided and seeded; `holm` is for several of them at once.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Float

from pgsum.metrics.bootstrap import in_blocks, resampled_means

# What a mean of differences may lose to rounding: a tie counts against the difference.
_ROUNDING = 1e-12


def paired_bootstrap(
    a: Float[np.ndarray, " examples"],
    b: Float[np.ndarray, " examples"],
    *,
    trials: int,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """The 95% interval of the mean difference, and p: how often chance alone gives as much.

    The interval is that of percentiles. For p the resampled differences are moved so that their
    centre is 0, as the null hypothesis has it (Efron and Tibshirani 1993, section 16.4); trials
    count as in `approximate_randomization`.
    """
    differences = a - b
    observed = differences.mean()
    means = resampled_means(differences[:, None], trials=trials, rng=rng)[:, 0]
    low, high = np.quantile(means, [0.025, 0.975]).tolist()
    return low, high, _p_value(_as_extreme(means - observed, observed), trials)


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
    return _p_value(count, trials)


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


def _p_value(count: int, trials: int) -> float:
    return (count + 1) / (trials + 1)
