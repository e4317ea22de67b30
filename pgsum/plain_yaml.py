"""YAML as settings are written in it: `key: value`, one section deep, comments, and nothing else.

Values are read as the text that stands there, so that `no` stays `no` and `1e-3` is a number for
whoever asks for one. Tags, anchors, lists and deeper nesting are refused, each with its line.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import yaml

from pgsum.errors import ConfigError

Value = str | int | float | bool | None

MAX_BYTES = 65_536
"""Some ten times a complete file of settings."""
_NULLS = ("", "~", "null", "Null", "NULL")
_FRAMES = (
    yaml.StreamStartEvent,
    yaml.StreamEndEvent,
    yaml.DocumentStartEvent,
    yaml.DocumentEndEvent,
)


class Line(NamedTuple):
    """One `key: value` of a file."""

    key: str
    """In full, such as `optim.lr`."""
    value: Value
    where: str
    """What an error about it points at, such as `FILE:line`."""


def read_plain_yaml(path: Path) -> list[Line]:
    """The settings in a file, in their order; raises ConfigError for anything else in it."""
    text = _read(path)
    try:
        return list(_Parser(text, path).document())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it holds a character that YAML forbids"
        raise ConfigError(
            f"The file of settings is not YAML: {problem}.",
            where=f"{path}:{mark.line + 1}" if mark else str(path),
        ) from error


def written(value: Any) -> str:
    """`value` as it stands in a file of settings, on one line."""
    # Between double quotes all that cannot be seen is escaped, line ends of every kind among it.
    hidden = isinstance(value, str) and not value.isprintable()
    dumped: str = yaml.safe_dump(
        value, allow_unicode=not hidden, default_style='"' if hidden else None, width=math.inf
    )
    return dumped.removesuffix("\n").removesuffix("\n...")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ConfigError(
                f"A file of settings has at most {MAX_BYTES:,} bytes; this one has more.",
                where=str(path),
            )
        return content.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(
            f"The file of settings cannot be read: {error.strerror}.", where=str(path)
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"The file of settings is not UTF-8: byte {error.start} begins no character.",
            where=str(path),
        ) from error


class _Parser:
    """Takes the events of YAML one by one: an alias is never expanded, depth costs no stack."""

    def __init__(self, text: str, path: Path) -> None:
        events = yaml.parse(text, Loader=yaml.SafeLoader)
        self._events = (event for event in events if not isinstance(event, _FRAMES))
        self._path = path
        self._seen: set[str] = set()

    def document(self) -> Iterator[Line]:
        for start in self._events:
            if not isinstance(start, yaml.MappingStartEvent) or self._seen:
                self._refuse(start, "may hold one document of `key: value` lines")
            yield from self._mapping(start, prefix="")

    def _mapping(self, start: yaml.MappingStartEvent, prefix: str) -> Iterator[Line]:
        self._check_plain(start)
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            key = prefix + self._scalar(event, "a key")
            if key in self._seen:
                self._refuse(event, f"sets {key} twice")
            self._seen.add(key)
            value = next(self._events)
            if isinstance(value, yaml.MappingStartEvent) and not prefix:
                yield from self._mapping(value, prefix=f"{key}.")
                continue
            text = self._scalar(value, key)
            is_null = value.style is None and text in _NULLS
            yield Line(key, None if is_null else text, self._where(event))

    def _scalar(self, event: yaml.Event, name: str) -> str:
        self._check_plain(event)
        if not isinstance(event, yaml.ScalarEvent):
            self._refuse(event, f"gives {name} a list or a section where one value belongs")
        return str(event.value)

    def _check_plain(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent) or event.anchor or event.tag:
            self._refuse(event, "uses an anchor, an alias or a tag; write the value itself")

    def _refuse(self, event: yaml.Event, problem: str) -> NoReturn:
        raise ConfigError(f"The file of settings {problem}.", where=self._where(event))

    def _where(self, event: yaml.Event) -> str:
        return f"{self._path}:{event.start_mark.line + 1}"
