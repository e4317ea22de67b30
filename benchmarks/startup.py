"""How long a command takes before it does anything: the wait that is felt each time."""

import shlex
import subprocess
import sys
from functools import partial

from benchmarks import ROOT
from benchmarks.measure import interleaved
from benchmarks.report import Figures, Result

COMMANDS = (
    "pgsum --help",
    "pgsum info",
    "pgsum train --help",
    "pgsum summarize --help",
    "pgsum evaluate --help",
    "pgsum train --print-config",
)


def measure(*, repeats: int, quick: bool) -> Result:
    """Each command from its start to its end, the files it reads already in memory."""
    commands = COMMANDS[:1] if quick else COMMANDS
    timings = interleaved({command: partial(run, command) for command in commands}, repeats)
    return Result(
        name="start-up",
        unit="start",
        details={},
        sides={command: Figures(timing) for command, timing in timings.items()},
    )


def run(command: str) -> None:
    """A `pgsum ...` of this very checkout."""
    subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        check=True,
    )
