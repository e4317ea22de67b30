"""Systems scored on the same examples, each compared with the first.

Knows numbers and names: per-example F1 by metric, in points (0 to 100). How the comparison is shown
is `comparison_report`'s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from pgsum.metrics.measures import Average
from pgsum.metrics.rouge import METRICS
from pgsum.metrics.significance import approximate_randomization, holm, paired_bootstrap

BOOTSTRAP_TRIALS = 1000
RANDOMIZATION_TRIALS = 10_000
LEVEL = 0.05

ScoresOfSystem = Mapping[str, Float[np.ndarray, " examples"]]
"""F1 of each example, by metric."""


@dataclass(frozen=True)
class Difference:
    """How much higher `system` scores than `against`, in points, and what chance could give.

    `low` and `high` bound the 95% interval; `p` is that of approximate randomization, and `p_holm`
    the same after Holm's correction for all systems that were compared by this metric.
    """

    system: str
    against: str
    metric: str
    value: float
    low: float
    high: float
    p: float
    p_holm: float

    @property
    def distinguishable(self) -> bool:
        """Neither does the interval hold 0, nor is p at or above 0.05."""
        return not self.low <= 0 <= self.high and self.p_holm < LEVEL


@dataclass(frozen=True)
class Comparison:
    """The mean F1 of each system by metric, and each system's differences from the first.

    `measures` say how each system wrote and `references` how those were written, by measure, where
    that is known.
    """

    signature: str
    n: int
    seed: int
    means: Mapping[str, Mapping[str, float]]
    differences: tuple[Difference, ...]
    measures: Mapping[str, Mapping[str, Average]]
    references: Mapping[str, Average]

    @property
    def several(self) -> bool:
        """More than one comparison: then p is what Holm's correction made of it."""
        return len(self.means) > 2

    def of(self, system: str) -> list[Difference]:
        """The system's differences from the first, by metric."""
        return [difference for difference in self.differences if difference.system == system]


def compare(
    systems: Mapping[str, ScoresOfSystem],
    *,
    signature: str,
    measures: Mapping[str, Mapping[str, Average]],
    references: Mapping[str, Average],
    seed: int = 12345,
) -> Comparison:
    """Compare at least two systems, each with the first, by every metric.

    Examples are in one order. `measures` and `references` are only set beside each other. Each test
    has a generator of its own from `seed`, so that no result depends on what else is compared.
    """
    (first, baseline), *others = systems.items()
    differences = [
        difference
        for metric in METRICS
        for difference in _by_metric(metric, first, baseline, dict(others), seed)
    ]
    return Comparison(
        signature=signature,
        n=len(baseline[METRICS[0]]),
        seed=seed,
        means={
            name: {metric: float(scores[metric].mean()) for metric in METRICS}
            for name, scores in systems.items()
        },
        differences=tuple(differences),
        measures=measures,
        references=references,
    )


def _by_metric(
    metric: str,
    first: str,
    baseline: ScoresOfSystem,
    others: Mapping[str, ScoresOfSystem],
    seed: int,
) -> Sequence[Difference]:
    p_values = [
        approximate_randomization(
            scores[metric],
            baseline[metric],
            trials=RANDOMIZATION_TRIALS,
            rng=np.random.default_rng(seed),
        )
        for scores in others.values()
    ]
    found = []
    for (name, scores), p, p_holm in zip(others.items(), p_values, holm(p_values), strict=True):
        low, high = paired_bootstrap(
            scores[metric],
            baseline[metric],
            trials=BOOTSTRAP_TRIALS,
            rng=np.random.default_rng(seed),
        )
        value = float((scores[metric] - baseline[metric]).mean())
        found.append(Difference(name, first, metric, value, low, high, p, p_holm))
    return found
