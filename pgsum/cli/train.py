"""`pgsum train`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgsum.cli import console
from pgsum.cli.corpus import corpus_overrides, split_arguments
from pgsum.cli.options import Debug, Quiet, Threads, TrainingDevice, Verbose
from pgsum.cli.progress import progress
from pgsum.config import load_config, to_yaml
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from pgsum.training.fit import TrainResult

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
        str | None, typer.Option(metavar="MODEL", help="Start from its weights and vocabulary.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the run; else runs/NAME-NNN.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Even if DIR holds a run.")
    ] = False,
    resume: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Go on with a run that was stopped.")
    ] = None,
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

    DATA is a file, a folder with train and validation files (Parquet, too), OWNER/NAME of a data
    set on the hub, or docstrings: the documentation of the packages installed here, which is the
    default. The last line of stdout is the run's folder.
    """
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug)
    data, settings = split_arguments([*([data] if data else []), *(settings or [])])
    overrides = corpus_overrides(data, split="train") if data else []
    overrides += [*settings, *machine_overrides(device, threads)]
    if resume is not None:
        others = {
            "--init": init,
            "--out": out,
            "--overwrite": overwrite,
            "--config": config,
            "--print-config": print_config,
            "--dry-run": dry_run,
        }
        _check_alone(resume, others)
        from pgsum.training import run  # torch and Lightning take seconds to import

        with progress() as report:
            result = run.resume(resume, overrides, say=console.note, report=report)
        _end(result)
        return
    chosen = load_config(overrides, files=config or [])
    if print_config:
        console.data(to_yaml(chosen).rstrip("\n"))
        return

    from pgsum.training import plan, run

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
    _end(result)


def _end(result: "TrainResult") -> None:
    """Prints the run's folder; raises Exit where a signal cut the training short."""
    from pgsum import engine

    if engine.is_first():
        console.data(str(result.run_dir))
    if result.stopped in STOPPED:
        raise typer.Exit(STOPPED[result.stopped])


def _check_alone(resume: Path, others: Mapping[str, object]) -> None:
    """Raises ConfigError for an option that `--resume` leaves no room for."""
    for option, value in others.items():
        if value:
            raise ConfigError(
                f"--resume goes on with the run as it is, and {option} means another one.",
                where=option,
                hint=f"pgsum train --resume {resume}; settings that may change, such as "
                "trainer.max_steps, can follow",
            )


def machine_overrides(device: str | None, threads: int | None) -> list[str]:
    """What `--device` and `--threads` set."""
    overrides = []
    if device is not None:
        overrides.append(f"trainer.accelerator={_DEVICES.get(device, device)}")
    if threads is not None:
        overrides.append(f"trainer.threads={threads}")
    return overrides
