import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pgsum.errors import PgsumError
from pgsum.parallel import chunks_in_processes, map_in_processes


def doubled(items):
    return [2 * item for item in items]


def dying(items):
    os._exit(1)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order_with_their_progress(workers):
    steps = []
    found = map_in_processes(
        doubled,
        list(range(7)),
        chunk=3,
        at_most=2,
        workers=workers,
        progress=lambda *step: steps.append(step),
    )
    assert found == [0, 2, 4, 6, 8, 10, 12]
    assert steps == [(3, 7), (6, 7), (7, 7)]


def total(items):
    return sum(items)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_chunk_may_become_one_thing(workers):
    steps = []
    found = chunks_in_processes(
        total,
        range(7),
        chunk=3,
        at_most=2,
        workers=workers,
        progress=lambda *step: steps.append(step),
    )
    assert list(found) == [3, 12, 6]
    assert steps == [(3, 7), (6, 7), (7, 7)]


class Sent:
    """Doubles, and knows how often it was sent to another process."""

    times = 0

    def __getstate__(self):
        Sent.times += 1
        return {}

    def __call__(self, items):
        return doubled(items)


def test_what_is_computed_is_sent_once_to_each_process():
    """And not with each chunk: it may be a corpus that takes a while to be opened."""
    found = map_in_processes(Sent(), list(range(9)), chunk=1, at_most=2, workers=2)
    assert found == doubled(range(9))
    assert 1 <= Sent.times <= 2


def test_what_does_not_pay_stays_in_this_process():
    here = []
    map_in_processes(lambda items: here.append(os.getpid()) or items, [1], chunk=1, at_most=0)
    assert here == [os.getpid()]


def test_a_process_that_dies_is_an_error_with_what_was_done():
    with pytest.raises(PgsumError, match=r"died after 0 of 4 were done"):
        map_in_processes(dying, list(range(4)), chunk=2, at_most=2, workers=2)


SLOW = """
import os, sys, time
from pathlib import Path
from pgsum.parallel import chunks_in_processes, map_in_processes

def slow(items):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(600)
    return items

if __name__ == "__main__":
    map_in_processes(slow, list(range(9)), chunk=1, at_most=2, workers=2)
"""


def until(condition):
    """Longer than any of this takes, and far shorter than what it is to cut short."""
    end = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_alive(pid):
    try:
        # Its parent may be dead, and nobody there to take note of its end.
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("send", "name"),
    [(os.kill, "SIGINT"), (os.killpg, "SIGINT"), (os.kill, "SIGTERM"), (os.kill, "SIGKILL")],
)
def test_processes_end_with_the_one_that_began_them(tmp_path, send, name):
    program, seen = tmp_path / "slow.py", tmp_path / "seen"
    program.write_text(SLOW)
    seen.mkdir()
    caller = subprocess.Popen(
        [sys.executable, program, seen], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until(lambda: len(list(seen.iterdir())) == 2)
    number = signal.Signals[name]
    send(caller.pid, number)
    _, said = caller.communicate(timeout=100)
    assert caller.returncode == -number
    assert said.count("KeyboardInterrupt") == (number == signal.SIGINT)  # the caller's alone
    until(lambda: not any(is_alive(file.name) for file in seen.iterdir()))
