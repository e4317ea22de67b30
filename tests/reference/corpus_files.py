"""The same pairs in every format that is read, and how training takes them."""

import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsum.config import DataConfig
from pgsum.data.sources import Corpus, open_corpus
from pgsum.errors import DataError

Rows = Sequence[tuple[Any, Any]]

TEXT_FORMATS = [".jsonl", ".csv", ".tsv", ".source"]
FORMATS = [*TEXT_FORMATS, ".parquet", *(f"{suffix}.gz" for suffix in TEXT_FORMATS)]
TABLES = [".csv", ".tsv", ".csv.gz", ".tsv.gz"]
SOUND = [(f"document {n}", f"summary {n}") for n in range(6)]


def encoded(rows: Rows, suffix: str) -> bytes:
    """Rows of document and summary as a file of that suffix holds them, in UTF-8."""
    if suffix == ".jsonl":
        lines = [json.dumps({"document": d, "summary": s}, ensure_ascii=False) for d, s in rows]
        return "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")
    if suffix == ".parquet":
        sink = io.BytesIO()
        pq.write_table(
            pa.table({"document": [d for d, _ in rows], "summary": [s for _, s in rows]}), sink
        )
        return sink.getvalue()
    mark = {".csv": ",", ".tsv": "\t"}[suffix]
    fields = [("document", "summary"), *rows]
    quoted = [mark.join('"' + field.replace('"', '""') + '"' for field in row) for row in fields]
    return "".join(line + "\n" for line in quoted).encode()


def write_file(
    folder: Path, rows: Rows, suffix: str, change: Callable[[bytes], bytes] = lambda data: data
) -> Path:
    """The file to be named; `change` is done to its bytes before they are compressed."""
    ending = ".gz" if suffix.endswith(".gz") else ""
    suffix = suffix.removesuffix(".gz")
    if suffix == ".source":
        files = {
            ".source": "".join(d + "\n" for d, _ in rows).encode(),
            ".target": "".join(s + "\n" for _, s in rows).encode(),
        }
    else:
        files = {suffix: encoded(rows, suffix)}
    for name, data in files.items():
        data = change(data)
        (folder / f"a{name}{ending}").write_bytes(gzip.compress(data) if ending else data)
    return folder / f"a{suffix}{ending}"


def trained_on(path: Path, **settings: Any) -> Corpus:
    validation = write_sound(path.parent)
    return open_corpus(
        DataConfig(name="files", train=str(path), validation=str(validation), **settings)
    )


def write_sound(folder: Path) -> Path:
    path = folder / "sound.jsonl"
    path.write_bytes(encoded(SOUND, ".jsonl"))
    return path


def documents(corpus: Corpus) -> list[str]:
    return list(corpus.train["document"])


def refused(path: Path, message: str, **settings: Any) -> None:
    with pytest.raises(DataError, match=message) as error:
        trained_on(path, **settings)
    assert error.value.exit_code == 3
    assert str(path.parent) in str(error.value.where)
