"""What may go wrong between here and the Hugging Face hub, in sentences.

Knows the errors of huggingface_hub. Asks the hub nothing, and never repeats what was sent to it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EACCES, EDQUOT, ENOSPC, EPERM, EROFS

from pgsum.data.files import visible
from pgsum.errors import PgsumError

_NO_ROOM = (EACCES, EDQUOT, ENOSPC, EPERM, EROFS)


@dataclass(frozen=True)
class Wanted:
    """Something of the hub: what it is, what it is called, and what is said where it fails."""

    kind: str
    """Such as `data set`."""
    name: str
    error: type[PgsumError]
    without_revision: PgsumError
    """Where the repository is there, but not this revision of it."""
    without_hub: str = "offline: give a local path"
    """The hint where the hub cannot be asked."""


@contextmanager
def hub_errors(wanted: Wanted) -> Iterator[None]:
    """Whatever huggingface_hub raises becomes `wanted.error`."""
    try:
        yield
    except Exception as error:  # of whichever HTTP library is below, of TLS, of the disk
        raise in_words(error, wanted) from error


def is_answer(error: Exception) -> bool:
    """Whether the hub itself said no: then asking later, or looking elsewhere, is no way out."""
    from huggingface_hub import errors

    return isinstance(error, errors.HfHubHTTPError) and error.response.status_code < 500


def in_words(error: Exception, wanted: Wanted) -> PgsumError:
    """What `error`, of huggingface_hub or of what is below it, means for who wanted that."""
    from huggingface_hub import errors

    kind = wanted.kind
    if isinstance(error, errors.GatedRepoError):
        message = f"The hub gives this {kind} only to those who have accepted its terms."
        hint = f"accept them on the page of the {kind}, then log in: hf auth login"
    elif isinstance(error, errors.RepositoryNotFoundError):
        message = f"The hub has no such {kind}, or it is private."
        hint = "look the name up there (of what is private: hf auth login), or give a local path"
    elif isinstance(error, errors.RevisionNotFoundError):
        return wanted.without_revision
    elif isinstance(error, errors.OfflineModeIsEnabled):
        message, hint = "HF_HUB_OFFLINE is set, and the hub is not asked.", wanted.without_hub
    elif isinstance(error, errors.HfHubHTTPError) and error.response.status_code in (401, 403):
        message = f"The hub refuses this {kind} (HTTP {error.response.status_code})."
        hint = "log in as someone who may read it: hf auth login"
    elif isinstance(error, errors.HfHubHTTPError):
        message = f"The hub could not give this {kind} (HTTP {error.response.status_code})."
        hint = "try again later, or give a local path"
    elif isinstance(error, OSError) and error.errno in _NO_ROOM:
        message = f"What comes from the hub cannot be kept here: {error.strerror}."
        hint = "make room, or name another folder for it: HF_HOME=DIR"
    else:
        reason = visible(str(error).strip().partition("\n")[0], limit=120).rstrip(".")
        message = f"The hub cannot be reached ({type(error).__name__}: {reason})."
        hint = wanted.without_hub
    return wanted.error(message, where=wanted.name, hint=hint)
