"""The prose of a text in Markdown: what a person reads there as sentences.

Headings, paragraphs and items of lists, without markup and the targets of links. Code, tables,
pictures and HTML are left out.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

_ENDINGS = {".md", ".markdown"}
_TEXT = {"text", "code_inline"}
_BREAKS = {"softbreak", "hardbreak"}


def is_markdown(path: Path) -> bool:
    """Whether the file's name says so."""
    return path.suffix.lower() in _ENDINGS


def prose(text: str) -> str:
    """Its paragraphs, with an empty line between two; where it has none, the text as it is."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return "\n\n".join(_paragraphs(tokens)) or text


def _paragraphs(tokens: Sequence["Token"]) -> Iterator[str]:
    in_table = False
    for token in tokens:
        if token.type in ("table_open", "table_close"):
            in_table = token.type == "table_open"
        elif token.type == "inline" and not in_table:
            paragraph = "".join(_pieces(token.children or [])).strip()
            if re.search(r"\w", paragraph):
                yield paragraph


def _pieces(tokens: Sequence["Token"]) -> Iterator[str]:
    for token in tokens:
        if token.type in _TEXT:
            yield token.content
        elif token.type in _BREAKS:
            yield "\n"
