import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from pgsum.data.vectors import read_vectors
from pgsum.errors import ConfigError, DataError
from pgsum.text.vocab import SPECIAL_TOKENS, Vocab

SPECIALS = len(SPECIAL_TOKENS)
LINES = "the 0.5 -1 2e-1\ncat 1 2 3\n. 7 8 9\n"


def vocab_of(*forms: str) -> Vocab:
    return Vocab(forms, [1] * len(forms))


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows_of(path: Path, *forms: str) -> list[list[float] | None]:
    """Of each form the numbers found, or None."""
    read = read_vectors(path, vocab_of(*forms), at_most=3)
    assert not read.found[:SPECIALS].any()
    assert not read.vectors[~read.found].any()
    words = zip(read.vectors[SPECIALS:].tolist(), read.found[SPECIALS:], strict=True)
    return [row if found else None for row, found in words]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("v.txt", LINES, id="GloVe"),
        pytest.param("v.txt", LINES.rstrip(), id="no line feed at the end"),
        pytest.param("v.txt", LINES.replace("\n", " \r\n"), id="a blank and Windows' line ends"),
        pytest.param("v.vec", "3 3\n" + LINES, id="the first line of word2vec"),
        pytest.param("v.txt.gz", gzip.compress(LINES.encode()), id="compressed"),
    ],
)
def test_vectors_are_read_for_the_words_of_a_vocabulary(tmp_path, name, content):
    path = write(tmp_path / name, content)
    assert rows_of(path, "cat", "dog", "the") == [[1, 2, 3], None, pytest.approx([0.5, -1, 0.2])]


def test_arrays_give_what_lines_give(tmp_path):
    words = ["the", "cat", "."]
    vectors = np.array([[0.5, -1, 0.2], [1, 2, 3], [7, 8, 9]])
    for kind in (np.float16, np.float32, np.float64):
        np.savez(tmp_path / "v.npz", words=np.array(words), vectors=vectors.astype(kind))
        found = rows_of(tmp_path / "v.npz", "dog", *words)
        expected = rows_of(write(tmp_path / "v.txt", LINES), "dog", *words)
        assert found[0] is expected[0] is None
        np.testing.assert_allclose(found[1:], expected[1:], rtol=1e-3)


def test_what_was_found_is_told_with_the_files_name_and_checksum(tmp_path):
    path = write(tmp_path / "v.txt", LINES)
    read = read_vectors(path, vocab_of("cat", *(f"w{i}" for i in range(1233))), at_most=3)
    assert str(read) == "1 of 1,234 words found in v.txt"
    sha256 = hashlib.sha256(LINES.encode()).hexdigest()
    assert read.record() == {"file": "v.txt", "sha256": sha256, "found": 1}


def test_an_entry_written_alike_comes_before_that_of_the_lower_case(tmp_path):
    path = write(tmp_path / "v.txt", "us 1 1 1\nUS 2 2 2\nparis 3 3 3\nRome 4 4 4\n")
    assert rows_of(path, "US", "us", "Paris", "rome") == [[2] * 3, [1] * 3, [3] * 3, None]


def test_of_several_entries_the_first_counts(tmp_path):
    assert rows_of(write(tmp_path / "v.txt", "a 1 1 1\na 2 2 2\n"), "a") == [[1, 1, 1]]


def test_words_that_hold_blanks_are_others_than_their_first_part(tmp_path):
    path = write(tmp_path / "v.txt", ", 0 0 1\n. . . 1 1 1\nat name@domain.com 2 2 2\n. 3 3 3\n")
    assert rows_of(path, ".", "at") == [[3, 3, 3], None]


def test_only_a_plain_blank_parts_word_and_numbers(tmp_path):
    path = write(tmp_path / "v.txt", "é 1 2 3\na\u00a0b 4 5 6\na\u0085 7 8 9\na 0 0 1\n")
    assert rows_of(path, "é", "a", "a\u00a0b") == [[1, 2, 3], [0, 0, 1], [4, 5, 6]]


def test_what_is_wrong_with_other_words_does_not_matter(tmp_path):
    lines = b"cat 1 2 3\nnobody x\ncut\xe2\x82 1 2 3\n\nthe 4 5 6\n"
    assert rows_of(write(tmp_path / "v.txt", lines), "the", "cut") == [[4, 5, 6], None]


def test_a_missing_file_is_said_to_be_missing_with_the_likeliest_name(tmp_path):
    write(tmp_path / "glove.txt", LINES)
    with pytest.raises(DataError, match=r"no such file; at .*glvoe\.txt; did you mean glove\.txt"):
        rows_of(tmp_path / "glvoe.txt", "cat")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"holds no word vectors: line 1 is not a word and its numbers; at .*v\.txt; parted"),
        ("A text about cats.\n", "no word vectors: line 1"),
        ('{"cat": [1, 2, 3]}\n', "no word vectors: line 1"),
        (bytes(range(256)), "no word vectors: line 1"),
        (b"400000 3\ncat \x00\x00\x80\x3f\x00", "no word vectors: line 2"),
        ("the 1 2 nan\n", "no word vectors: line 1"),
        (b"PK\x03\x04\x14\x00v.txtthe 1 2 3\ncat 1 2 3\n", "no word vectors: line 1"),
        (
            "the 1 2 3\ncat 1 2\n",
            r"The line has 2 values, and the first line has 3; at .*v\.txt:2; copy the file again",
        ),
        ("the 1 2 3\ncat 1 2 3 4\n", r"The line has 4 values, and the first line has 3; at .*:2"),
        ("the 1 2 3\ncat\n", r"The line has 0 values, and the first line has 3; at .*:2"),
        (
            "the 1 2 3\n\ncat 1 two 3\n",
            r"The line holds 'two', which is no finite number; at .*v\.txt:3; mend or delete",
        ),
        ("the 1 2 3\ncat 1 nan 3\n", "'nan', which is no finite number"),
        ("the 1 2 3\ncat 1 2 -inf\n", "'-inf', which is no finite number"),
        ("the 1 2 3\ncat 1e39 2 3\n", "'1e39', which is no finite number"),
        ("the 1 2 3\ncat 1  3\n", "'', which is no finite number"),
        (
            "die 1 2 3\nKatze 1 2 3\n",
            r"has no vector for any of the vocabulary's 1 words; at .*v\.txt; name a file of the",
        ),
    ],
)
def test_a_file_that_will_not_do_is_refused_with_its_line(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        rows_of(write(tmp_path / "v.txt", content), "cat")


@pytest.mark.parametrize("header", ["", "2 3\n"])
def test_a_byte_order_mark_belongs_to_no_word(tmp_path, header):
    content = "\ufeff" + header + "cat 1 2 3\nthe 4 5 6\n"
    assert rows_of(write(tmp_path / "v.txt", content), "cat") == [[1, 2, 3]]


def test_a_damaged_gz_is_named(tmp_path):
    path = write(tmp_path / "v.txt.gz", gzip.compress(LINES.encode())[:-12])
    with pytest.raises(DataError, match=r"damaged or cut short; at .*v\.txt\.gz"):
        rows_of(path, "cat")


SIZES = r"have size 4, more than model.embedding_size, which is 3; at .*; set .*_size=4$"


@pytest.mark.parametrize("content", ["the 1 2 3 4\n", "1 4\nthe 1 2 3 4\n"])
def test_a_larger_size_is_refused_with_both_sizes_and_the_remedy(tmp_path, content):
    with pytest.raises(ConfigError, match=SIZES):
        rows_of(write(tmp_path / "v.txt", content), "the")


def test_arrays_of_a_larger_size_are_refused_likewise(tmp_path):
    np.savez(tmp_path / "v.npz", words=np.array(["the"]), vectors=np.ones((1, 4)))
    with pytest.raises(ConfigError, match=SIZES):
        rows_of(tmp_path / "v.npz", "the")


@pytest.mark.parametrize("content", [b"", LINES.encode(), b"PK\x03\x04 cut short"])
def test_a_file_that_is_no_npz_is_refused(tmp_path, content):
    with pytest.raises(DataError, match=r"no \.npz with the arrays `words` and `vectors`: .*savez"):
        rows_of(write(tmp_path / "v.npz", content), "cat")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"vectors": np.ones((1, 3))}, "no .npz with the arrays `words` and `vectors`"),
        ({"words": np.array(["a"], object), "vectors": np.ones((1, 3))}, "no .npz .*pickle"),
        ({"words": np.array(["a"]), "vectors": np.ones((2, 3))}, r"float64 of shape \(2, 3\)"),
        ({"words": np.array(["a"]), "vectors": np.ones(1)}, r"float64 of shape \(1,\)"),
        ({"words": np.array("a"), "vectors": np.ones((1, 3))}, r"`words` is <U1 of shape \(\)"),
        ({"words": np.array(["a"]), "vectors": np.array([["1", "2", "3"]])}, "`vectors` <U1"),
        (
            {"words": np.array(["a"]), "vectors": np.array([[1, np.nan, 3]])},
            "The vector of 'a' holds a value that is no finite number",
        ),
    ],
)
def test_arrays_that_are_no_word_vectors_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "v.npz", **arrays)
    with pytest.raises(DataError, match=message):
        rows_of(tmp_path / "v.npz", "a")


def test_a_single_array_under_the_name_of_several_is_refused(tmp_path):
    with (tmp_path / "v.npz").open("wb") as file:
        np.save(file, np.ones((1, 3)))
    with pytest.raises(DataError, match=r"no \.npz with the arrays"):
        rows_of(tmp_path / "v.npz", "a")
