"""How errors read, whoever raises them."""

import ast
import re
from pathlib import Path

import pytest

import pgsum
from pgsum.errors import ConfigError, DataError, ModelError, PgsumError

PACKAGE = Path(pgsum.__file__).parent
ERRORS = {error.__name__ for error in (PgsumError, ConfigError, DataError, ModelError)}

# Or with the name of a setting or an option, whatever its case.
BEGINS_A_SENTENCE = re.compile(r"[A-Z]|name is |\w+\.|--")


def written(text: ast.expr | None) -> list[tuple[str, str]]:
    """How each alternative of a text begins and ends; empty where that is put in when it runs."""
    match text:
        case ast.Constant(value=str(value)):
            return [(value, value)]
        case ast.JoinedStr(values=[first, *_, last]):
            ends = [part.value if isinstance(part, ast.Constant) else "" for part in (first, last)]
            return [(str(ends[0]), str(ends[1]))]
        case ast.IfExp(body=body, orelse=orelse):
            return [*written(body), *written(orelse)]
    return []


def made() -> list[tuple[str, list[tuple[str, str]], list[tuple[str, str]]]]:
    """Where errors are made, with how their messages and hints are written."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ERRORS:
                hint = next((word.value for word in node.keywords if word.arg == "hint"), None)
                place = f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}"
                found.append((place, written(node.args[0]), written(hint)))
    return found


@pytest.mark.parametrize(("place", "messages", "hints"), made())
def test_a_message_is_a_sentence_and_a_hint_goes_on_from_it(place, messages, hints):
    for begin, end in messages:
        assert not begin or BEGINS_A_SENTENCE.match(begin), place
        assert not end or end.endswith("."), place
    for begin, end in hints:
        assert not begin[:1].isupper(), place
        assert not end.endswith("."), place


def test_an_error_on_one_line_has_message_place_and_hint():
    error = DataError("It broke.", where="here:3", hint="mend it")
    assert str(error) == "It broke; at here:3; mend it"
