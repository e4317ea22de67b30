"""The same function over many items, in several processes where that pays.

Knows processes. Knows nothing of what is computed.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from os import cpu_count
from signal import SIG_IGN, SIGINT, signal
from typing import TypeVar

from pgsum.errors import PgsumError

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_processes(
    function: Callable[[Sequence[Item]], Sequence[Result]],
    items: Sequence[Item],
    *,
    chunk: int,
    at_most: int,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """What `function` makes of `items`, given `chunk` of them at a time; in their order.

    `workers` is as many processes as there are cores where not given, but never more than
    `at_most`: one or none of them is this one. `progress` is called now and then with the items
    done and their number. Raises PgsumError where a process dies.
    """
    workers = max(1, min(workers or cpu_count() or 1, at_most))
    results: list[Result] = []
    chunks = [items[first : first + chunk] for first in range(0, len(items), chunk)]
    try:
        for made in _mapped(function, chunks, workers):
            results += made
            if progress:
                progress(len(results), len(items))
    except BrokenProcessPool as error:
        raise PgsumError(
            f"A process died after {len(results):,} of {len(items):,} were done; it may have run "
            "out of memory.",
            hint="free some, or use one process",
        ) from error
    return results


def _mapped(
    function: Callable[[Sequence[Item]], Sequence[Result]],
    chunks: Sequence[Sequence[Item]],
    workers: int,
) -> Iterator[Sequence[Result]]:
    if workers == 1:
        yield from map(function, chunks)
        return
    # Spawned, not forked: the caller may hold a model and its threads. Ctrl-C is the caller's.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), signal, (SIGINT, SIG_IGN))
    try:
        yield from pool.map(function, chunks)
    finally:
        pool.shutdown(cancel_futures=True)
