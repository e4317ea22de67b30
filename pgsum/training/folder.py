"""The folder of a run: which it is to be, and that nothing is overwritten."""

import os
import re
import shutil
from pathlib import Path

from pgsum.config import Config
from pgsum.errors import ConfigError

RUNS = Path("runs")


def run_folder(config: Config, out: Path | None, *, overwrite: bool) -> Path:
    """`out`, new or empty, or else the next free runs/NAME-NNN; nothing is made yet.

    Raises ConfigError where it holds something already, unless that is a run and `overwrite`.
    """
    if out is None:
        name = config.name or config.data.name
        taken = [re.fullmatch(rf"{re.escape(name)}-(\d+)", path.name) for path in RUNS.glob("*")]
        number = max((int(match[1]) for match in taken if match), default=0) + 1
        return RUNS / f"{name}-{number:03d}"
    if out.exists() and not out.is_dir():
        raise ConfigError("The output folder is a file.", where=str(out))
    if out.exists() and any(out.iterdir()):
        if not overwrite:
            raise ConfigError(
                "The output folder is not empty.",
                where=str(out),
                hint="choose another with --out, or give --overwrite to replace it",
            )
        if not (out / "config.yaml").is_file():
            raise ConfigError(
                "--overwrite replaces runs only, and this is none: it has no config.yaml.",
                where=str(out),
                hint="choose another folder with --out",
            )
    # Said now rather than after the corpus was read.
    nearest = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not os.access(nearest, os.W_OK):
        raise ConfigError("The output folder cannot be written.", where=str(out))
    return out


def make_run_folder(folder: Path) -> None:
    """Make the folder, new and empty. Raises ConfigError where that cannot be."""
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
    except OSError as error:
        raise ConfigError(
            f"The output folder cannot be made: {error.strerror}.", where=str(folder)
        ) from error
