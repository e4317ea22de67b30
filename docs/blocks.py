"""What pages are made of, in Markdown: tables, and texts beside their names."""

import textwrap
from collections.abc import Mapping, Sequence

COLUMNS = 100


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; a bar in a cell is the caller's to avoid."""
    rule = ["---"] * len(heading)
    return "\n".join(f"| {' | '.join(row)} |" for row in (heading, rule, *rows))


def beside_names(texts: Mapping[str, str]) -> str:
    """Texts of whatever content in a fenced block, each wrapped beside its name."""
    indent = 2 + max(map(len, texts))
    lines = [
        textwrap.fill(
            " ".join(text.split()),
            COLUMNS,
            initial_indent=f"{name:<{indent}}",
            subsequent_indent=" " * indent,
        )
        or name
        for name, text in texts.items()
    ]
    return "\n".join(["```text", *lines, "```"])
