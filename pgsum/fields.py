"""The fields of an object that was read from a JSON file, each looked at before it is used.

Knows kinds of values and how to name a field. Knows nothing of what is in a file.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from pgsum.errors import DataError

_Kind = TypeVar("_Kind")

_KINDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number, not below 0",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
# Up to here doubles tell whole numbers apart; nothing that is counted or scored comes near it.
_LARGEST = 2.0**53
_SHOWN = 40  # characters


@dataclass(frozen=True)
class Fields:
    """An object at `where` in a file; `path` leads to it from the object of its line or file.

    Whatever is not as it was asked for raises DataError, with the field's name and `hint`.
    """

    values: Mapping[str, Any]
    where: str
    hint: str
    path: tuple[str, ...] = ()

    def of(self, name: str, kind: type[_Kind]) -> _Kind:
        """The value of `name`, which is of this kind: an int is counted, a float is finite."""
        if name not in self.values:
            self._refuse(f"The field {self._named(name)} is missing.")
        value = self.values[name]
        if not _is(value, kind):
            self.refuse(name, _KINDS[kind])
        return kind(value)  # type: ignore[call-arg]  # a float may be written without a point

    def optional(self, name: str, kind: type[_Kind]) -> _Kind | None:
        """The same, or None where the value is null."""
        return None if name in self.values and self.values[name] is None else self.of(name, kind)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, at least one."""
        texts = self.of(name, list)
        if not texts or not all(isinstance(text, str) for text in texts):
            self.refuse(name, "a list of texts")
        return tuple(texts)

    def inner(self, name: str) -> "Fields":
        """The object that a field holds."""
        return Fields(self.of(name, dict), self.where, self.hint, (*self.path, name))

    def refuse(self, name: str, wanted: str) -> NoReturn:
        """DataError: the value of `name` is not what is wanted."""
        shown = json.dumps(self.values[name], ensure_ascii=False)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        self._refuse(f"The field {self._named(name)} is {shown}; it must be {wanted}.")

    def _named(self, name: str) -> str:
        return ".".join((*self.path, name))

    def _refuse(self, message: str) -> NoReturn:
        raise DataError(message, where=self.where, hint=self.hint)


def is_number(value: object, *, low: float = -_LARGEST) -> bool:
    """Whether it is a finite number of a size that can be meant, and not below `low`."""
    # To Python true and false are numbers. NaN lies in no range.
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return low <= value <= _LARGEST


def _is(value: object, kind: type) -> bool:
    if kind is float:
        return is_number(value)
    return isinstance(value, kind) and (kind is not int or is_number(value, low=0.0))
