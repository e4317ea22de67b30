"""`python -m benchmarks`: measure, show, keep."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from rich.console import Console

from benchmarks import decode, machine, pairs, report, serve, startup, text, train_step
from benchmarks.report import Result

MEASUREMENTS: dict[str, Callable[..., Result]] = {
    **{name: partial(train_step.measure, name) for name in train_step.TRAININGS},
    **{name: partial(decode.measure, name) for name in decode.SEARCHES},
    "tokenize": text.measure_encoding,
    "rouge": text.measure_rouge,
    "start-up": startup.measure,
    "serve": serve.measure,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Raises NotEqualError where the two sides of a measurement do not do the same."""
    options = _parse(arguments)
    notes = Console(stderr=True, highlight=False, soft_wrap=True)
    results = []
    for name in options.only or MEASUREMENTS:
        notes.print(f"measuring {name}")
        result = MEASUREMENTS[name](repeats=options.repeats, quick=options.quick)
        for what, value in result.checks.items():
            notes.print(f"  equal: {what}: {value:.4g}")
        results.append(result)
    about = {
        **machine.description(),
        "threads": torch.get_num_threads(),
        "seed": pairs.SEED,
        "repeats": options.repeats,
        "quick": options.quick,
    }
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        content = json.dumps(report.as_json(results, about), indent=1)
        options.out.write_text(content + "\n", encoding="utf-8")
    # A table that is read later, in a file, is not cut to a terminal's width.
    report.show(results, about, Console(width=None if sys.stdout.isatty() else 140))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure how fast pgsum is on this machine."
    )
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="keep the figures there, too")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="5 where not given")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=list(MEASUREMENTS),
        metavar="NAME",
        help=f"of {', '.join(MEASUREMENTS)}",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="tiny sizes: does it run at all? Its figures mean nothing",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
