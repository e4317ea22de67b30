"""`pgsum compare`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pgsum.cli import console
from pgsum.cli.options import Debug, Quiet, Verbose
from pgsum.errors import ConfigError


def compare(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN", help="Folders that pgsum evaluate --out wrote."),
    ] = None,
    form: Annotated[
        Literal["text", "md", "latex", "json"],
        typer.Option("--format", metavar="text|md|latex|json", help="Of the output."),
    ] = "text",
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Say whether systems differ, each from the first: by how much, and whether by chance.

    All must have been scored on the same examples in the same way.
    """
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug, as_json=form == "json")
    if runs is None or len(runs) < 2:
        raise ConfigError(
            "Two runs are needed to compare.",
            hint="name two folders that `pgsum evaluate --out` wrote, or more",
        )

    from pgsum.compare import compare_runs
    from pgsum.metrics import comparison_report as report

    comparison = compare_runs(runs)
    if form == "json":
        console.data(report.comparison_json(comparison))
        return
    if form == "text":
        console.drawing(report.table(comparison))
        console.data("")
        console.drawing(report.measures(comparison))
        below = [*report.sentences(comparison), report.line(comparison)]
    elif form == "md":
        pasted = report.line(comparison).replace("`", "'")
        below = [*report.markdown(comparison).split("\n"), "", f"`{pasted}`"]
    else:
        below = [*report.latex(comparison).split("\n"), f"% {report.line(comparison)}"]
    for line in below:
        console.data(console.one_line(line))
