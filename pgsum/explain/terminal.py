"""A summary and where its words came from, for a terminal.

Each mark is a character, so nothing is lost where there are no colours: `_copied_`,
`[copied, outside the vocabulary]`. Colours are the console's to leave out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from pgsum.explain.content import (
    NO_ATTENTION,
    Explained,
    coverage,
    has_attention,
    has_pointer,
    top_positions,
)
from pgsum.summarizer import Summary

_COPIED = "bold cyan"
_OOV = "bold magenta"
_QUIET = "dim"
_LEVELS = " ▁▂▃▄▅▆▇█"
_TENTHS = 10
_WIDE = 70
"""Columns of a terminal from which on all has room beside the words."""
# All but the line end, and what turns the writing around.
_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def drawing(explained: Explained) -> RenderableType:
    """All there is to see of one summary."""
    summary = explained.summary
    return Group(
        Rule(Text(_shown(explained.name)), align="left", characters="─"),
        _summary_line(summary),
        *_references(explained),
        Text(""),
        _key(),
        *(Text(note, style=_QUIET) for note in _notes(summary)),
        Text(""),
        _Words(summary),
        *_source(summary),
        Text(""),
    )


def _summary_line(summary: Summary) -> Text:
    line, end = Text(), 0
    for word, token in enumerate(summary.tokens):
        start = summary.text.index(token, end)
        line.append(_shown(summary.text[end:start]))
        end = start + len(token)
        line.append_text(_marked(token, copied=summary.copied[word], oov=summary.oov[word]))
    return line


def _references(explained: Explained) -> Iterator[Text]:
    for reference in explained.references:
        yield Text.assemble(("reference: ", _QUIET), _shown(reference))
    if explained.scores:
        figures = ", ".join(f"{name} {100 * f:.2f}" for name, f in explained.scores.items())
        yield Text(figures, style=_QUIET)


def _key() -> Text:
    return Text.assemble(
        ("_copied_", _COPIED), "  ", ("[copied, outside the vocabulary]", _OOV), "  generated"
    )


def _notes(summary: Summary) -> Iterator[str]:
    if not has_attention(summary):
        yield NO_ATTENTION
    if not has_pointer(summary):
        yield "The model has no pointer: each word is generated (p_gen is 1)."
    if summary.stop == "max_tokens":
        yield "The summary ends because it may not be longer."
    if summary.stop == "blocked":
        yield "The summary ends because no word was allowed to follow."


@dataclass(frozen=True)
class _Words:
    """Each word with its numbers, and where the model looked.

    A narrow terminal has room for neither all numbers nor two columns of words: p_gen comes first,
    and where the model looked stands below the word.
    """

    summary: Summary

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        summary = self.summary
        yield _narrow(summary) if options.max_width < _WIDE else _wide(summary)


def _wide(summary: Summary) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_QUIET)
    table.add_column("word", overflow="fold")
    for heading in ("p_gen", "generated", "copied", "log p"):
        table.add_column(heading, justify="right", no_wrap=True)
    if has_attention(summary):
        table.add_column("looked at", overflow="fold")
    for word in range(len(summary.tokens)):
        cells = [
            _word(summary, word),
            Text(f"{summary.p_gen[word]:.2f}"),
            Text(f"{summary.generated_part[word]:.3f}"),
            Text(f"{summary.copied_part[word]:.3f}"),
            Text(f"{summary.log_probs[word]:.2f}"),
        ]
        table.add_row(*cells, *([_looked_at(summary, word)] if has_attention(summary) else []))
    return table


def _narrow(summary: Summary) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style=_QUIET)
    table.add_column("p_gen", justify="right", no_wrap=True)
    table.add_column("word, looked at" if has_attention(summary) else "word", overflow="fold")
    for word in range(len(summary.tokens)):
        cell: RenderableType = _word(summary, word)
        if has_attention(summary):
            cell = Group(cell, Padding(_looked_at(summary, word), (0, 0, 0, 2)))
        table.add_row(Text(f"{summary.p_gen[word]:.2f}"), cell)
    return table


def _word(summary: Summary, word: int) -> Text:
    return _marked(summary.tokens[word], copied=summary.copied[word], oov=summary.oov[word])


def _looked_at(summary: Summary, word: int) -> Text:
    places = (
        f"{_shown(summary.source_tokens[position])} ({position + 1}) {weight:.2f}"
        for position, weight in top_positions(summary, word)
    )
    return Text(", ".join(places))


def _source(summary: Summary) -> Iterator[RenderableType]:
    copied = {position for position in summary.source_positions if position is not None}
    oov = {
        position
        for position, is_oov in zip(summary.source_positions, summary.oov, strict=True)
        if is_oov
    }
    text, end = Text(), 0
    for position, (start, stop) in enumerate(summary.source_spans):
        text.append(_shown(summary.document[end:start]))
        text.append_text(
            _marked(summary.document[start:stop], copied=position in copied, oov=position in oov)
        )
        end = stop
    yield Text("")
    yield Text("what was read", style=_QUIET)
    yield Padding(text, (0, 0, 0, 2))
    if summary.truncated:
        yield Rule(Text(f"cut here: {summary.unread_tokens:,} tokens not read", style=_QUIET))
    if has_attention(summary):
        yield Text(f"attention by tenths of it  |{_strip(coverage(summary))}|", style=_QUIET)


def _strip(totals: list[float]) -> str:
    """A bar for each tenth of the source, the highest for the most attention."""
    sums = [0.0] * _TENTHS
    for position, total in enumerate(totals):
        sums[_TENTHS * position // len(totals)] += total
    return "".join(_LEVELS[round((len(_LEVELS) - 1) * part / max(sums))] for part in sums)


def _marked(token: str, *, copied: bool, oov: bool) -> Text:
    text = _shown(token)
    if oov:
        return Text(f"[{text}]", style=_OOV)
    return Text(f"_{text}_", style=_COPIED) if copied else Text(text)


def _shown(text: str) -> str:
    """Text that steers no terminal: control characters are spelt out, line ends kept."""
    lines = text.replace("\r\n", "\n").replace("\t", " ")
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], lines)
