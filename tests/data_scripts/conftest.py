"""The scripts as `python data_scripts/NAME.py` imports them, on small corpora made up here."""

import json
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsum.config import DataConfig
from pgsum.data import cache, hub
from pgsum.data.sources import open_corpus

SCRIPTS = Path(__file__).parents[2] / "data_scripts"
SPLITS = ("train", "validation", "test")


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)


@pytest.fixture
def convert(tmp_path, monkeypatch):
    """Converts a corpus with some of the script's facts replaced; its pairs, which pgsum can read.

    `folder` is what --from names.
    """
    monkeypatch.setenv("PGSUM_CACHE", str(tmp_path / "cache"))
    cache._cache_folder.cache_clear()

    def convert(name: str, folder: Path | None = None, **facts: object) -> dict[str, list[dict]]:
        script = import_module(name)
        for fact, value in facts.items():
            monkeypatch.setattr(script, fact, value)
        out = tmp_path / "out" / name
        import_module("conversion").convert(script.read, folder, out)
        assert list(out.parent.iterdir()) == [out]
        found = {}
        for split in SPLITS:
            lines = (out / f"{split}.jsonl").read_text(encoding="utf-8").split("\n")
            assert lines.pop() == ""
            found[split] = [json.loads(line) for line in lines]
        corpus = open_corpus(DataConfig(name="files", root=str(out)))
        for split in SPLITS:
            read = getattr(corpus, split)
            assert read["id"][:] == [pair["id"] for pair in found[split]]
            assert read["document"][:] == [pair["document"] for pair in found[split]]
        return found

    yield convert
    cache._cache_folder.cache_clear()


@pytest.fixture
def write_tables():
    """Writes Parquet files below a folder: by name, their columns."""

    def write(root: Path, files: dict[str, dict[str, list]]) -> None:
        for name, columns in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(columns), path)

    return write


@pytest.fixture
def on_hub(tmp_path, monkeypatch, write_tables):
    """Puts the tables of a data set where the hub would have them; which data set was asked for."""
    root = tmp_path / "hub"
    asked: list[str] = []

    def list_files(repository: str) -> tuple[str, tuple[str, ...]]:
        asked.append(repository)
        files = (path for path in root.rglob("*") if path.is_file())
        return "c0ffee", tuple(str(path.relative_to(root)) for path in files)

    def fetch_file(repository: str, commit: str, file: str) -> Path:
        assert commit == "c0ffee"
        return root / file

    monkeypatch.setattr(hub, "list_files", list_files)
    monkeypatch.setattr(hub, "fetch_file", fetch_file)

    def put(files: dict[str, dict[str, list]]) -> list[str]:
        write_tables(root, files)
        return asked

    return put
