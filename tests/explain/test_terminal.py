"""What a terminal shows, to the letter: a picture is looked at once and then only compared."""

import io
import re

import pytest
from reference.explained import make_summary
from rich.console import Console

from pgsum.explain.content import Explained
from pgsum.explain.terminal import drawing

PLAIN = """\
ada.txt ────────────────────────────────────────────────────────────────
[Ada] reads _the_ _book_
reference: Ada reads.
rouge1 66.67, rouge2 50.00, rougeL 66.67, rougeLsum 66.67

_copied_  [copied, outside the vocabulary]  generated

word    p_gen  generated  copied  log p  looked at
[Ada]    0.12      0.061   0.546  -0.50  Ada (1) 0.90, met (2) 0.01,
                                         Bob (3) 0.01
reads    0.88      0.287   0.000  -1.25  . (6) 0.90, Ada (1) 0.01, met
                                         (2) 0.01
_the_    0.25      0.078   0.701  -0.25  the (17) 0.90, Ada (1) 0.01,
                                         met (2) 0.01
_book_   0.06      0.088   0.794  -0.12  book (18) 0.90, Ada (1) 0.01,
                                         met (2) 0.01

what was read
  [Ada] met Bob in Oslo.
  Bob gave Ada the book 👩‍👧, and Ada read _the_ _book_.
attention by tenths of it  |▄ ▄     █ |

"""


def drawn(explained: Explained, *, width: int = 72, **terminal: object) -> str:
    text = io.StringIO()
    Console(file=text, width=width, highlight=False, **terminal).print(drawing(explained))
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n"))


def test_without_colours_all_marks_are_there():
    explained = Explained.scored("ada.txt", make_summary(), ["Ada reads."])
    assert drawn(explained) == PLAIN


def test_colours_change_no_letter():
    explained = Explained.scored("ada.txt", make_summary(), ["Ada reads."])
    coloured = drawn(explained, force_terminal=True, color_system="standard", _environ={})
    assert "\x1b[" in coloured
    bare = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert "\n".join(line.rstrip() for line in bare.split("\n")) == PLAIN


def test_a_narrow_terminal_is_not_overrun():
    lines = drawn(Explained("ada.txt", make_summary()), width=50).split("\n")
    assert max(map(len, lines)) <= 50


@pytest.mark.parametrize(("width", "lines_a_word"), [(30, 5), (40, 4), (69, 3)])
def test_on_a_narrow_terminal_words_stay_whole_and_lines_few(width, lines_a_word):
    document = "Representatives in Copenhagen discussed agricultural regulations yesterday."
    words = tuple(
        (word, position, False, 0.25, -0.5) for position, word in enumerate(document[:-1].split())
    )
    text = drawn(Explained("long.txt", make_summary(document, words=words)), width=width)
    heading, *table = text[text.index("p_gen ") : text.index("what was read")].split("\n")
    assert heading == "p_gen word, looked at"
    marked = [line.split() for line in table if line.startswith(" 0.25 ")]
    assert marked == [["0.25", f"_{word}_"] for word, *_ in words]
    assert "Copenhagen (3) 0.90" in " ".join(text.split())
    assert len([line for line in table if line]) <= lines_a_word * len(words)
    assert max(map(len, text.split("\n"))) <= width


def test_a_narrow_terminal_shows_what_a_model_without_attention_has():
    text = drawn(Explained("ada.txt", make_summary(attention=False)), width=40)
    assert " 0.12 [Ada]\n 0.88 reads\n" in text
    assert "looked at" not in text


def test_where_a_document_was_cut_is_a_line():
    text = drawn(Explained("ada.txt", make_summary(max_source_tokens=6)))
    (line,) = [line for line in text.split("\n") if "cut here" in line]
    assert "cut here: 13 tokens not read" in line
    assert "Bob gave" not in text


@pytest.mark.parametrize(
    ("attention", "pointer", "said"),
    [
        (False, False, ["no attention", "no pointer"]),
        (True, False, ["no pointer"]),
        (True, True, []),
    ],
)
def test_what_a_model_does_not_have_is_said(attention, pointer, said):
    text = drawn(Explained("ada.txt", make_summary(attention=attention, pointer=pointer)))
    assert [reason for reason in ("no attention", "no pointer") if reason in text] == said
    assert ("looked at" in text) == attention


def test_text_does_not_steer_the_terminal():
    document = "A \x1b[31mred\x1b[0m [bold]word[/bold]\t\u202eback\r\nend"
    text = drawn(Explained("\x07name", make_summary(document)))
    assert not {"\x1b", "\x07", "\u202e", "\t", "\r"} & set(text)
    assert "[bold]word[/bold]" in text.replace("_", "")
