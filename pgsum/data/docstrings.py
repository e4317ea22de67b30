"""The built-in corpus: the prose of docstrings -> their first lines, from the packages here.

Harvests the standard library and the installed packages by reading their source as text: nothing
is imported or executed. The same environment always gives the same pairs.
"""

import ast
import hashlib
import os
import re
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from pgsum.data.docstring_prose import read_docstring
from pgsum.data.records import Pair
from pgsum.errors import DataError

MIN_PAIRS = 2_000
SPLITS = ("train", "validation", "test")

_HELD_OUT_SHARE = 0.05  # of the modules, for validation, and as many for the test
_SHINGLE_WORDS = 8
_SHARED_SHINGLES = 0.25

# Tests say little of use; copies of other packages say everything twice; ours would make results
# depend on our own code.
_SKIPPED_PARTS = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"}
_COPIES = {"_vendor", "vendor", "vendored", "third_party", "_distutils"}
_SKIPPED_PACKAGES = {"pgsum", "pydoc_data", "ensurepip"}

_WORD = re.compile(r"\w+")
_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# It announces something, is code, or is a note to its authors.
_UNFIT_LINE = re.compile(r":$|[-=]>|<[-=]|==|\b(?:TODO|FIXME|XXX)\b|[Aa]uto-?generated")
_MIN_BODY_WORDS, _MAX_BODY_WORDS = 10, 400
# Of the first line's longer words, the share that the document holds: to learn from, and to be
# scored by, since what cannot be told from the document would measure guessing.
_MIN_SHARE_TOLD, _MIN_SHARE_TOLD_HELD_OUT = 0.4, 2 / 3
_MIN_LINE_WORDS, _MAX_LINE_WORDS = 3, 30


class SourceFile(NamedTuple):
    """A file of Python source and its dotted module name."""

    path: Path
    module: str


class Documented(NamedTuple):
    """One documented thing: its module, its dotted name, the prose about it and its first line."""

    module: str
    name: str
    body: str
    first_line: str


def find_source_files() -> list[SourceFile]:
    """Every source file of the standard library and the installed packages, sorted by module."""
    found: dict[str, SourceFile] = {}
    for key in ("stdlib", "platstdlib", "purelib", "platlib"):
        root = Path(sysconfig.get_path(key))
        for path in _python_files(root):
            parts = path.relative_to(root).with_suffix("").parts
            if parts[0] in _SKIPPED_PACKAGES:
                continue
            module = ".".join(parts).removesuffix(".__init__")
            found.setdefault(module, SourceFile(path, module))
    return [found[module] for module in sorted(found)]


def fingerprint(files: Sequence[SourceFile]) -> str:
    """Of the files' content and names; where they lie and when they were written does not count."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.module.encode("utf-8", "surrogateescape") + b"\0")
        digest.update(hashlib.sha256(_read_bytes(file.path)).digest())
    return digest.hexdigest()


def harvest(
    files: Sequence[SourceFile],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, list[Pair]]:
    """Pairs of each split. No module and no near copy of a document is in two of them.

    `progress` is called with the number of files parsed and of all.

    Raises DataError where `files` hold fewer than `MIN_PAIRS` pairs.
    """
    parsed: list[Documented] = []
    for done, batch in enumerate(_parse_all(files, workers or os.cpu_count() or 1), 1):
        parsed += batch
        if progress:
            progress(done, len(files))
    documented = _once(parsed)
    if len(documented) < MIN_PAIRS:
        raise DataError(
            f"The packages installed here hold {len(documented):,} documented functions and "
            f"classes fit for training, and {MIN_PAIRS:,} are needed.",
            where="data.name=docstrings",
            hint="install packages with many docstrings (pip install scipy scikit-learn sympy "
            "networkx), or train on your own files: pgsum train data=files data.train=FILE",
        )
    splits = _split_by_module(documented)
    test, validation = (
        [item for item in splits[split] if _told(item) >= _MIN_SHARE_TOLD_HELD_OUT]
        for split in ("test", "validation")
    )
    validation = _without_near_copies(validation, of=test)
    train = _without_near_copies(splits["train"], of=test + validation)
    kept = {"train": train, "validation": validation, "test": test}
    return {split: [_pair(item) for item in kept[split]] for split in SPLITS}


def _python_files(root: Path) -> Iterator[Path]:
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(set(subfolders) - _SKIPPED_PARTS - _COPIES)
        for name in sorted(names):
            if name.endswith(".py") and not name.startswith("test_") and name != "conftest.py":
                yield Path(folder, name)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # a dangling link, or not ours to read: as if it were not installed
        return b""


# --- one file -------------------------------------------------------------------------------------


def _parse_all(files: Sequence[SourceFile], workers: int) -> Iterator[list[Documented]]:
    if workers == 1 or len(files) < 100:
        yield from map(_parse, files)
        return
    # Fresh processes: a fork would copy the locks that threads of the parent hold.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(_parse, files, chunksize=32)
        except BrokenProcessPool:
            raise DataError(
                "A process that parsed source files came to a sudden end.",
                where="data.name=docstrings",
                hint="perhaps memory ran out; add data.workers=1",
            ) from None


def _parse(file: SourceFile) -> list[Documented]:
    content = _read_bytes(file.path)
    if b'"""' not in content and b"'''" not in content:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their invalid escapes are not ours to report
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []  # templates, other Pythons' syntax: not a module that could be imported
    return [
        Documented(file.module, name, *texts)
        for name, docstring in _docstrings(tree, file.module)
        if (texts := _fit(name, docstring)) is not None
    ]


def _docstrings(tree: ast.Module, module: str) -> Iterator[tuple[str, str]]:
    """Dotted names and docstrings: `json.decoder`, `decoder.JSONDecoder`, `JSONDecoder.decode`."""
    if docstring := ast.get_docstring(tree, clean=False):
        yield module, docstring
    pending: list[tuple[str, ast.AST]] = [(module.rpartition(".")[2], tree)]
    while pending:
        owner, node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                if docstring := ast.get_docstring(child, clean=False):
                    yield f"{owner}.{child.name}", docstring
                if isinstance(child, ast.ClassDef):
                    pending.append((child.name, child))
            elif isinstance(child, ast.If | ast.Try):
                pending.append((owner, child))


def _fit(name: str, docstring: str) -> tuple[str, str] | None:
    """Body and first line where they are fit to learn from."""
    texts = read_docstring(docstring)
    if texts is None:
        return None
    first_line, body = texts
    line_words, body_words = _words(first_line), _words(body)
    fit = (
        _MIN_LINE_WORDS <= len(line_words) <= _MAX_LINE_WORDS
        and _MIN_BODY_WORDS <= len(body_words) <= _MAX_BODY_WORDS
        and first_line[0].isalpha()
        and not _UNFIT_LINE.search(first_line)
        and (first_line + body).isascii()
        # The body adds something, and the first line can be told from it.
        and " ".join(body_words) not in " ".join(line_words)
        and _share_told(first_line, f"{name} {body}") >= _MIN_SHARE_TOLD
    )
    return (body, first_line) if fit else None


def _told(item: Documented) -> float:
    return _share_told(item.first_line, f"{item.name} {item.body}")


def _share_told(first_line: str, document: str) -> float:
    """Of the first line's longer words, the share that the document knows, by their beginnings."""
    told, known = (
        {word[:5] for word in spelt(text) if len(word) > 3} for text in (first_line, document)
    )
    return len(told & known) / max(1, len(told))


def spelt(text: str) -> list[str]:
    """The words of a text, those that identifiers are made of among them, in lower case."""
    return _words(_CAMEL_HUMP.sub(" ", text).replace("_", " "))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


# --- all of them ----------------------------------------------------------------------------------


def _once(documented: Sequence[Documented]) -> list[Documented]:
    """Each first line, body and id once: the first thing that has it keeps it."""
    seen: set[str] = set()
    kept = []
    for item in documented:
        keys = {" ".join(_words(item.first_line)), " ".join(_words(item.body)), _id(item)}
        if not keys & seen:
            kept.append(item)
        seen |= keys
    return kept


def _split_by_module(documented: Sequence[Documented]) -> dict[str, list[Documented]]:
    splits: dict[str, list[Documented]] = {split: [] for split in SPLITS}
    for item in documented:
        point = int(hashlib.sha256(item.module.encode()).hexdigest()[:8], 16) / 16**8
        if point < _HELD_OUT_SHARE:
            splits["test"].append(item)
        elif point < 2 * _HELD_OUT_SHARE:
            splits["validation"].append(item)
        else:
            splits["train"].append(item)
    return splits


def _without_near_copies(
    documented: Sequence[Documented], *, of: Sequence[Documented]
) -> list[Documented]:
    """Those that share few runs of words with the documents of another split."""
    taken = {shingle for item in of for shingle in _shingles(item.body)}
    kept = []
    for item in documented:
        shingles = _shingles(item.body)
        if sum(shingle in taken for shingle in shingles) < _SHARED_SHINGLES * len(shingles):
            kept.append(item)
    return kept


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _words(text)
    return {
        tuple(words[start : start + _SHINGLE_WORDS])
        for start in range(len(words) - _SHINGLE_WORDS + 1)
    }


def _id(item: Documented) -> str:
    return item.module if item.name == item.module else f"{item.module}:{item.name}"


def _pair(item: Documented) -> Pair:
    # The name comes last, so that the lead baseline is the first sentence of the prose; its words
    # follow one by one, since a pointer copies whole words.
    document = f"{item.body}\n\n{item.name}\n{' '.join(spelt(item.name))}"
    return Pair(id=_id(item), document=document, references=(item.first_line,))
