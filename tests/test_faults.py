"""docs/faults.md is what the tests hold pgsum to: each of its rows has a test that names it."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "faults.md"

WITHOUT_A_TEST: set[int] = set()
"""Rows whose tests are still to be written; to be emptied, never to be added to."""


def rows() -> list[int]:
    """The numbers of the page's rows, in its order."""
    return [int(number) for number in re.findall(r"(?m)^\| (\d+) \|", PAGE.read_text("utf-8"))]


@cache
def marks() -> Counter[int]:
    """How many marks each row has: `fault(7)`, on a test or on one of its cases."""
    found = Counter[int]()
    texts = (path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    for text in texts:
        for node in ast.walk(ast.parse(text)) if "fault(" in text else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="fault") | ast.Name(id="fault"),
                    args=[ast.Constant(value=int(number))],
                ):
                    found[number] += 1
    return found


def test_the_rows_are_numbered_in_their_order():
    assert rows() == [*range(1, 54)]


def test_every_row_has_a_test_and_every_mark_a_row():
    assert set(rows()) - marks().keys() == WITHOUT_A_TEST
    assert marks().keys() <= set(rows())


def test_a_row_is_said_to_be_without_a_test_only_as_long_as_it_is():
    assert not WITHOUT_A_TEST & marks().keys()
