"""One docstring to its first line and the prose below it.

Knows how docstrings are laid out (PEP 257, numpydoc, Google, reStructuredText, Markdown) well
enough to leave out what is not prose: signatures, doctests, code, tables, fields, and sections that
describe parameters. Knows nothing of files, names or splits.
"""

import re
from collections.abc import Iterator
from inspect import cleandoc
from itertools import groupby, pairwise

# First lines of functions written in C: `dot(a, b, out=None)`, `get() -> value`.
_SIGNATURE = re.compile(r"[\w.*]+ ?\(.*\)(?: ?->.*)?", re.DOTALL)
_UNDERLINE = re.compile(r"([-=~^*#+`])\1{2,}")
# `Args:` or `**Example usage**:` alone on a line; what follows is no prose but for these few.
_SECTION = re.compile(r"(?:#+ |\*\*)?(\w+(?: \w+){0,2})(?:\*\*)?:{1,2}(?:\*\*)?")
_PROSE_SECTIONS = {"note", "notes", "warning", "important", "description", "overview", "details"}
_LABEL = re.compile(
    r"(?:args?|arguments?|examples?|param\w*|raises?|returns?|see also|todo|fixme|xxx|usage|"
    r"yields?)\b(?: \([^)]*\))?:",
    re.IGNORECASE,
)
_FIELD = re.compile(r":\w[^:`]{0,80}:(?:\s|$)|@\w+\b[^:]{0,60}:|\*{0,2}\w+(?:, \*{0,2}\w+)* : ")
_DIRECTIVE = re.compile(r"\.\. ?(?:[\w:-]+::|_|\[|\|)")
_PROSE_DIRECTIVE = re.compile(r"\.\. (?:note|warning|important|attention|caution|hint|tip)::\s*")
_BULLET = re.compile(r"(?:[-*+•]|\(?\d{1,2}[.)]|#\.)\s+")
_TABLE = re.compile(r"[|+].*[|+]|[-=+|: ]{4,}")
_CODE = re.compile(
    r">|\.\.\. |In \[|[$%] |```|~~~|@\w+(?:\.\w+)*(?:\(.*\))?$|(?:from \S+ )?import \S+$|\S+ = "
)

_ROLE = re.compile(r":(?:[a-z]+:)?[a-z]+:`(?:[^`<]*<)?[~!.]*([^`<>]*)>?`", re.IGNORECASE)
_LINK = re.compile(r"`([^`<]{0,200}?)\s{0,9}<[^`>]{0,300}>`_{0,2}")
_MARKDOWN_LINK = re.compile(r"\[([^\[\]]+)\](?:\[[^\]]*\]|\((?:https?:|#|\.|/)[^)\s]*\))")
_BACKTICK = re.compile(r"`(?:_{1,2}(?!\w))?")
_CITATION = re.compile(r"\s*\[(?:\d+|\w+\d{2,4}\w?)\]_?")
_STRONG = re.compile(r"(?<![\w*])(\*{1,2})(?=[\w`])([^*]*[\w`.,:;!?)])\1(?![\w*])")


def read_docstring(docstring: str) -> tuple[str, str] | None:
    """The first line and the prose below it, its paragraphs parted by empty lines.

    None where there is no such thing as a first line: it is code or a heading, or it goes on below
    without coming to its end.
    """
    blocks = list(_blocks(cleandoc(docstring).expandtabs()))
    if blocks and (_is_heading(blocks[0]) or _SIGNATURE.fullmatch("\n".join(blocks[0]))):
        del blocks[0]
    if not blocks or not _is_first_line(blocks[0]):
        return None
    paragraphs = list(_prose(blocks[1:]))
    return _plain(" ".join(blocks[0])), "\n\n".join(_without_announcements(paragraphs))


def _blocks(text: str) -> Iterator[list[str]]:
    """Runs of lines between empty lines."""
    lines = (line.rstrip() for line in text.split("\n"))
    for filled, block in groupby(lines, bool):
        if filled:
            yield list(block)


def _is_heading(block: list[str]) -> bool:
    return len(block) > 1 and _UNDERLINE.fullmatch(block[1].strip()) is not None


def _is_first_line(block: list[str]) -> bool:
    # PEP 257 asks for one line; a second is common, and its full stop shows that it is the last.
    if any(_indent(line) or _CODE.match(line) or _FIELD.match(line) for line in block):
        return False
    return len(block) == 1 or (len(block) == 2 and block[1].endswith("."))


def _prose(blocks: list[list[str]]) -> Iterator[str]:
    """The paragraphs that are prose, each on one line."""
    skipping = False  # inside a section that is no prose
    until_heading = False  # which ends at a heading, and not at the first line at the margin
    for block in blocks:
        lines = block
        if _is_heading(lines):
            skipping = until_heading = lines[0].strip().lower() not in _PROSE_SECTIONS
            lines = lines[2:]
        elif section := _SECTION.fullmatch(lines[0].strip()):
            skipping = section[1].lower() not in _PROSE_SECTIONS
            until_heading = until_heading and skipping
            lines = [line.strip() for line in lines[1:]]
        elif not until_heading and not _indent(lines[0]):
            skipping = False
        if lines and not skipping:
            yield from _paragraphs(lines)


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """The prose of one block: list items one by one, up to a line that is something else."""
    if directive := _PROSE_DIRECTIVE.match(lines[0]):
        lines = [lines[0][directive.end() :], *(line.strip() for line in lines[1:])]
    if any(_TABLE.fullmatch(line.strip()) for line in lines):
        return
    margin = _indent(lines[0])
    paragraph: list[str] = []
    for line in lines:
        text = line.strip()
        in_list = bool(paragraph) and _BULLET.match(paragraph[0]) is not None
        begins_item = _BULLET.match(text) is not None
        if _indent(line) > (0 if not paragraph else margin) and not in_list and not begins_item:
            if len(paragraph) == 1 and paragraph[0][-1] not in ".:;!?":
                paragraph = []  # a term, and this is its definition
            break
        if any(other.match(text) for other in (_FIELD, _LABEL, _DIRECTIVE, _CODE)):
            break
        if _SECTION.fullmatch(text):
            break
        if begins_item and paragraph:
            yield _plain(" ".join(paragraph))
            paragraph = []
        if text:
            paragraph.append(text)
    if paragraph:
        yield _plain(" ".join(paragraph))


def _without_announcements(paragraphs: list[str]) -> Iterator[str]:
    """All but the sentences that announced what was left out."""
    for paragraph, following in pairwise([*paragraphs, ""]):
        announces = paragraph.endswith(":") and ". " not in paragraph
        if not announces or _BULLET.match(following):
            yield paragraph


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _plain(text: str) -> str:
    """Text without the marks of reStructuredText and Markdown."""
    text = _ROLE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _MARKDOWN_LINK.sub(r"\1", text)
    text = _CITATION.sub("", text)
    text = _BACKTICK.sub("", text).replace("\\", "")
    text = _STRONG.sub(r"\2", text)
    text = " ".join(text.split())
    return text[:-1] if text.endswith("::") else text  # as reStructuredText shows it
