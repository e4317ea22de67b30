"""Data sets of the Hugging Face hub, as the Parquet files that the hub keeps of each.

Asks the hub, and fetches into the cache of huggingface_hub. Runs no script of a data set, and knows
no columns.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pgsum.data.files import visible
from pgsum.data.hub_errors import Wanted, hub_errors
from pgsum.errors import ConfigError, DataError

REVISION = "refs/convert/parquet"
"""Where the hub keeps the Parquet files: CONFIG/SPLIT/0000.parquet and so on."""
_NAME = re.compile(r"(?P<repository>\w[\w.-]*(?:/\w[\w.-]*)?)(?::(?P<config>[^@:/\\]+))?")
_TIMEOUT_SECONDS = 10
_LISTED = 20


@dataclass(frozen=True)
class HubSplit:
    """A split of a data set, at one commit; `name` is OWNER/NAME:CONFIG@SPLIT."""

    name: str
    repository: str
    commit: str
    files: tuple[str, ...]

    def fetch(self) -> list[Path]:
        """Its Parquet files, in order, as they lie on this machine then.

        Raises DataError where they are not here and cannot be had.
        """
        return [fetch_file(self.repository, self.commit, file) for file in self.files]


def find_hub_splits(hub: str) -> dict[str, HubSplit]:
    """The splits of NAME:CONFIG by their names; the config may be left out where there is one.

    Raises ConfigError where `hub` is no such name, DataError where the hub has nothing that is
    called so, or cannot be asked.
    """
    match = _NAME.fullmatch(hub)
    if match is None:
        raise ConfigError(
            f"{visible(hub)!r} is no name of a data set.",
            where="data.hub",
            hint="write OWNER/NAME or OWNER/NAME:CONFIG, and a split as data.train=SPLIT",
        )
    repository = match["repository"]
    commit, files = list_files(repository)
    parts: dict[str, dict[str, list[str]]] = {}
    for file in sorted(files):
        path = PurePosixPath(file)
        if path.suffix == ".parquet" and len(path.parts) == 3:
            config, split, _ = path.parts
            parts.setdefault(config, {}).setdefault(split, []).append(file)
    config = _config(match["config"], sorted(parts), repository)
    return {
        split: HubSplit(f"{repository}:{config}@{split}", repository, commit, tuple(of_split))
        for split, of_split in parts[config].items()
    }


def _config(named: str | None, configs: Sequence[str], repository: str) -> str:
    if not configs:
        raise _without_parquet(repository)
    wanted = named or (configs[0] if len(configs) == 1 else "default")
    if wanted in configs:
        return wanted
    listed = ", ".join(map(visible, configs[:_LISTED])) + (", ..." * (len(configs) > _LISTED))
    raise DataError(
        f"The data set has several configs: {listed}."
        if named is None
        else f"The data set has no config {visible(named)!r}; it has: {listed}.",
        where=repository,
        hint=f"name one: {repository}:{configs[0]}",
    )


@functools.cache  # one answer for all that one process asks, so that its splits are of one commit
def list_files(repository: str) -> tuple[str, tuple[str, ...]]:
    """The commit that `REVISION` is now, and the paths of all files in it."""
    from huggingface_hub import HfApi

    with hub_errors(_wanted(repository)):
        info = HfApi().dataset_info(repository, revision=REVISION, timeout=_TIMEOUT_SECONDS)
    if info.sha is None:
        raise _without_parquet(repository)
    return info.sha, tuple(file.rfilename for file in info.siblings or ())


def fetch_file(repository: str, commit: str, file: str) -> Path:
    """One file of a commit; what was fetched before is not asked for again."""
    from huggingface_hub import hf_hub_download

    with hub_errors(_wanted(repository)):
        return Path(hf_hub_download(repository, file, repo_type="dataset", revision=commit))


def _wanted(repository: str) -> Wanted:
    return Wanted("data set", repository, DataError, _without_parquet(repository))


def _without_parquet(repository: str) -> DataError:
    return DataError(
        "The hub keeps no Parquet files of this data set, and nothing else of it is read.",
        where=repository,
        hint="download it, write it as JSON Lines, and give that file",
    )
