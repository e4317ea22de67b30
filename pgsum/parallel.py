"""The same function over many items, in several processes where that pays.

Knows processes. Knows nothing of what is computed.
"""

import os
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from itertools import chain
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Lock, Thread
from typing import Any, TypeVar

from pgsum.errors import PgsumError

Item = TypeVar("Item")
Result = TypeVar("Result")
Made = TypeVar("Made")

_function: Callable[[Any], Any]
"""Of a process of several: sent when it begins, not with each chunk, for it may hold much."""
_at_work = Lock()
"""Of a process of several: held while it computes, not while it waits or sends."""


def map_in_processes(
    function: Callable[[Sequence[Item]], Sequence[Result]],
    items: Sequence[Item],
    *,
    chunk: int,
    at_most: int,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """What `function` makes of `items`, one result for each; otherwise as `chunks_in_processes`."""
    chunks = chunks_in_processes(
        function, items, chunk=chunk, at_most=at_most, workers=workers, progress=progress
    )
    with closing(chunks) as made:
        return list(chain.from_iterable(made))


def chunks_in_processes(
    function: Callable[[Sequence[Item]], Made],
    items: Sequence[Item],
    *,
    chunk: int,
    at_most: int,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Generator[Made, None, None]:
    """What `function` makes of `items`, given `chunk` of them at a time; in their order.

    `workers` is as many processes as there are cores where not given, but never more than
    `at_most`: one or none of them is this one. `progress` is called now and then with the items
    done and their number. Raises PgsumError where a process dies. However this ends, be it by
    Ctrl-C or by being closed, the other processes end with it at once.
    """
    workers = max(1, min(workers or os.cpu_count() or 1, at_most))
    chunks = [items[first : first + chunk] for first in range(0, len(items), chunk)]
    done = 0
    try:
        with closing(_mapped(function, chunks, workers)) as mapped:
            for given, made in zip(chunks, mapped, strict=True):
                yield made
                done += len(given)
                if progress:
                    progress(done, len(items))
    except BrokenProcessPool as error:
        raise PgsumError(
            f"A process died after {done:,} of {len(items):,} were done; it may have run out of "
            "memory.",
            hint="free some, or use one process",
        ) from error


def _mapped(
    function: Callable[[Sequence[Item]], Made], chunks: Sequence[Sequence[Item]], workers: int
) -> Generator[Made, None, None]:
    if workers == 1:
        yield from map(function, chunks)
        return
    # Spawned, not forked: the caller may hold a model and its threads.
    context = get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, _begin, (function, watched))
    try:
        with _ctrl_c_is_not_theirs():
            results = pool.map(_work, chunks)
        yield from results
    except BaseException:
        held.close()  # else the pool would wait for what they are in the midst of
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        held.close()
        watched.close()


@contextmanager
def _ctrl_c_is_not_theirs() -> Iterator[None]:
    """Processes begun meanwhile never see it, not even while they start: it is the caller's."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(function: Callable[[Any], Any], watched: Connection) -> None:
    """Ends this process once nobody holds the other end: the caller let go, or is dead.

    Until then it computes `function`.
    """
    global _function
    _function = function
    Thread(target=_watch, args=(watched,), daemon=True).start()


def _work(items: Sequence[Any]) -> Any:
    with _at_work:
        return _function(items)


def _watch(watched: Connection) -> None:
    try:
        watched.recv()
    except EOFError:
        # What is being sent is let out whole: the caller would wait for the rest of it.
        if not _at_work.locked():
            time.sleep(0.5)
        os._exit(1)
