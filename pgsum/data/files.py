"""Files, checked: which may be read, and their bytes to text with the place of what is not text.

Also writes them, whole or not at all. Knows paths, gzip and encodings, nothing of rows and columns.
"""

import codecs
import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from io import BufferedIOBase
from pathlib import Path

from pgsum.errors import ConfigError, DataError

MAX_LINE_CHARS = 256 * 1024 * 1024  # a line is held in memory, and nothing longer is a line of text
_CHUNK_BYTES = 1024 * 1024

_BYTE_ORDER_MARKS = {  # UTF-32's first: the mark of UTF-16 is the beginning of it
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_BEGINNINGS = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a zip archive or an office document",
    b"\xd0\xcf\x11\xe0": "an office document",
    b"\x1f\x8b": "compressed by gzip, and its name does not end in .gz",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"PAR1": "a Parquet file",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"\x7fELF": "a program",
}
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b"))
# Which of these makes most sense of the bytes: by the share of characters that are common in the
# languages it serves. Of equals the first is taken.
_COMMON_CHARACTERS = {
    "latin-1": "äöüßéèêàçñáíóúâîôøåæ",
    "cp1252": "äöüßéèêàçñáíóúâîôøåæ“”‘’–—…",
    "gb18030": "的一是在不了有和人这中大为上个国我以要他，。、",
    "big5": "的一是在不了有和人這中大為上個國我以要他，。、",
    "shift_jis": "のにはをたがでとしるてないれすか、。",
    "euc_jp": "のにはをたがでとしるてないれすか、。",
    "euc_kr": "이다는을의에가고를지한은하사",
    "cp1251": "оеаинтсрвлк",
    "koi8-r": "оеаинтсрвлк",
}


@dataclass(frozen=True)
class OptionNames:
    """What the settings are called where the reader sits: a hint is one of these and a value."""

    document_column: str = "data.document_column="
    summary_column: str = "data.summary_column="
    id_column: str = "data.id_column="
    encoding: str = "data.encoding="
    on_bad: str = "data.on_bad="
    others: str = "data."
    """Before the name of any other setting."""


DATA_OPTIONS = OptionNames()


def check_file(path: Path, *, pipes: bool = False) -> None:
    """Raises DataError where `path` is no file that can be read to its end.

    With `pipes` a named pipe will do as well; it can be read only once.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        near = _neighbours_like(path)
        hint = f"did you mean {near[0]}?" if near else None
        raise DataError("There is no such file.", where=str(path), hint=hint) from None
    except (OSError, ValueError) as error:  # a loop of links, a NUL in the name
        raise _unreadable(error, str(path)) from None
    if stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode)):
        return
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    raise DataError(f"This is {kind}; a file is needed.", where=str(path))


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file whole or not at all: what stood there stays until then. Raises OSError.

    Half a surrogate pair, which UTF-8 cannot hold, is escaped as JSON escapes it.
    """
    encoded = content if isinstance(content, bytes) else content.encode(errors="backslashreplace")
    unfinished = path.with_name(f".{path.name}.part")
    try:
        unfinished.write_bytes(encoded)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def list_folder(path: Path) -> list[Path]:
    """What lies in a folder, by name; raises DataError where it is none, or cannot be read."""
    try:
        return sorted(path.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        raise DataError("There is no such folder.", where=str(path)) from None
    except (OSError, ValueError) as error:
        raise _unreadable(error, str(path)) from None


@contextmanager
def open_file(path: Path) -> Iterator[BufferedIOBase]:
    """The bytes of a file or pipe, decompressed where its name ends in .gz."""
    check_file(path, pipes=True)
    try:
        raw = path.open("rb")
    except OSError as error:
        raise _unreadable(error, str(path)) from None
    with raw:
        if path.suffix.lower() != ".gz":
            yield raw
            return
        with gzip.GzipFile(fileobj=raw) as unzipped:
            yield unzipped


def content_digest(path: Path) -> str:
    """SHA-256 of the bytes as they lie on disk, whatever the file's name and dates say."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(error, str(path)) from None


def read_text(
    stream: BufferedIOBase, *, name: str, encoding: str | None, options: OptionNames
) -> Iterator[str]:
    """The text of `stream` piece by piece, without its byte order mark.

    UTF-8 where neither `encoding` nor a byte order mark says otherwise. Raises DataError, with the
    offset of the first such byte, where it is not that.
    """
    _check_encoding(encoding or "utf-8", options)
    decoder: codecs.IncrementalDecoder | None = None
    offset, line = 0, 1
    for chunk in _read_bytes(stream, name):
        if decoder is None:
            codec = encoding or _marked(chunk) or _unmarked(chunk, name, options)
            decoder = codecs.getincrementaldecoder(codec)()
        begun = len(decoder.getstate()[0])  # bytes of a character that the last chunk cut in two
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise _not_text(
                error,
                codec=codec,
                offset=offset - begun + error.start,
                where=f"{name}:{line}",
                options=options,
            ) from None
        except UnicodeError as error:  # UTF-16 without its mark
            raise DataError(
                f"The file is not {codec.upper()}: {error}.",
                where=name,
                hint=f"leave {options.encoding.rstrip(' =')} out, or name another",
            ) from None
        yield text.removeprefix("\ufeff") if offset == 0 else text
        offset += len(chunk)
        line += chunk.count(b"\n")


def split_lines(text: Iterable[str], *, name: str) -> Iterator[str]:
    r"""The lines of a text that comes in pieces, without their ends; only "\n" ends a line."""
    pieces: list[str] = []
    for piece in text:
        first, *others = piece.split("\n")
        pieces.append(first)
        if sum(map(len, pieces)) > MAX_LINE_CHARS:
            raise DataError(
                f"A line is longer than {MAX_LINE_CHARS:,} characters.",
                where=name,
                hint="one row belongs on each line",
            )
        for other in others:
            yield "".join(pieces)
            pieces = [other]
    if last := "".join(pieces):
        yield last


def visible(text: str, *, limit: int = 60) -> str:
    """What was found in a file, made fit for a message: short, on one line, nothing unprintable."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short)


def _read_bytes(stream: BufferedIOBase, name: str) -> Iterator[bytes]:
    """Chunks of `stream`; the last one, and only that, is empty."""
    try:
        while True:
            chunk = stream.read(_CHUNK_BYTES)
            yield chunk
            if not chunk:
                return
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(
            "The compressed file is damaged or cut short.", where=name, hint="copy it again"
        ) from None
    except OSError as error:
        raise _unreadable(error, name) from None


def _unreadable(error: OSError | ValueError, name: str) -> DataError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DataError(f"It cannot be read: {reason[:1].lower()}{reason[1:]}.", where=name)


def _neighbours_like(path: Path) -> list[str]:
    try:
        return get_close_matches(path.name, os.listdir(path.parent), n=1)
    except (OSError, ValueError):
        return []


def _check_encoding(encoding: str, options: OptionNames) -> None:
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise ConfigError(
            f"There is no text encoding called {visible(encoding)!r}.",
            where=options.encoding.rstrip(" ="),
            hint=f"for example {options.encoding}latin-1",
        ) from None


def _marked(head: bytes) -> str | None:
    for mark, codec in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return codec
    return None


def _unmarked(head: bytes, name: str, options: OptionNames) -> str:
    """UTF-8, unless these bytes are plainly no text or another kind of it."""
    for beginning, kind in _BEGINNINGS.items():
        if head.startswith(beginning):
            raise DataError(f"The file looks binary ({kind}); a text file is needed.", where=name)
    even, odd = head[0::2], head[1::2]
    for codec, high, low in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if high.count(0) > len(high) / 3 and _control_share(low) < 0.02:
            raise DataError(
                "The file looks like UTF-16 without a byte order mark.",
                where=name,
                hint=f"add {options.encoding}{codec}",
            )
    if _control_share(head) > 0.02:
        raise DataError("The file looks binary; a text file is needed.", where=name)
    return "utf-8"


def _control_share(data: bytes) -> float:
    return sum(map(data.count, _CONTROLS)) / max(1, len(data))


def _not_text(
    error: UnicodeDecodeError, *, codec: str, offset: int, where: str, options: OptionNames
) -> DataError:
    sample = error.object[max(0, error.start - 30_000) :][:60_000]
    guess = guess_encoding(sample)
    return DataError(
        f"The file is not {codec.upper()}: byte 0x{error.object[error.start]:02x} at offset "
        f"{offset:,}.",
        where=where,
        hint=f"it looks like {guess}: add {options.encoding}{guess}"
        if guess and guess != codec
        else f"save it as UTF-8, or name its encoding: add {options.encoding}NAME",
    )


def guess_encoding(sample: bytes) -> str | None:
    """The likeliest encoding of text that is not UTF-8."""
    shares = {
        codec: _common_share(sample.decode(codec, errors="replace"), common)
        for codec, common in _COMMON_CHARACTERS.items()
    }
    best = max(shares, key=lambda codec: shares[codec])
    return best if shares[best] > 0.03 else None


def _common_share(text: str, common: str) -> float:
    foreign = [c for c in text if not c.isascii()]
    return sum(c in common for c in foreign) / max(1, len(foreign))
