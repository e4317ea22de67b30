"""A model by its path, or by its name on the Hugging Face hub: OWNER/NAME or OWNER/NAME@REVISION.

Tells a name from a path, and fetches the files of a bundle, no others, into the cache of
huggingface_hub. What is in them is checked where any bundle is: `pgsum.bundle`.
"""

import os.path
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgsum.bundle_files import FILES, MANIFEST
from pgsum.data.hub_errors import Wanted, hub_errors, in_words, is_answer
from pgsum.errors import ModelError

# A bundle is read with torch, which takes seconds to import: what the hub says is said before that.
if TYPE_CHECKING:
    from pgsum.bundle import Bundle

_NAME = re.compile(
    r"""
    (?=[^@]{3,96}(?:@|$)) (?![^@]*(?:--|\.\.)) (?![^@]*\.git(?:@|$))  # as the hub has it
    (?P<owner>\w(?:[\w.-]*\w)?) / \w(?:[\w.-]*\w)?
    (?:@(?P<revision>(?!.*\.\.)\w[\w./+-]*))?  # never out of the folder that keeps revisions
    """,
    re.ASCII | re.VERBOSE,
)
_COMMIT = re.compile("[0-9a-f]{40}")
_RUNS = "runs"
"""Where trainings leave their models: never the owner of one on the hub, unless with a revision."""
_ALL = (MANIFEST, *FILES)
_FOLDERS = ("", "model/")
"""Where a bundle may be in a repository: the bundle was put there, or the folder of its run."""
_TIMEOUT_SECONDS = 10

Say = Callable[[str], None]


@dataclass(frozen=True)
class Model:
    """A model that is here."""

    folder: Path
    repository: str | None = None
    """OWNER/NAME, where it was pulled from there."""
    commit: str | None = None
    """Of the repository."""

    @property
    def name(self) -> str:
        """What finds this very model again: its folder, or OWNER/NAME@COMMIT."""
        return f"{self.repository}@{self.commit}" if self.repository else str(self.folder)

    def load(self) -> "Bundle":
        """Raises ModelError where it is damaged."""
        from pgsum.bundle import HINT, load_bundle

        try:
            return load_bundle(self.folder)
        except ModelError as error:
            if self.repository and error.hint == HINT:
                error.hint = (
                    f"remove {self._kept_in} to pull it anew; if that is no help, {self.name} is "
                    "damaged on the hub: name another revision"
                )
            raise

    @property
    def _kept_in(self) -> Path:
        return next(path for path in self.folder.parents if path.name == "snapshots").parent


def find(asked: str | Path | None, *, say: Say = lambda line: None) -> Model:
    """The model that is meant: as `pgsum.bundle.find_model` does, or pulled from the hub.

    Only a string can be a name: see `is_name`. `say` is told what is pulled, how large it is, and
    where the hub could not be asked. Raises ModelError where there is no such model.
    """
    if isinstance(asked, str) and is_name(asked):
        return _pull(asked, say)
    from pgsum.bundle import find_model

    return Model(find_model(asked))


def is_name(asked: str) -> bool:
    """Whether this is to be looked up on the hub.

    What exists here is a path. So is what has not the form of a name, and what looks like a path
    that was mistyped: below a folder that exists, or below runs/. With a revision it is no path.
    """
    found = _NAME.fullmatch(asked)
    if found is None or os.path.lexists(asked):
        return False
    return bool(found["revision"]) or not (
        found["owner"] == _RUNS or os.path.lexists(found["owner"])
    )


def _pull(name: str, say: Say) -> Model:
    from huggingface_hub import HfApi, hf_hub_download

    repository, _, asked = name.partition("@")
    revision = asked or "main"
    pinned = _COMMIT.fullmatch(revision) is not None
    if pinned and (kept := _kept(repository, revision)):
        return kept  # a commit never changes, and nobody need be asked
    wanted = Wanted(
        "model",
        name,
        ModelError,
        without_revision=ModelError(
            f"{repository} has no revision {revision!r}.",
            where=name,
            hint="a revision is a branch, a tag or a whole commit of it; without one it is main",
        ),
        without_hub="pull it once where there is a network; offline only what was pulled is found, "
        "or a local path",
    )
    try:
        info = HfApi().model_info(
            repository, revision=revision, files_metadata=True, timeout=_TIMEOUT_SECONDS
        )
    except Exception as error:
        problem = in_words(error, wanted)
        if is_answer(error) or (kept := _kept(repository, revision)) is None:
            raise problem from error
        say(f"{problem.message.removesuffix('.')}: {name} is as it was when last pulled")
        return kept
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    folder = _folder_of_bundle(sizes, wanted)
    commit = str(info.sha)
    files = [folder + file for file in _ALL]
    if _kept(repository, commit) is None:
        size = sum(sizes[file] for file in files)
        say(f"pulling {repository}@{commit} from the hub: {size / 1e6:,.1f} MB")
    with hub_errors(wanted):
        manifest, *_ = [hf_hub_download(repository, file, revision=commit) for file in files]
        if not pinned:  # so that the cache knows, offline, which commit this revision was
            hf_hub_download(repository, files[0], revision=revision)
    return Model(Path(manifest).parent, repository, commit)


def _folder_of_bundle(files: Collection[str], wanted: Wanted) -> str:
    """Where in a repository the bundle is. Raises ModelError where there is none, or a part."""
    folder = next((folder for folder in _FOLDERS if folder + MANIFEST in files), None)
    if folder is None:
        raise ModelError(
            f"The repository holds no model of pgsum's: it has no {MANIFEST}.",
            where=wanted.name,
            hint="look at its page on the hub; docs/share.md says what a model is there",
        )
    if missing := [file for file in _ALL if folder + file not in files]:
        raise ModelError(
            f"The model in the repository is incomplete: it has no {folder}{missing[0]}.",
            where=wanted.name,
            hint="name another revision, or have the whole folder uploaded",
        )
    return folder


def _kept(repository: str, revision: str) -> Model | None:
    """The bundle as it is in the cache, if all of it is."""
    from huggingface_hub import try_to_load_from_cache

    for folder in _FOLDERS:
        found = [
            try_to_load_from_cache(repository, folder + file, revision=revision) for file in _ALL
        ]
        if all(isinstance(path, str) for path in found):
            in_cache = Path(str(found[0])).parent
            snapshot = in_cache.parent if folder else in_cache
            return Model(in_cache, repository, snapshot.name)
    return None
