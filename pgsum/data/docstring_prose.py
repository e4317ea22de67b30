"""One docstring to its first line and the prose below it.

Knows how docstrings are laid out (PEP 257, numpydoc, Google, reStructuredText) well enough to
leave out what is not prose: signatures, doctests, code, tables, field lists, sections that
describe parameters. Knows nothing of files, names or splits.
"""

import re
from collections.abc import Iterator
from inspect import cleandoc
from itertools import groupby

_SIGNATURE = re.compile(r"[\w.*]+\s*\(.*\)\s*(->\s*.*)?")
# Sections that are prose go on as text; every other section is a table of some kind.
_PROSE_SECTIONS = {"note", "notes", "description", "summary", "overview", "details", "background"}
_UNDERLINE = re.compile(r"([-=~^*#+`])\1{2,}\s*")
_SECTION = re.compile(
    r"(?:#+ *|\*\*)?(args?|arguments?|attributes?|class attributes|caveats?|complexity|constants?|"
    r"constructors?|contents?|examples?|exceptions?|features|fields?|functions?|inputs?|license|"
    r"input shape|keyword arg(?:ument)?s?|keyword parameters|kwargs|methods?|notes?|options?|"
    r"other parameters|outputs?|output shape|parameters?|params?|properties|public methods|raises?|"
    r"receives?|references?|required args|returns?|return values?|see also|see|shapes?|"
    r"side effects?|supported .*|todo|type parameters|usages?|usage examples?|sample usage|"
    r"variables|warns?|yields?)(?:\*\*)?\s*:{1,2}(?:\*\*)?",
    re.IGNORECASE,
)
_FIELD = re.compile(r":\w[^:`]{0,80}:(\s|$)|@\w+\b[^:]{0,60}:")
_DIRECTIVE = re.compile(r"\.\. ?(?:[\w:-]+::|_|\[|\|)")
_PROSE_DIRECTIVE = re.compile(r"\.\. (?:note|warning|important|attention|caution|hint|tip)::\s*")
_BULLET = re.compile(r"(?:[-*+•]|\(?\d{1,2}[.)]|#\.)\s+")
_TABLE = re.compile(r"[|+].*[|+]|[-=+|: ]{4,}")
_CODE = re.compile(
    r">>>|\.\.\. |In \[|[$%] |```|~~~|@\w+(\.\w+)*(\(.*\))?$|(from \S+ )?import \S+$|\S+ = "
)

_ROLE = re.compile(r":(?:[a-z]+:)?[a-z]+:`(?:[^`<]*<)?[~!.]*([^`<>]*)>?`", re.IGNORECASE)
_LINK = re.compile(r"`([^`<]*?)\s*<[^`>]*>`_{0,2}")
_MARKDOWN_LINK = re.compile(r"\[([^\]]+)\]\((?:https?:|#|\.|/)[^)\s]*\)")
_CITATION = re.compile(r"\s*\[(?:\d+|\w+\d{2,4}\w?)\]_?")
_STRONG = re.compile(r"(?<![\w*])(\*{1,2})(?=[\w`])([^*]*[\w`.,:;!?)])\1(?![\w*])")


def read_docstring(docstring: str) -> tuple[str, str] | None:
    """The first line and the prose below it, its paragraphs parted by empty lines.

    None where there is no such thing as a first line: it is a signature, a heading, or it goes on
    below without coming to its end.
    """
    blocks = list(_blocks(cleandoc(docstring).expandtabs()))
    if blocks and _SIGNATURE.fullmatch(" ".join(blocks[0])):
        del blocks[0]
    if not blocks or not _is_first_line(blocks[0]):
        return None
    first_line = _plain(" ".join(blocks[0]))
    return first_line, "\n\n".join(_prose(blocks[1:]))


def _blocks(text: str) -> Iterator[list[str]]:
    """Runs of lines between empty lines."""
    lines = (line.rstrip() for line in text.split("\n"))
    for filled, block in groupby(lines, bool):
        if filled:
            yield list(block)


def _is_first_line(block: list[str]) -> bool:
    # PEP 257 asks for one line; a second one is common, and its end shows that it is the last.
    if any(_UNDERLINE.fullmatch(line) or _CODE.match(line) or line[0] == " " for line in block):
        return False
    return len(block) == 1 or (len(block) == 2 and block[1].endswith("."))


def _prose(blocks: list[list[str]]) -> Iterator[str]:
    """The paragraphs that are prose, each on one line."""
    skipping = (
        False  # inside a section that is not prose, until a line at the margin says otherwise
    )
    numpydoc = False  # such a section is ended by the next heading only
    for block in blocks:
        lines = block
        heading = len(lines) > 1 and _UNDERLINE.fullmatch(lines[1].strip()) is not None
        if heading:
            numpydoc = skipping = lines[0].strip().lower() not in _PROSE_SECTIONS
            lines = lines[2:]
        elif _SECTION.fullmatch(lines[0].strip()):
            skipping = lines[0].strip(" :*#").lower() not in _PROSE_SECTIONS
            lines = [line.strip() for line in lines[1:]]
        elif skipping and not numpydoc and not lines[0].startswith(" "):
            skipping = False
        if skipping or not lines:
            continue
        yield from _paragraphs(lines)


def _paragraphs(lines: list[str]) -> Iterator[str]:
    if match := _PROSE_DIRECTIVE.match(lines[0]):
        lines = [lines[0][match.end() :], *(line.strip() for line in lines[1:])]
    if lines[0].startswith("    ") or any(_TABLE.fullmatch(line.strip()) for line in lines):
        return  # an indented block is code or a definition
    paragraph: list[str] = []
    for line in lines:
        text = line.strip()
        if _FIELD.match(text) or _DIRECTIVE.match(text) or _CODE.match(text):
            break  # what follows in this block belongs to it
        if _SECTION.fullmatch(text):
            break
        if _BULLET.match(text) and paragraph:
            yield _plain(" ".join(paragraph))
            paragraph = []
        paragraph.append(text)
    if paragraph and (text := _plain(" ".join(filter(None, paragraph)))):
        yield text


def _plain(text: str) -> str:
    """Text without the marks of reStructuredText and Markdown."""
    text = _ROLE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _MARKDOWN_LINK.sub(r"\1", text)
    text = _CITATION.sub("", text)
    text = text.replace("`", "").replace("\\", "")
    text = _STRONG.sub(r"\2", text)
    text = re.sub(r"(\w)_{1,2}(?=[\s.,;:)]|$)", r"\1", text)
    return re.sub(r"\s+", " ", text).removesuffix("::").strip()
