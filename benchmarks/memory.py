"""The most memory that training steps take, measured in a process of their own.

`python -m benchmarks.memory NAME SIDE` builds that side of `TRAININGS[NAME]`, runs it twice and
prints by how many bytes the process grew at its largest. Linux only.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from benchmarks import ROOT


def peak_memory(name: str, side: str, *, quick: bool) -> int | None:
    """In bytes, above the process that holds model and data; None where it cannot be measured."""
    if sys.platform != "linux":
        return None
    command = [sys.executable, "-m", "benchmarks.memory", name, side, *["--quick"] * quick]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


def main() -> None:
    """The process."""
    from benchmarks.train_step import TRAININGS

    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory")
    parser.add_argument("name")
    parser.add_argument("side")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    call = TRAININGS[arguments.name](quick=arguments.quick).sides()[arguments.side]()
    # Forget the peaks before. `ru_maxrss` would not do: it begins at the parent's.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _resident("VmRSS")
    call()
    call()
    print(_resident("VmHWM") - before)


def _resident(field: str) -> int:
    """`VmRSS`: bytes of this process in memory; `VmHWM`: the most that there were."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(rf"{field}:\s*(\d+) kB", status)
    assert found is not None
    return 1024 * int(found[1])


if __name__ == "__main__":
    main()
