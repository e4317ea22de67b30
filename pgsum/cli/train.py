"""`pgsum train`."""

from pathlib import Path
from typing import Annotated

import typer

from pgsum.cli import console
from pgsum.cli.corpus import corpus_overrides, split_arguments
from pgsum.cli.options import Debug, Quiet, Threads, TrainingDevice, Verbose
from pgsum.cli.progress import progress
from pgsum.config import load_config, to_yaml

STOPPED = {"interrupted": 130, "terminated": 143}
"""Exit codes of a training cut short by a signal, with a usable model left behind."""
_DEVICES = {"cpu": "cpu", "cuda": "gpu", "gpu": "gpu", "auto": "auto"}


def train(
    data: Annotated[str | None, typer.Argument(metavar="DATA", help="What to learn from.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="As --print-config lists them, or a group."),
    ] = None,
    init: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Start from its weights and vocabulary.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the run; else runs/NAME-NNN.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Even if DIR holds a run.")
    ] = False,
    config: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Settings in YAML; may be repeated."),
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print every setting, and stop.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be done, and stop.")
    ] = False,
    device: TrainingDevice = None,
    threads: Threads = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Train a summarizer on pairs of document and summary.

    DATA is a file, a folder with train and validation files, or docstrings: the documentation of
    the packages installed here, which is the default. The last line of stdout is the run's folder.
    """
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug)
    data, settings = split_arguments([*([data] if data else []), *(settings or [])])
    overrides = corpus_overrides(data, split="train") if data else []
    overrides += [*settings, *machine_overrides(device, threads)]
    chosen = load_config(overrides, files=config or [])
    if print_config:
        console.data(to_yaml(chosen).rstrip("\n"))
        return

    from pgsum.training import plan, run  # torch and Lightning take seconds to import

    if dry_run:
        with progress() as report:
            planned = plan.plan(chosen, out=out, overwrite=overwrite, report=report)
        for name, value in planned.items():
            console.data(f"{name}: {value}")
        return
    with progress() as report:
        result = run.train(
            chosen, out=out, overwrite=overwrite, init=init, say=console.note, report=report
        )
    console.data(str(result.run_dir))
    if result.stopped in STOPPED:
        raise typer.Exit(STOPPED[result.stopped])


def machine_overrides(device: str | None, threads: int | None) -> list[str]:
    """What `--device` and `--threads` set."""
    overrides = []
    if device is not None:
        overrides.append(f"trainer.accelerator={_DEVICES.get(device, device)}")
    if threads is not None:
        overrides.append(f"trainer.threads={threads}")
    return overrides
