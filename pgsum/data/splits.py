"""Where each split of a corpus is: a file, a folder, or a split of a data set on the hub.

Knows names of files, folders and splits. Opens nothing.
"""

from collections.abc import Iterable
from os.path import expanduser
from pathlib import Path

from pgsum.config import DataConfig
from pgsum.data.files import OptionNames, list_folder, visible
from pgsum.data.hub import HubSplit, find_hub_splits
from pgsum.data.row_files import ROW_SUFFIXES, format_of
from pgsum.data.text_files import is_document_file
from pgsum.errors import ConfigError, DataError

SPLITS = ("train", "validation", "test")
_NAMES = {
    "train": ("train",),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}

Place = Path | HubSplit


def find_splits(config: DataConfig, options: OptionNames) -> dict[str, Place]:
    """Each split that is named, or that `data.root` or `data.hub` holds under a known name.

    Raises DataError where one could be two things, or a name is none; what the hub may raise, too.
    """
    return dict(_on_hub(config, options) if config.name == "hub" else _in_files(config, options))


def _in_files(config: DataConfig, options: OptionNames) -> Iterable[tuple[str, Place]]:
    root = None if config.root is None else Path(expanduser(config.root))
    in_root = [] if root is None else list_folder(root)
    for split in SPLITS:
        named: str | None = getattr(config, split)
        if named is not None:
            yield split, (root or Path()) / Path(expanduser(named))
        elif found := [path for path in in_root if _holds(path, split)]:
            _refuse_several([path.name for path in found], split, str(root), options)
            yield split, found[0]


def _holds(path: Path, split: str) -> bool:
    """Whether a file or folder is that of a split, by its name."""
    name = path.name.lower()
    if path.is_dir():
        return name in _NAMES[split]
    return name.partition(".")[0] in _NAMES[split] and (
        is_document_file(path) or format_of(path) in ROW_SUFFIXES
    )


def _on_hub(config: DataConfig, options: OptionNames) -> Iterable[tuple[str, Place]]:
    hub = config.hub
    if hub is None:
        raise ConfigError(
            "No data set of the hub is named.",
            where="data.hub",
            hint=f"add {options.others}hub=OWNER/NAME",
        )
    on_hub = find_hub_splits(hub)
    taken = {getattr(config, split) for split in SPLITS}
    for split in SPLITS:
        named: str | None = getattr(config, split)
        if named is not None:
            if named not in on_hub:
                raise DataError(
                    f"The data set has no split {visible(named)!r}; it has: {', '.join(on_hub)}.",
                    where=hub,
                    hint=f"name one: {options.others}{split}={next(iter(on_hub))}",
                )
            yield split, on_hub[named]
        elif found := [name for name in _NAMES[split] if name in on_hub and name not in taken]:
            _refuse_several(found, split, hub, options)
            yield split, on_hub[found[0]]


def _refuse_several(found: list[str], split: str, where: str, options: OptionNames) -> None:
    if len(found) > 1:
        raise DataError(
            f"The {split} pairs could be in {found[0]} or in {found[1]}.",
            where=where,
            hint=f"name one: {options.others}{split}={found[0]}",
        )


def not_named(split: str, config: DataConfig, options: OptionNames) -> ConfigError:
    """The error of a split that is wanted and that nothing names."""
    named = f"{options.others}{split}=FILE"
    if config.hub is not None:
        return ConfigError(
            f"The data set has no split that is called {split}; it has: "
            f"{', '.join(find_hub_splits(config.hub))}.",
            where=f"data.hub={config.hub}",
            hint=f"name one: {options.others}{split}=SPLIT",
        )
    if config.root is None:
        return ConfigError(
            f"No file of {split} pairs is named.",
            where=f"data.{split}",
            hint=f"add {named}, or {options.others}root=FOLDER with a {split}.jsonl or {split}.csv",
        )
    return ConfigError(
        f"The folder holds no file of {split} pairs.",
        where=f"data.root={config.root}",
        hint=f"call it {split}.jsonl, {split}.csv or {split}.parquet, or add {named}",
    )
