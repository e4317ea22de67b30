"""What it costs to do something, in ways that a busy machine does not change."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def little_memory(room: int) -> Iterator[None]:
    """Whoever asks for more than `room` bytes beside what is taken already gets MemoryError."""
    taken = Path("/proc/self/statm")
    if not taken.exists():  # only Linux tells
        yield
        return
    has = int(taken.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    usual = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (has + room, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, usual)
