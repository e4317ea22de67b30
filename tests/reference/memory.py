"""What it costs to do something, in ways that a busy machine does not change."""

import re
import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
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


def peak_memory(command: Sequence[str | Path]) -> int:
    """The most bytes that a command ever holds, as it was seen now and then.

    What is mapped from files does not count, nor do the processes it starts: for a moment each is
    the image of its parent. The command must end well. Only Linux tells.
    """
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            held = re.search(r"RssAnon:\s+(\d+) kB", status.read_text(encoding="utf-8"))
            peak = max(peak, 1024 * int(held[1]) if held else 0)  # one that has ended has none
            time.sleep(0.02)
    assert process.returncode == 0
    return peak
