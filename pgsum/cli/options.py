"""Options and an exit code that several verbs share, each written once."""

from typing import Annotated, Literal

import typer

Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated."),
]
ModelPath = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="Run, bundle or hub name; else newest run or own."),
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of the files; else UTF-8, or by its mark.")
]
OnBad = Annotated[
    Literal["error", "skip"],
    typer.Option(metavar="error|skip", help="Stop at a bad row, or skip it."),
]
Device = Annotated[
    str | None, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N; else cuda if there.")
]
TrainingDevice = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="cpu, cuda or auto.")
]
Threads = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=1024, help="Of the processor; else one a core."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what went wrong.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say what libraries say, too.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

SKIPPED = 5
"""Exit code: all is done but what was skipped."""
