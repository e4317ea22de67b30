import gzip
from pathlib import Path

import pytest

from pgsum.data.records import Pair, Reading, Tally
from pgsum.data.text_files import (
    is_document_file,
    read_aligned,
    read_whole_files,
    text_pair,
    text_pairs,
    whole_text,
)
from pgsum.errors import DataError

READING = Reading("references")


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8", newline="")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("train.source", True),
        ("train.src.gz", True),
        ("a.b.article.txt", True),
        ("a.DOCUMENT.txt.gz", True),
        ("train.target", False),
        ("train.txt", False),
        ("source", False),
        ("train.jsonl", False),
    ],
)
def test_name_says_whether_a_file_holds_documents(name, is_one):
    assert is_document_file(Path(name)) is is_one


@pytest.mark.parametrize(
    ("documents", "summaries"),
    [
        ("a.source", "a.target"),
        ("a.src", "a.tgt"),
        ("a.document.txt", "a.summary.txt"),
        ("a.article.txt", "a.highlights.txt"),
        ("a.article", "a.summary"),
        ("a.dialogue.txt.gz", "a.summary.txt"),
    ],
)
def test_summary_file_is_found_beside_the_document_file(tmp_path, documents, summaries):
    for name in (documents, summaries, "b.target", "a.txt"):
        (tmp_path / name).touch()
    assert text_pair(tmp_path / documents).summaries == tmp_path / summaries


def test_document_file_without_a_summary_file_says_what_to_call_it(tmp_path):
    (tmp_path / "a.article.txt").touch()
    with pytest.raises(DataError, match=r"at .*a\.article\.txt; call that one a\.summary\.txt"):
        text_pair(tmp_path / "a.article.txt")


def test_lines_of_two_files_belong_together_and_end_at_line_feeds_only(tmp_path):
    write(tmp_path, a_source="one\u2028still one\r\ntwo\r\n", a_target="1\n2")
    records = list(read_aligned(text_pair(tmp_path / "a.source"), READING, Tally("a")))
    assert [record.pair for record in records] == [
        Pair("1", "one\u2028still one", ("1",)),
        Pair("2", "two", ("2",)),
    ]
    assert records[1].where == f"{tmp_path / 'a.source'}:2"


def test_empty_line_is_an_empty_text_and_shifts_nothing(tmp_path):
    write(tmp_path, a_source="one\n\nthree\n", a_target="1\n2\n3\n")
    records = read_aligned(text_pair(tmp_path / "a.source"), READING, Tally("a"))
    assert [record.pair.document for record in records] == ["one", "", "three"]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("1\n2\n3\n", "1\n2\n", r"a\.target ends before line 3, and a\.source goes on"),
        ("1\n", "1\n2\n3\n", r"a\.source ends before line 2, and a\.target goes on"),
    ],
)
def test_files_of_different_length_are_refused(tmp_path, source, target, message):
    write(tmp_path, a_source=source, a_target=target)
    with pytest.raises(DataError, match=message):
        list(read_aligned(text_pair(tmp_path / "a.source"), READING, Tally("a")))


def test_folder_of_text_files_gives_a_pair_for_each_two_by_name(tmp_path):
    write(tmp_path, b_document_txt="B\nb\n", b_summary_txt="2", a_document="A", a_summary="1")
    (tmp_path / "notes.txt").touch()
    records = list(read_whole_files(text_pairs(tmp_path), READING, Tally("t")))
    assert [record.pair for record in records] == [
        Pair("a", "A", ("1",)),
        Pair("b", "B\nb\n", ("2",)),
    ]


def test_folder_without_such_files_says_what_to_call_them(tmp_path):
    (tmp_path / "a.txt").touch()
    with pytest.raises(DataError, match=r"call them NAME\.document\.txt and NAME\.summary\.txt"):
        text_pairs(tmp_path)


def test_text_files_may_be_compressed_and_of_another_encoding(tmp_path):
    (tmp_path / "a.source.gz").write_bytes(gzip.compress("é\n".encode("latin-1")))
    (tmp_path / "a.target").write_bytes("è\n".encode("latin-1"))
    reading = Reading("references", encoding="latin-1")
    records = list(read_aligned(text_pair(tmp_path / "a.source.gz"), reading, Tally("a")))
    assert records[0].pair == Pair("1", "é", ("è",))


def test_no_more_of_a_document_is_read_than_is_kept():
    def endless():
        while True:
            yield "word "

    tally = Tally("f")
    assert whole_text(endless(), Reading("documents", max_chars=12), tally) == "word word wo"
    assert tally.cut == 1
