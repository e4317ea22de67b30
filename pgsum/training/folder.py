"""The folder of a run: which it is to be, and that nothing is overwritten."""

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from pgsum.config import Config, to_yaml
from pgsum.errors import ConfigError

RUNS = Path("runs")
CONFIG = "config.yaml"


def run_folder(config: Config, out: Path | None, *, overwrite: bool) -> Path:
    """`out`, new or empty, or else the next free runs/NAME-NNN; nothing is made yet.

    Raises ConfigError where it holds something already, unless that is a run and `overwrite`.
    """
    if out is None:
        name = config.name or config.data.name
        taken = [re.fullmatch(rf"{re.escape(name)}-(\d+)", path.name) for path in RUNS.glob("*")]
        number = max((int(match[1]) for match in taken if match), default=0) + 1
        return RUNS / f"{name}-{number:03d}"
    try:
        _check(out, overwrite=overwrite)
    except OSError as error:
        raise _cannot_be_made(out, error) from error
    return out


def _check(out: Path, *, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise ConfigError("The output folder is a file.", where=str(out))
    if out.exists() and any(out.iterdir()):
        if not overwrite:
            raise ConfigError(
                "The output folder is not empty.",
                where=str(out),
                hint="choose another with --out, or give --overwrite to replace it",
            )
        if not (out / CONFIG).is_file():
            raise ConfigError(
                "--overwrite replaces runs only, and this is none: it has no config.yaml.",
                where=str(out),
                hint="choose another folder with --out",
            )
    # Said now rather than after the corpus was read.
    nearest = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not os.access(nearest, os.W_OK):
        raise ConfigError("The output folder cannot be written.", where=str(out))


def make_run_folder(config: Config, out: Path | None, *, overwrite: bool) -> Path:
    """Make the folder that `run_folder` names, with the settings in its config.yaml.

    That file is what makes a folder one run's own: of two runs that want the same one, as they may
    after reading their corpora, the later gets the next number, or a ConfigError where the folder
    was named.
    """
    while True:
        folder = run_folder(config, out, overwrite=overwrite)
        try:
            if overwrite and folder.exists():
                shutil.rmtree(folder)
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError), (folder / CONFIG).open("x", encoding="utf-8") as file:
                file.write(to_yaml(config))
                return folder
        except OSError as error:
            raise _cannot_be_made(folder, error) from error


def _cannot_be_made(folder: Path, error: OSError) -> ConfigError:
    reason = error.strerror or error
    return ConfigError(f"The output folder cannot be made: {reason}.", where=str(folder))
