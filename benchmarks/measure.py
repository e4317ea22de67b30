"""Time of calls, side by side. Knows nothing of what is called."""

import gc
import resource
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import NamedTuple

Call = Callable[[], object]


class Timing(NamedTuple):
    """Seconds, or what is counted in them."""

    cpu: float
    """Of processors: of all threads, and of the processes that were started and waited for."""
    wall: float

    def times(self, factor: float) -> "Timing":
        return Timing(self.cpu * factor, self.wall * factor)

    def over(self, other: "Timing") -> "Timing":
        return Timing(self.cpu / other.cpu, self.wall / other.wall)

    def plus(self, other: "Timing") -> "Timing":
        return Timing(self.cpu + other.cpu, self.wall + other.wall)


def interleaved(calls: Mapping[str, Call], repeats: int) -> dict[str, Timing]:
    """The median time of each call, all called in turn `repeats` times, and once before.

    In turn, so that whatever slows the machine down for a while does so for all of them.
    """
    for call in calls.values():
        call()
    rounds = [{name: timed(call) for name, call in calls.items()} for _ in range(repeats)]
    return {
        name: Timing(
            cpu=median(timings[name].cpu for timings in rounds),
            wall=median(timings[name].wall for timings in rounds),
        )
        for name in calls
    }


def timed(call: Call) -> Timing:
    """What one call takes."""
    gc.collect()
    cpu, wall = _cpu_seconds(), time.perf_counter()
    call()
    return Timing(_cpu_seconds() - cpu, time.perf_counter() - wall)


def _cpu_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
