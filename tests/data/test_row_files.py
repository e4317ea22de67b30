import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsum.data.files import DATA_OPTIONS
from pgsum.data.row_files import ROW_SUFFIXES, format_of, read_rows

ROWS = [{"document": "NA", "summary": "é\u2028"}, {"document": "null", "summary": "1"}]


def written(path: Path) -> Path:
    table = "document{0}summary\nNA{0}é\u2028\nnull{0}1\n"
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
        return path
    text = {".csv": table.format(","), ".tsv": table.format("\t")}.get(
        format_of(path), "".join(json.dumps(row) + "\n" for row in ROWS)
    )
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("compressed", ["", ".gz"])
@pytest.mark.parametrize("suffix", ROW_SUFFIXES)
def test_every_format_holds_the_same_rows(tmp_path, suffix, compressed):
    if (suffix, compressed) == (".parquet", ".gz"):
        pytest.skip("is refused: test_parquet.py")
    path = written(tmp_path / f"a{suffix}{compressed}")
    rows = list(read_rows(path, encoding=None, options=DATA_OPTIONS))
    assert [dict(row.values) for row in rows] == ROWS
    assert [row.number for row in rows] == [1, 2]
    assert all(row.where.startswith(str(path)) for row in rows)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("a.jsonl", ".jsonl"), ("a.CSV.gz", ".csv"), ("a.b.tsv", ".tsv"), ("a.gz", ""), ("a", "")],
)
def test_compression_does_not_hide_the_format(name, suffix):
    assert format_of(Path(name)) == suffix
