"""Plain text: a file that is one document, and pairs told by the names of their files.

A document file and its summary file are called the same but for the ending: `train.source` and
`train.target`, `a.article.txt` and `a.summary.txt`. Where such a file is a split, line N of the one
goes with line N of the other; where a folder of them is, each file is one whole text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedIOBase
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from pgsum.data.files import list_folder, open_file, read_text, split_lines
from pgsum.data.records import Pair, Reading, Record, Tally, sound_text
from pgsum.errors import DataError

_SUMMARY_ENDINGS = {
    "source": ("target",),
    "src": ("tgt",),
    "document": ("summary",),
    "article": ("summary", "highlights"),
    "dialogue": ("summary",),
}
_NAME = re.compile(
    rf"(?P<stem>.+)\.(?P<ending>{'|'.join(_SUMMARY_ENDINGS)}|target|tgt|summary|highlights)"
    r"(?:\.txt)?(?:\.gz)?",
    re.IGNORECASE,
)


class TextPair(NamedTuple):
    """Two files that belong together, and what their names have in common."""

    stem: str
    documents: Path
    summaries: Path


def is_document_file(path: Path) -> bool:
    """Whether the name says that this file holds documents, and its summaries lie beside it."""
    return _stem_and_ending(path)[1] in _SUMMARY_ENDINGS


def text_pair(path: Path) -> TextPair:
    """A document file with its summary file; raises DataError where there is none."""
    return _with_summaries(path, _files_of(path.parent))


def text_pairs(folder: Path) -> list[TextPair]:
    """Every document file of `folder`, by name, with its summary file.

    Raises DataError where there are none, or one has no summary file beside it.
    """
    files = _files_of(folder)
    pairs = [_with_summaries(path, files) for path in files.values() if is_document_file(path)]
    if not pairs:
        raise DataError(
            "The folder holds no text files whose names end in a known way.",
            where=str(folder),
            hint="call them NAME.document.txt and NAME.summary.txt",
        )
    return pairs


def read_aligned(pair: TextPair, reading: Reading, tally: Tally) -> Iterator[Record]:
    """A pair for each line; raises DataError where one file has more lines than the other."""
    with open_file(pair.documents) as documents, open_file(pair.summaries) as summaries:
        lines = zip_longest(
            _lines(documents, pair.documents, reading), _lines(summaries, pair.summaries, reading)
        )
        for number, (document, summary) in enumerate(lines, 1):
            where = f"{pair.documents}:{number}"
            if document is None or summary is None:
                short, long = pair.documents, pair.summaries
                if document is not None:
                    short, long = long, short
                raise DataError(
                    f"{short.name} ends before line {number}, and {long.name} goes on.",
                    where=where,
                    hint="line N of the one must belong to line N of the other",
                )
            document = sound_text(document, tally, max_chars=reading.max_chars)
            summary = sound_text(summary, tally)
            yield Record(number, where, Pair(str(number), document, (summary,)))


def read_whole_files(pairs: Iterable[TextPair], reading: Reading, tally: Tally) -> Iterator[Record]:
    """A pair for each two files, called by what their names have in common."""
    for number, pair in enumerate(pairs, 1):
        document, summary = (
            read_whole_file(path, reading, tally) for path in (pair.documents, pair.summaries)
        )
        yield Record(number, str(pair.documents), Pair(pair.stem, document, (summary,)))


def read_whole_file(path: Path, reading: Reading, tally: Tally) -> str:
    """The text of a file, no more than `max_chars` of it."""
    with open_file(path) as stream:
        return whole_text(_text(stream, path, reading), reading, tally)


def whole_text(pieces: Iterable[str], reading: Reading, tally: Tally) -> str:
    """The text that comes in pieces; no more are asked for than `max_chars` takes."""
    text, chars = [], 0
    for piece in pieces:
        text.append(piece)
        chars += len(piece)
        if chars > reading.max_chars:
            break
    return sound_text("".join(text), tally, max_chars=reading.max_chars)


def _stem_and_ending(path: Path) -> tuple[str, str]:
    match = _NAME.fullmatch(path.name)
    return (match["stem"], match["ending"].lower()) if match else (path.name, "")


def _files_of(folder: Path) -> dict[tuple[str, str], Path]:
    return {_stem_and_ending(path): path for path in list_folder(folder) if path.is_file()}


def _with_summaries(path: Path, files: Mapping[tuple[str, str], Path]) -> TextPair:
    stem, ending = _stem_and_ending(path)
    endings = _SUMMARY_ENDINGS[ending]
    for summary_ending in endings:
        if summaries := files.get((stem, summary_ending)):
            return TextPair(stem, path, summaries)
    raise DataError(
        "The file holds documents by its name, and no file of their summaries is beside it.",
        where=str(path),
        hint=f"call that one {stem}.{endings[0]}{'.txt' if '.txt' in path.name.lower() else ''}",
    )


def _lines(stream: BufferedIOBase, path: Path, reading: Reading) -> Iterator[str]:
    for line in split_lines(_text(stream, path, reading), name=str(path)):
        yield line.removesuffix("\r")


def _text(stream: BufferedIOBase, path: Path, reading: Reading) -> Iterator[str]:
    return read_text(stream, name=str(path), encoding=reading.encoding, options=reading.options)
