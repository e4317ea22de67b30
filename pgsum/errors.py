"""Errors meant for a person: what went wrong, where, and what to do.

Every error that a user can cause is a `PgsumError`; the command line prints it as three short lines
and leaves with its exit code. Anything else that surfaces is a bug of ours.
"""


class PgsumError(Exception):
    """What happened, where, and what to do about it.

    `message` is a sentence; `where` names a file and line, or a setting's key; `hint` goes on from
    a colon: no capital, no full stop. `exit_code` is what a command leaves with.
    """

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        parts = [self.message.removesuffix(".")]
        if self.where:
            parts.append(f"at {self.where}")
        if self.hint:
            parts.append(self.hint)
        return "; ".join(parts)


class ConfigError(PgsumError):
    """A setting, an option or an output path that cannot be used."""

    exit_code = 2


class DataError(PgsumError):
    """An input that is missing, unreadable or not what it should be."""

    exit_code = 3


class ModelError(PgsumError):
    """A bundle or checkpoint that is missing, damaged or does not fit; a training that diverged."""

    exit_code = 4
