import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsum.config import DataConfig
from pgsum.data.files import DATA_OPTIONS
from pgsum.data.splits import find_splits


@pytest.mark.parametrize(
    "name", ["train.jsonl", "train.csv.gz", "train.parquet", "train.source", "TRAIN.tsv"]
)
def test_a_folder_holds_a_split_in_any_format(tmp_path, name):
    (tmp_path / name).touch()
    (tmp_path / "training.jsonl").touch()
    (tmp_path / "train.docx").touch()
    config = DataConfig(name="files", root=str(tmp_path))
    assert find_splits(config, DATA_OPTIONS) == {"train": tmp_path / name}


def test_a_split_may_be_a_folder(tmp_path):
    (tmp_path / "dev").mkdir()
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "dev" / "0000.parquet")
    config = DataConfig(name="files", root=str(tmp_path))
    assert find_splits(config, DATA_OPTIONS) == {"validation": tmp_path / "dev"}


def test_a_named_file_lies_in_the_folder_unless_it_is_absolute(tmp_path):
    config = DataConfig(name="files", root=str(tmp_path), train="a.jsonl", test="/b.jsonl")
    found = find_splits(config, DATA_OPTIONS)
    assert [str(path) for path in found.values()] == [str(tmp_path / "a.jsonl"), "/b.jsonl"]
