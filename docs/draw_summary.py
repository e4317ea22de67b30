"""Draw the README's picture: a document and its summary, each copied word in colour on both sides.

    python docs/draw_summary.py RUN docs/example.txt > docs/summary.svg

RUN is a run folder or a bundle; the summary is what its model writes.
"""

import sys
from collections.abc import Collection, Iterator, Sequence
from html import escape
from pathlib import Path

from pgsum import Summarizer

COLUMNS = 96
CHAR, LINE, MARGIN = 7.6, 21, 16
COLOURS = {"document": "#8a8f98", "generated": "#1f2328", "copied": "#0b67c2"}


def styled_words(
    text: str, tokens: Sequence[str], copied: Collection[int], otherwise: str
) -> Iterator[tuple[str, str]]:
    """Each token with its style, and what lies before it: a blank, the end of a paragraph."""
    end = 0
    for number, token in enumerate(tokens):
        start = text.index(token, end)
        gap = text[end:start]
        yield "\n" if "\n\n" in gap else " " * bool(gap), otherwise
        yield token, "copied" if number in copied else otherwise
        end = start + len(token)


def lines_of(pieces: Iterator[tuple[str, str]]) -> Iterator[list[tuple[int, str, str]]]:
    """Lines of (column, text, style), broken after a paragraph and before what would not fit."""
    line: list[tuple[int, str, str]] = []
    column = 0
    for text, style in pieces:
        if text == "\n" or column + len(text) > COLUMNS:
            yield line
            line, column = [], 0
        if text.strip():
            line.append((column, text, style))
        column += len(text) if line else 0
    yield line


def svg(lines: Sequence[Sequence[tuple[int, str, str]]]) -> str:
    """The lines as a picture in one monospaced font."""
    width, height = 2 * MARGIN + COLUMNS * CHAR, 2 * MARGIN + len(lines) * LINE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12.6" role="img">',
        "<title>A document in grey and its summary in black, copied words in blue</title>",
        '<rect width="100%" height="100%" rx="6" fill="#ffffff"/>',
    ]
    for row, line in enumerate(lines):
        y = MARGIN + row * LINE + 14
        for column, text, style in line:
            x, length = MARGIN + column * CHAR, len(text) * CHAR
            weight = ' font-weight="bold"' if style == "copied" else ""
            parts.append(
                f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}" fill="{COLOURS[style]}"'
                f"{weight}>{escape(text)}</text>"
            )
    return "\n".join([*parts, "</svg>"])


def main() -> None:
    """Summarize and print the picture."""
    run, file = sys.argv[1:]
    document = Path(file).read_text(encoding="utf-8")
    summary = Summarizer.load(run)(document)
    copied_from = {position for position in summary.source_positions if position is not None}
    copied = {number for number, is_copied in enumerate(summary.copied) if is_copied}
    above = styled_words(document, summary.source_tokens, copied_from, "document")
    below = styled_words(summary.text, summary.tokens, copied, "generated")
    print(svg([*lines_of(above), [], *lines_of(below)]))


if __name__ == "__main__":
    main()
