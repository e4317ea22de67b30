"""What `make fuzz` runs: every property with new examples until the time is up, then each moment
at which a command may be killed or its disk may fail.

    python tests/fuzz --minutes 30

Examples that fail are kept in `.hypothesis/`, where `make test` finds them.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent.parent
MOMENTS = (
    ["tests/fuzz/test_failing_writes.py"],
    ["tests/fuzz/test_killed.py", "tests/training/test_resume.py", "-k", "killed"],
)
# As Hypothesis prints it: the name of a test, and below it what became of each phase.
_NAME = re.compile(r"(tests/\S+::\S+):")
_EXAMPLES = re.compile(r" +- (\d+) passing.*?, (\d+) failing")


class Tried(NamedTuple):
    """One run of pytest: how many cases each property had, and all it printed if one failed."""

    cases: Counter[str]
    fault: str | None


def main() -> int:
    """1 where a fault was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    wanted = parser.parse_args()
    print(f"properties, {wanted.minutes:g} minutes, seed {wanted.seed}", flush=True)
    tried = try_properties(60 * wanted.minutes, seed=wanted.seed)
    cases = sum((each.cases for each in tried), Counter[str]())
    for name, number in sorted(cases.items()):
        print(f"{number:9,}  {name}")
    print(f"{cases.total():9,}  cases of {len(cases)} properties", flush=True)
    tried += try_moments(seed=wanted.seed)
    faults = [each.fault for each in tried if each.fault]
    print("\n".join([*faults, f"faults found: {len(faults)}"]))
    return 1 if faults else 0


def try_properties(seconds: float, *, seed: int) -> list[Tried]:
    """File after file, each time with another seed, until the time is up."""
    files = sorted(str(f) for f in TESTS.rglob("test_*.py") if "@given(" in f.read_text("utf-8"))
    end = time.monotonic() + seconds
    turns = enumerate(cycle(files), seed)

    def work(_: int) -> list[Tried]:
        done = []
        while time.monotonic() < end:
            number, file = next(turns)
            done.append(run(["-m", "hypothesis and not slow", file], seed=number))
        return done

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [each for done in pool.map(work, range(os.cpu_count() or 1)) for each in done]


def try_moments(*, seed: int) -> list[Tried]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda files: run(["-s", *files], seed=seed, show=True), MOMENTS))


def run(arguments: list[str], *, seed: int, show: bool = False) -> Tried:
    """pytest with these arguments and the profile `fuzz`; with `show`, what the tests count."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"),
            *("--hypothesis-show-statistics", f"--hypothesis-seed={seed}", *arguments),
        ],
        cwd=TESTS.parent,
        env=os.environ | {"PGSUM_TESTS": "fuzz", "PGSUM_SEED": str(seed)},
        capture_output=True,
        text=True,
    )
    if show:
        print(*(line for line in done.stdout.splitlines() if " moments" in line), sep="\n")
    cases, name = Counter[str](), ""
    for line in done.stdout.splitlines():
        if match := _NAME.fullmatch(line):
            name = match[1]
        elif match := _EXAMPLES.match(line):
            cases[name] += int(match[1]) + int(match[2])
    nothing_there = 5
    return Tried(cases, done.stdout if done.returncode not in (0, nothing_there) else None)


if __name__ == "__main__":
    sys.exit(main())
