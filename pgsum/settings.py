"""What a setting may hold: type, limits, choices and meaning, read from a dataclass.

Knows how one value is read, checked and refused. Knows no particular setting: `config` has those.
"""

import ast
import inspect
import math
import re
import textwrap
import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from pgsum.errors import ConfigError
from pgsum.plain_yaml import Value, written

_SWITCH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NOUNS = {int: "a whole number", float: "a finite number", bool: "true or false", str: "text"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Range:
    """Limits of a number: `Range(1)` is 1 or more; `above` and `below` leave their ends out."""

    low: int | float = -math.inf
    high: int | float = math.inf
    above: int | float = -math.inf
    below: int | float = math.inf

    def __contains__(self, value: int | float) -> bool:
        """Neither nan nor an infinity is in any range."""
        inside = self.low <= value <= self.high and self.above < value < self.below
        return inside and abs(value) != math.inf

    def __str__(self) -> str:
        words = {
            "at least": self.low,
            "above": self.above,
            "at most": self.high,
            "below": self.below,
        }
        return " and ".join(f"{word} {end:,}" for word, end in words.items() if math.isfinite(end))


@dataclass(frozen=True)
class Setting:
    """One field of a section: what it may hold and what it means."""

    key: str
    """In full, such as `optim.lr`."""
    kind: type[Any]
    optional: bool
    choices: tuple[str, ...]
    """The texts allowed; any where empty."""
    range: Range
    default: Value
    meaning: str

    @property
    def name(self) -> str:
        return self.key.rpartition(".")[2]

    def read(self, value: Any, *, where: str) -> Value:
        """What `value`, a text or plain YAML or JSON, means here.

        Raises ConfigError, naming `where`, if it has the wrong type or lies outside the limits.
        """
        try:
            if isinstance(value, str) and self.kind is bool:
                value = _SWITCH[value.lower()]
            elif isinstance(value, str) or (type(value) is int and self.kind is float):
                value = self.kind(value)
        except (KeyError, ValueError, OverflowError):
            raise self._refusal(value, where) from None
        self.check(value, where=where)
        checked: Value = value
        return checked

    def check(self, value: Any, *, where: str | None = None) -> None:
        """Raises ConfigError unless `value` has the right type and lies within the limits."""
        if not self._allows(value):
            raise self._refusal(value, where)
        if isinstance(value, str) and _CONTROL.search(value):
            raise ConfigError(f"{self.key} holds a control character.", where=where or self.key)
        if isinstance(value, str) and "${" in value:
            raise ConfigError(
                f"{self.key} is {shown(value)}: settings are taken as they stand, "
                "and nothing is put in for ${...}.",
                where=where or self.key,
                hint="write the value itself",
            )

    def _allows(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if type(value) is not self.kind and (type(value), self.kind) != (int, float):
            return False
        if isinstance(value, str):
            return value in self.choices if self.choices else bool(value.strip())
        return value in self.range

    def _refusal(self, value: Any, where: str | None) -> ConfigError:
        near = get_close_matches(str(value), self.choices, n=1)
        example = self.choices[0] if self.choices and self.default is None else self.default
        return ConfigError(
            f"{self.key} is {shown(value)}: it must be {self._limits()}.",
            where=where or self.key,
            hint=f"did you mean {self.key}={near[0]}?"
            if near
            else f"for example {self.key}={written(example)}",
        )

    def _limits(self) -> str:
        if self.choices:
            limits = "one of " + ", ".join(self.choices)
        else:
            limits = f"{_NOUNS[self.kind]} {self.range}".rstrip()
        return f"{limits}, or null" if self.optional else limits


class Section:
    """A group of settings: a dataclass that checks its fields when it is made.

    A field's annotation says its limits (`Annotated[int, Range(1)]`, `Literal["a", "b"]`), the
    string under it what it means.
    """

    prefix: ClassVar[str] = ""
    """What stands before a field's name in its full key, such as `optim.`."""

    def __init_subclass__(cls, prefix: str = "") -> None:
        cls.prefix = prefix

    def __post_init__(self) -> None:
        for setting in own_settings(type(self)):  # type: ignore[arg-type]  # a class can be hashed
            setting.check(getattr(self, setting.name))
        self.check_together()

    def check_together(self) -> None:
        """Raises ConfigError where one setting excludes another."""


@cache
def own_settings(section: type[Any]) -> tuple[Setting, ...]:
    """The settings of a `Section` in their order, without those of sections inside it."""
    hints = get_type_hints(section, include_extras=True)
    meanings = field_meanings(section)  # type: ignore[arg-type]  # a class can be hashed
    return tuple(
        _setting(section.prefix + f.name, hints[f.name], f.default, meanings.get(f.name, ""))
        for f in fields(section)
        if f.default is not MISSING
    )


def _setting(key: str, hint: Any, default: Value, meaning: str) -> Setting:
    optional = get_origin(hint) in (Union, types.UnionType)
    if optional:
        hint = next(arg for arg in get_args(hint) if arg is not types.NoneType)
    limits, choices = Range(), ()
    if get_origin(hint) is Annotated:
        hint, limits = get_args(hint)
    if get_origin(hint) is Literal:
        hint, choices = str, get_args(hint)
    return Setting(key, hint, optional, choices, limits, default, meaning)


@cache
def field_meanings(section: type) -> Mapping[str, str]:
    """The string that stands under each field in the source."""
    source = ast.parse(textwrap.dedent(inspect.getsource(section)))
    body = next(node.body for node in ast.walk(source) if isinstance(node, ast.ClassDef))
    found = {}
    for field, below in pairwise(body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found


def unknown_key(key: str, known: Collection[str], *, where: str) -> ConfigError:
    """The error for a key that is no setting, with the nearest that are."""
    name = key.rpartition(".")[2]
    namesakes = [k for k in known if k.rpartition(".")[2] == name]
    near = namesakes or get_close_matches(key, known, n=1)
    near = near or [k for k in known if get_close_matches(name, [k.rpartition(".")[2]])]
    return ConfigError(
        f"{shown(key)} is not a setting.",
        where=where,
        hint=f"did you mean {' or '.join(near[:3])}?"
        if near
        else "`pgsum train --print-config` lists every setting",
    )


def shown(value: Any) -> str:
    """`value` as an error repeats it: short, and without control characters."""
    text = written(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
