"""How much is tried: a little each time the tests run, all of it by `make fuzz`."""

import os
import sys
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from hypothesis import settings

PROFILE = os.environ.get("PGSUM_TESTS", "pgsum")
"""The profile of Hypothesis: `pgsum`, or `fuzz` for many more examples and every moment."""
FEW = settings(max_examples=settings.get_profile(PROFILE).max_examples // 10)
"""For a property of which one example takes long."""

Case = TypeVar("Case")


def some(cases: Sequence[Case], count: int, *, by_fuzz: int | None = None) -> list[Case]:
    """`count` of the cases, drawn alike each time, in their order.

    With the profile `fuzz` all, or `by_fuzz` of them drawn by the seed in PGSUM_SEED.
    """
    seed = 5
    if PROFILE == "fuzz":
        count = len(cases) if by_fuzz is None else by_fuzz
        seed = int(os.environ.get("PGSUM_SEED", seed))
    if count >= len(cases):
        return list(cases)
    return [cases[place] for place in sorted(Random(seed).sample(range(len(cases)), count))]


def tell(line: str) -> None:
    """What `make fuzz` prints of a test; where pytest captures, it is kept for a failure."""
    print(line, file=sys.__stdout__, flush=True)
