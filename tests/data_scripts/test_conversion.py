"""What the scripts share: an OUT that is whole or not there, counts, and where tables are found."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from pgsum.data import hub
from pgsum.errors import ConfigError, DataError

SCRIPTS = Path(__file__).parents[2] / "data_scripts"
SPLITS = ("train", "validation", "test")
ON_HUB = ("aeslc", "cnn_dailymail", "samsum", "scitldr", "xsum")


@pytest.fixture
def conversion():
    return import_module("conversion")


@pytest.fixture
def reader(conversion):
    """A reader whose splits all have these pairs, of a corpus that is said to have so many."""

    def of(pairs, **known):
        return lambda folder: {
            split: conversion.Split(iter(pairs), "the source", **known) for split in SPLITS
        }

    return of


def pairs(*numbers: int) -> list[dict[str, str]]:
    return [{"id": f"{n}", "document": f"document {n}", "summary": f"summary {n}"} for n in numbers]


def left(tmp_path: Path) -> list[str]:
    return [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")]


def test_a_corpus_is_three_files_of_json_lines(conversion, reader, tmp_path, capsys):
    conversion.convert(reader(pairs(1, 2), count=2), None, tmp_path / "new" / "out")
    assert sorted(left(tmp_path / "new" / "out")) == sorted(f"{split}.jsonl" for split in SPLITS)
    content = (tmp_path / "new" / "out" / "test.jsonl").read_bytes()
    assert [json.loads(line) for line in content.decode().splitlines()] == pairs(1, 2)
    assert capsys.readouterr().err == "train: 2 pairs\nvalidation: 2 pairs\ntest: 2 pairs\n"


def test_the_folder_may_be_read_by_whom_other_new_folders_may(conversion, reader, tmp_path):
    conversion.convert(reader(pairs(1)), None, tmp_path / "out")
    (tmp_path / "other").mkdir()
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_another_number_of_pairs_than_the_corpus_has_is_an_error_and_leaves_nothing(
    conversion, reader, tmp_path
):
    with pytest.raises(
        DataError,
        match=r"There are 2 train pairs, and the corpus has 1,234; at the source; download it a",
    ):
        conversion.convert(reader(pairs(1, 2), count=1234), None, tmp_path / "out")
    assert left(tmp_path) == []


def test_other_ids_than_those_of_the_corpus_are_an_error(conversion, reader, tmp_path):
    right = conversion.ids_digest(["2", "1"])
    conversion.convert(reader(pairs(1, 2), ids=right), None, tmp_path / "right")
    found = conversion.ids_digest(["1", "3"])
    with pytest.raises(
        DataError, match=f"not those of the corpus: .* {found}, and should have {right}; at the s"
    ):
        conversion.convert(reader(pairs(1, 3), ids=right), None, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


@pytest.mark.parametrize(
    "error", [DataError("The row is bad."), KeyboardInterrupt(), SystemExit(143)]
)
def test_what_stops_in_the_middle_leaves_nothing(conversion, reader, tmp_path, error):
    def broken():
        yield from pairs(1, 2)
        raise error

    with pytest.raises(type(error)):
        conversion.convert(reader(broken()), None, tmp_path / "out")
    assert left(tmp_path) == []


@pytest.mark.parametrize("held", ["file", "folder"])
def test_an_out_that_holds_something_is_left_as_it_is_and_nothing_is_fetched(
    conversion, tmp_path, held
):
    out = tmp_path / "out"
    if held == "folder":
        out.mkdir()
    (out / "train.jsonl" if held == "folder" else out).write_text("mine", encoding="utf-8")
    before = left(tmp_path)

    def never(folder):
        raise AssertionError("the corpus was asked for")

    with pytest.raises(ConfigError, match=r"something here already.*/out; name a folder that is n"):
        conversion.convert(never, None, out)
    assert left(tmp_path) == before


def test_an_empty_out_is_filled(conversion, reader, tmp_path):
    (tmp_path / "out").mkdir()
    conversion.convert(reader(pairs(1)), None, tmp_path / "out")
    assert len(left(tmp_path / "out")) == 3


def test_an_out_that_cannot_be_made_is_a_sentence(conversion, reader, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"The corpus cannot be written: .*/file/out"):
        conversion.convert(reader(pairs(1)), None, tmp_path / "file" / "out")


def test_a_pair_without_a_document_or_a_summary_is_counted_left_out_and_told(
    conversion, reader, tmp_path, capsys
):
    blank = [{"id": "a", "document": " \u200b", "summary": "s"}]
    blank += [{"id": "b", "document": "d", "summary": ""}]
    conversion.convert(reader([*pairs(1), *blank], count=3), None, tmp_path / "out")
    lines = (tmp_path / "out" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["1"]
    told = "train: 1 pair; 2 without a document or a summary left out\n"
    assert capsys.readouterr().err.startswith(told)


def test_half_a_surrogate_pair_is_kept_as_json_keeps_it(conversion, reader, tmp_path, monkeypatch):
    half = [{"id": "1", "document": "a \ud83d b", "summary": "s 😀"}]
    conversion.convert(reader(half), None, tmp_path / "out")
    line = (tmp_path / "out" / "test.jsonl").read_text(encoding="utf-8")
    assert json.loads(line) == half[0]
    assert "😀" in line


# --- the command line -----------------------------------------------------------------------------


def command(name: str, *arguments: object) -> list[str]:
    return [sys.executable, str(SCRIPTS / f"{name}.py"), *map(str, arguments)]


def test_errors_look_as_those_of_pgsum_do(tmp_path):
    done = subprocess.run(command("csl", tmp_path / "out"), capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr.startswith("error: This corpus is read from a folder.\nhint: download ")
    (tmp_path / "out").touch()
    done = subprocess.run(command("csl", tmp_path / "out"), capture_output=True, text=True)
    assert done.returncode == 2
    assert "  --> " + str(tmp_path / "out") in done.stderr.splitlines()


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_the_middle_leaves_nothing(tmp_path, signum, code):
    source = tmp_path / "source"
    source.mkdir()
    os.mkfifo(source / "train.tsv")  # nobody writes into it: the script waits, its files half done
    process = subprocess.Popen(
        command("csl", tmp_path / "to" / "out", "--from", source), stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("to/.out.*/out/train.jsonl")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signum)
    _, said = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in said
    assert left(tmp_path / "to") == []


@pytest.mark.parametrize("name", [*ON_HUB, "csl", "debian", "reuters21578"])
def test_each_script_states_licence_source_and_pairs(name):
    about = import_module(name).__doc__
    assert f"python data_scripts/{name}.py OUT" in about
    for heading in ("\nLicence: ", "\nSource: ", "\nPairs: "):
        assert heading in about
    for count in getattr(import_module(name), "COUNTS", {}).values():
        assert f"{count:,}" in about


# --- tables, on the hub or in a folder ------------------------------------------------------------

COLUMNS = {"id": ["x"], "dialogue": ["A: a"], "summary": ["s"]}
ONE = {"COUNTS": dict.fromkeys(SPLITS, 1)}


@pytest.mark.parametrize("name", ON_HUB)
def test_without_a_network_it_is_said_at_once_and_nothing_is_left(name, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    huggingface_hub.close_session()
    hub.list_files.cache_clear()
    script = import_module(name)
    repository = script.HUB.partition(":")[0]
    with pytest.raises(DataError, match=f"OFFLINE is set.*{repository}; offline: add --from DIR"):
        import_module("conversion").convert(script.read, None, tmp_path / "out")
    assert left(tmp_path) == []
    huggingface_hub.close_session()


def test_a_hub_that_cannot_be_reached_is_a_sentence(tmp_path, monkeypatch):
    def refuse(self, repository, **_):
        raise OSError("No route to host.")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", refuse)
    hub.list_files.cache_clear()
    script = import_module("xsum")
    with pytest.raises(DataError, match=r"cannot be reached .*No route to host.*add --from DIR"):
        import_module("conversion").convert(script.read, None, tmp_path / "out")


def test_the_hub_is_asked_for_the_config_and_its_commit_is_told(convert, on_hub, capsys):
    asked = on_hub({f"default/{split}/0000.parquet": COLUMNS for split in SPLITS})
    convert("samsum", **ONE)
    assert {*asked} == {"knkarthick/samsum"}
    told = "knkarthick/samsum:default: commit c0ffee of refs/convert/parquet\n"
    assert capsys.readouterr().err.startswith(told)


def test_a_split_that_the_hub_lacks_is_told(convert, on_hub):
    on_hub({f"default/{split}/0000.parquet": COLUMNS for split in ("test", "train")})
    with pytest.raises(DataError, match="The data set has no split validation; it has: test, trai"):
        convert("samsum", **ONE)


@pytest.mark.parametrize(
    "layout", ["{}.parquet", "default/{}/0000.parquet", "data/{}-00000-of-00001-ab12.parquet"]
)
def test_a_folder_of_tables_is_read_as_the_hub_lays_it_out(convert, write_tables, tmp_path, layout):
    write_tables(tmp_path / "from", {layout.format(split): COLUMNS for split in SPLITS})
    found = convert("samsum", tmp_path / "from", **ONE)
    assert found["test"] == [{"id": "x", "document": "A: a", "summary": "s"}]


def test_the_parts_of_a_table_are_read_in_order(convert, write_tables, tmp_path):
    parts = {f"train-0000{n}-of-00002.parquet": {**COLUMNS, "id": [n]} for n in (1, 0)}
    parts |= {f"{split}.parquet": COLUMNS for split in ("validation", "test")}
    write_tables(tmp_path / "from", parts)
    found = convert("samsum", tmp_path / "from", COUNTS={**ONE["COUNTS"], "train": 2})
    assert [pair["id"] for pair in found["train"]] == ["0", "1"]


def test_tables_without_one_of_the_splits_are_refused(convert, write_tables, tmp_path):
    write_tables(tmp_path / "from", {"train.parquet": COLUMNS, "test.parquet": COLUMNS})
    with pytest.raises(DataError, match=r"no Parquet file of the validation pairs.*/from; call it"):
        convert("samsum", tmp_path / "from", **ONE)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"dialogue": [1]}, r"The dialogue is a number; a text is needed; at .*, row 1"),
        ({"id": [None]}, r"The id is null; an id is needed"),
        ({"summary": None}, r"The row has no summary; it has: id, dialogue; at .*, row 1"),
    ],
)
def test_a_column_that_is_not_as_it_should_be_is_told(
    convert, write_tables, tmp_path, column, message
):
    columns = {key: value for key, value in {**COLUMNS, **column}.items() if value is not None}
    write_tables(tmp_path / "from", {f"{split}.parquet": columns for split in SPLITS})
    with pytest.raises(DataError, match=message):
        convert("samsum", tmp_path / "from", **ONE)


def test_a_folder_that_is_not_there_is_told(convert, tmp_path):
    with pytest.raises(DataError, match=r"There is no such folder; at .*/nowhere"):
        convert("samsum", tmp_path / "nowhere")


def test_a_damaged_table_leaves_nothing(convert, write_tables, tmp_path):
    write_tables(tmp_path / "from", {f"{split}.parquet": COLUMNS for split in SPLITS})
    path = tmp_path / "from" / "test.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"damaged or cut short"):
        convert("samsum", tmp_path / "from", **ONE)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_file_in_another_encoding_is_told_with_the_place(conversion, tmp_path):
    (tmp_path / "a.txt").write_bytes("naïve".encode("latin-1"))
    with pytest.raises(DataError, match=r"not UTF-8: byte 0xef at offset 2; at .*a\.txt"):
        conversion.read_whole(tmp_path / "a.txt")
    assert conversion.read_whole(tmp_path / "a.txt", encoding="latin-1") == "naïve"
