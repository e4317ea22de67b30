"""A run that is to go on: what it was, what may be different now, and what may not."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgsum.config import Config, change_config, load_config, to_dict, to_yaml
from pgsum.data.files import write_whole
from pgsum.environment import versions
from pgsum.errors import ConfigError, DataError, ModelError
from pgsum.plain_yaml import written
from pgsum.text.surface import Surface
from pgsum.text.vocab import Vocab
from pgsum.training.checkpoint import newest_checkpoint, read_checkpoint
from pgsum.training.folder import CONFIG

HISTORY, VOCAB, SURFACE = "history.jsonl", "vocab.json", "surface.json"
_ANEW = "train anew"

_SECTIONS = ("data", "decode", "model", "optim", "trainer")
_FREE = {
    "model.dropout",
    "model.coverage_weight",
    "optim.lr",
    "optim.final_lr",
    "optim.decay",
    "optim.clip_norm",
    "optim.warmup_steps",
    "optim.label_smoothing",
    "trainer.max_steps",
    "trainer.validate_every",
    "trainer.patience",
    "trainer.coverage_steps",
    "trainer.loader_workers",
    "trainer.log_every",
    "trainer.tensorboard",
    "trainer.checkpoint_every",
    "trainer.max_skipped",
    "trainer.weights",
}
"""What does not change what the saved numbers mean; and all of data and decode, of which the former
is compared by its content."""


@dataclass(frozen=True)
class Earlier:
    """A run as it was left. `checkpoint` is None where it was not even begun."""

    folder: Path
    config: Config
    """With what was asked for now."""
    changed: Mapping[str, tuple[Any, Any]]
    """Settings that are different now: what was, and what is."""
    vocab: Vocab
    surface: Surface
    init: str | None
    """The model that it started from, if any: a path, or OWNER/NAME@COMMIT of the hub."""
    checkpoint: Path | None
    step: int
    about: Mapping[str, Any]
    """What the checkpoint depends on; empty without one."""


def open_run(folder: Path, overrides: Sequence[str] = ()) -> Earlier:
    """The run in `folder`, to go on with `overrides`.

    Raises ConfigError where there is none, where it has ended, and where a setting cannot become
    another one; ModelError where its files are damaged.
    """
    if not (folder / CONFIG).is_file():
        raise ConfigError(
            f"{str(folder)!r} holds no run: it has no {CONFIG}.",
            where=str(folder),
            hint="--resume takes the folder that `pgsum train` printed",
        )
    was = load_config(files=[folder / CONFIG])
    config = change_config(was, overrides, sections=_SECTIONS)
    changed = _changes(to_dict(was), config)
    path = newest_checkpoint(folder)
    checkpoint = {} if path is None else read_checkpoint(path)
    about = checkpoint["pgsum"]["about"] if checkpoint else {}
    _changes(about.get("settings", {}), config)  # its config.yaml may have been edited, or cut
    step = int(checkpoint.get("global_step", 0))
    _check_that_it_may_go_on(folder, step, config)
    init = _begun_from(folder / HISTORY)
    vocab = Vocab.load(folder / VOCAB)
    surface = Surface.from_dict(_object(_text(folder / SURFACE), folder / SURFACE))
    return Earlier(
        folder,
        config,
        changed,
        vocab,
        surface,
        init,
        path,
        step,
        about,
    )


def _changes(was: Mapping[str, Any], now: Config) -> dict[str, tuple[Any, Any]]:
    """ConfigError where one is not free; a setting that `was` does not know has not changed."""
    changed = {}
    for section, values in to_dict(now).items():
        for name, value in values.items() if isinstance(values, dict) else ():
            before = was.get(section, {}).get(name, value)
            if value != before:
                changed[f"{section}.{name}"] = (before, value)
    for key, (before, after) in changed.items():
        turned_on = key == "model.coverage" and (before, after) == ("none", "from_start")
        if key.startswith(("data.", "decode.")) or key in _FREE or turned_on:
            continue
        raise ConfigError(
            f"{key} is {written(before)} in this run, and cannot become {written(after)}.",
            where=key,
            hint="leave it as it was, or train anew",
        )
    return changed


def _check_that_it_may_go_on(folder: Path, step: int, config: Config) -> None:
    record = folder / "run.json"
    if not record.is_file():
        return
    ended = _object(_text(record), record, hint="remove it, and go on")
    # Of a run that went on and was then killed, it still tells of the end before.
    if (ended.get("stopped"), ended.get("steps")) == ("finished", step) and (
        step >= config.trainer.max_steps
    ):
        raise ConfigError(
            f"The training is finished: {step:,} of {config.trainer.max_steps:,} steps.",
            where=str(folder),
            hint=f"add trainer.max_steps={2 * step} to train longer",
        )


def check_same(earlier: Earlier, about: Mapping[str, Any]) -> None:
    """What the run depends on must be what it was: else DataError for data, and ConfigError."""
    for name, what, error in (
        ("corpus", "The corpus", DataError),
        ("vocabulary", "The vocabulary", DataError),
        ("processes", "The number of processes", ConfigError),
    ):
        before, now = earlier.about.get(name, about[name]), about[name]
        if before != now:
            raise error(
                f"{what} is not that of the run: it was {_short(before)}, and is {_short(now)}.",
                where=str(earlier.folder),
                hint="bring back what it was trained with, or train anew",
            )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 16 else f"{text[:12]}..."


def history_line(*, step: int, **what: Any) -> str:
    """A line of history.jsonl, on how the run begins or goes on."""
    line = {"step": step, "command": sys.argv, **what, "versions": versions()}
    return json.dumps(line, ensure_ascii=False) + "\n"


def _begun_from(history: Path) -> str | None:
    """The model that its first line names, if any."""
    first = _object(_text(history).partition("\n")[0], history)
    init = first.get("init")
    if "init" not in first or not isinstance(init, str | None):
        raise _damaged(history)
    return init


def _object(text: str, path: Path, *, hint: str = _ANEW) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise _damaged(path, hint=hint)
    return content


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(path) from error
    except OSError as error:
        raise ModelError(
            f"{path.name} of the run cannot be read: {error.strerror}.",
            where=str(path),
            hint=_ANEW,
        ) from error


def _damaged(path: Path, *, hint: str = _ANEW) -> ModelError:
    return ModelError(f"{path.name} of the run is damaged.", where=str(path), hint=hint)


def go_on(earlier: Earlier) -> None:
    """Leaves word that the run goes on, and with which settings."""
    changed = {key: list(values) for key, values in earlier.changed.items()}
    with (earlier.folder / HISTORY).open("a", encoding="utf-8") as file:
        file.write(history_line(step=earlier.step, changed=changed))
    if changed:
        write_whole(earlier.folder / CONFIG, to_yaml(earlier.config))
