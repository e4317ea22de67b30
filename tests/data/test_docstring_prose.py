import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.data.docstring_prose import read_docstring


def body_of(body: str) -> str:
    texts = read_docstring("Do the thing.\n\n" + body)
    assert texts is not None
    assert texts[0] == "Do the thing."
    return texts[1]


# --- the first line -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("docstring", "first_line"),
    [
        ("Do the thing.\n\n    More.\n    ", "Do the thing."),
        ("\n    Do the thing\n\n    More.\n    ", "Do the thing"),
        ("Do a thing with\n    a second line.\n\n    More.", "Do a thing with a second line."),
        ("dot(a, b, out=None)\n\nDo the thing.\n\nMore.", "Do the thing."),
        ("get([key[,\n    default]]) -> value\n\nDo the thing.\n\nMore.", "Do the thing."),
        ("package.module\n~~~~~~~~~~~~~~\n\nDo the thing.\n\nMore.", "Do the thing."),
        ("Be ``True`` if :meth:`~a.B.c` is, `so <https://x.y>`_.", "Be True if a.B.c is, so."),
    ],
)
def test_first_line_is_found_and_free_of_marks(docstring, first_line):
    texts = read_docstring(docstring)
    assert texts is not None
    assert texts[0] == first_line


@pytest.mark.parametrize(
    "docstring",
    [
        "",
        "   \n  ",
        "dot(a, b)",
        "A sentence that goes on\nand on",
        "One line\ntwo lines\nthree lines.",
        ">>> 1 + 1\n2",
        ":param x: a number",
        "A line\n    and code",
    ],
)
def test_docstring_without_a_first_line_gives_nothing(docstring):
    assert read_docstring(docstring) is None


# --- what is prose --------------------------------------------------------------------------------


def test_wrapped_lines_are_joined_and_paragraphs_are_kept():
    assert body_of("One\ntwo.\n\nThree.\n") == "One two.\n\nThree."


def test_list_items_are_kept_one_by_one():
    body = "It does all of these things:\n\n- this\n  and more\n- that\n\n1. first\n2. second"
    assert body_of(body).split("\n\n") == [
        "It does all of these things:",
        "- this and more",
        "- that",
        "1. first",
        "2. second",
    ]


@pytest.mark.parametrize(
    "section",
    [
        "Parameters\n----------\nx : int\n    A number.\n\ny : int\n    Another.",
        "Returns\n-------\nfloat\n\n    Indented.\n\nAnd not.",
        "Args:\n    x: A number.\n\n    y: Another.",
        "Args:\n  x: A number.",
        "**Arguments:**\n\n    - x: A number.",
        "Example usage::\n\n    thing(3)",
        "Returns: a number",
        "Raises (sometimes): an error",
        "TODO: write more.",
        ":param x: a number\n    that goes on\n:returns: another",
        "@param x: a number",
        "x : int\n    A number.",
        "term\n    Its definition.",
        ">>> thing(3)\n4",
        ".. versionadded:: 3.1\n   Something.",
        ".. math:: x^2",
        ".. _target: https://x.y",
        "    indented = code()",
        "```python\nthing(3)\n```",
        "from a import b",
        "@decorator(1)\ndef f(): ...",
        "===== =====\na     b\n===== =====",
        "| a | b |\n|---|---|",
        "> [!TIP]\n> quoted",
    ],
)
def test_what_is_no_prose_is_left_out(section):
    assert body_of(f"Before.\n\n{section}") == "Before."


def test_prose_after_a_google_section_is_kept_and_after_a_numpydoc_one_is_not():
    assert body_of("Args:\n    x: A number.\n\nAfter.") == "After."
    assert body_of("Returns\n-------\nfloat\n    A number.\n\nAfter.") == ""


@pytest.mark.parametrize(
    "section",
    [
        "Notes\n-----\nKeep this.",
        "Note:\n    Keep this.",
        "Important:\nKeep this.",
        ".. note:: Keep\n   this.",
        ".. warning::\n   Keep this.",
    ],
)
def test_sections_of_prose_are_kept_without_their_headings(section):
    assert body_of(f"Before.\n\n{section}") == "Before.\n\nKeep this."


def test_code_inside_a_paragraph_ends_it():
    assert body_of("Use it as it stands here.\n    thing(3)\n    thing(4)") == (
        "Use it as it stands here."
    )
    assert body_of("Use it so.\n>>> thing(3)\n4") == "Use it so."


def test_sentence_that_announced_what_was_left_out_goes_with_it():
    assert body_of("Before.\n\nUse it as it stands here::\n\n    thing(3)\n\nAfter.") == (
        "Before.\n\nAfter."
    )
    assert body_of("Yes. Use it as it stands here::\n\n    thing(3)") == (
        "Yes. Use it as it stands here:"
    )


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("See :class:`Thing`.", "See Thing."),
        ("See :py:func:`~a.thing` and :ref:`text <label>`.", "See a.thing and label."),
        ("``__new__`` and `a_` and `link`_ stay.", "__new__ and a_ and link stay."),
        (
            "`A site <https://x.y>`__, [this](https://x.y) and [that][ref].",
            "A site, this and that.",
        ),
        ("Known since [1]_ and [Knuth97]_.", "Known since and."),
        ("*args and **kwargs, **bold** and *slanted*.", "*args and **kwargs, bold and slanted."),
    ],
)
def test_marks_are_removed_and_the_words_stay(marked, plain):
    assert body_of(marked) == plain


@given(st.text(alphabet=" \n\t:-=`*_.>[]()|@#xX1", max_size=200))
def test_any_text_is_read(text):
    texts = read_docstring(text)
    assert texts is None or all("`" not in part and "  " not in part for part in texts)


@pytest.mark.parametrize("unit", ["`", "(", "[a", "*a ", "a.", ":a", "` <", "f()->", "a_"])
def test_reading_takes_no_more_than_a_moment(unit):
    long = unit * 10_000
    begun = time.perf_counter()
    for docstring in (long, f"Do the thing.\n\n{long}"):
        read_docstring(docstring)
    assert time.perf_counter() - begun < 1
