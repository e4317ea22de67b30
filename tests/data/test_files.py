import codecs
import gzip
import io
import os
import socket

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgsum.data import files
from pgsum.data.files import (
    DATA_OPTIONS,
    OptionNames,
    check_file,
    open_file,
    read_text,
    split_lines,
)
from pgsum.errors import ConfigError, DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def text_of(
    data: bytes, *, encoding: str | None = None, options: OptionNames = DATA_OPTIONS
) -> str:
    return "".join(read_text(io.BytesIO(data), name="f.txt", encoding=encoding, options=options))


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(files, "_CHUNK_BYTES", 3)


# --- which files may be read ----------------------------------------------------------------------


def test_missing_file_is_said_to_be_missing_with_the_likeliest_name(tmp_path):
    (tmp_path / "train.jsonl").touch()
    with pytest.raises(
        DataError, match=r"no such file; at .*trian\.jsonl; did you mean train\.jsonl"
    ):
        check_file(tmp_path / "trian.jsonl")


def test_file_in_a_missing_folder_is_missing_without_a_suggestion(tmp_path):
    with pytest.raises(DataError, match=r"no such file; at \S+a\.txt$"):
        check_file(tmp_path / "nowhere" / "a.txt")


def test_folder_is_no_file(tmp_path):
    with pytest.raises(DataError, match="This is a folder; a file is needed"):
        check_file(tmp_path)


def test_device_that_never_ends_is_not_read():
    with pytest.raises(DataError, match=r"This is a device; a file is needed; at /dev/zero"):
        check_file(files.Path("/dev/zero"), pipes=True)


def test_socket_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(DataError, match="This is a socket"):
            check_file(files.Path("s"))


def test_pipe_will_do_only_where_it_is_asked_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    check_file(tmp_path / "pipe", pipes=True)
    with pytest.raises(DataError, match="This is a pipe"):
        check_file(tmp_path / "pipe")


def test_loop_of_links_is_one_sentence(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(DataError, match="cannot be read: too many levels of symbolic links"):
        check_file(tmp_path / "a")


def test_name_with_a_nul_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match="cannot be read: embedded null byte"):
        check_file(tmp_path / "a\0b")


def test_unreadable_file_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "a.txt").touch()

    def refuse(*_: object) -> None:  # the user who runs the tests may read everything
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.Path, "open", refuse)
    with (
        pytest.raises(DataError, match=r"cannot be read: permission denied; at .*a\.txt"),
        open_file(tmp_path / "a.txt"),
    ):
        pass


def test_error_while_reading_names_the_file():
    class Failing(io.BufferedIOBase):
        def read(self, size: int = -1) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(DataError, match=r"cannot be read: input/output error; at f\.txt"):
        list(read_text(Failing(), name="f.txt", encoding=None, options=DATA_OPTIONS))


# --- compressed files -----------------------------------------------------------------------------


def test_gz_file_is_decompressed(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("naïve".encode()))
    with open_file(tmp_path / "a.txt.gz") as stream:
        assert stream.read().decode() == "naïve"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda whole: whole[:-12], id="cut short"),
        pytest.param(lambda whole: whole[:15] + b"\xff\xff\xff" + whole[18:], id="overwritten"),
        pytest.param(lambda whole: b"plain text", id="never compressed"),
    ],
)
def test_damaged_gz_is_named(tmp_path, damage):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(damage(gzip.compress(b"some text " * 100)))
    with (
        pytest.raises(DataError, match=r"damaged or cut short; at .*a\.txt\.gz"),
        open_file(path) as stream,
    ):
        list(read_text(stream, name=str(path), encoding=None, options=DATA_OPTIONS))


# --- bytes to text --------------------------------------------------------------------------------


@given(TEXT, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_byte_order_mark_says_the_encoding_and_is_removed(text, encoding):
    # In UTF-16 that would be the mark of UTF-32, and no text begins so.
    assume(not text.startswith("\0"))
    assert text_of(text.encode(encoding)) == text


def test_utf_16_of_either_byte_order_is_read_by_its_mark():
    text = "naïve 中文 🙂\n"
    assert text_of(codecs.BOM_UTF16_BE + text.encode("utf-16-be")) == text
    assert text_of(codecs.BOM_UTF16_LE + text.encode("utf-16-le")) == text


@given(TEXT, st.sampled_from(["utf-8", "utf-16-le", "gb18030", "utf-7"]), st.integers(1, 5))
def test_text_does_not_depend_on_where_the_chunks_are_cut(text, encoding, size):
    text = text.removeprefix("\ufeff")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_CHUNK_BYTES", size)
        assert text_of(text.encode(encoding), encoding=encoding) == text


def test_first_byte_that_is_not_utf_8_is_named_with_its_line_and_a_guess():
    data = "first line\ncafé Müller\n".encode("latin-1")
    with pytest.raises(DataError) as caught:
        text_of(data)
    assert str(caught.value) == (
        "The file is not UTF-8: byte 0xe9 at offset 14; at f.txt:2; "
        "it looks like latin-1: add data.encoding=latin-1"
    )


@pytest.mark.usefixtures("small_chunks")
def test_offset_counts_from_the_beginning_of_the_file_not_of_the_chunk():
    with pytest.raises(DataError, match=r"byte 0xff at offset 10; at f\.txt:3"):
        text_of("a\n€€\nb".encode() + b"\xff\n")


def test_character_cut_off_at_the_end_is_an_error():
    with pytest.raises(DataError, match=r"byte 0xe2 at offset 1$|offset 1;"):
        text_of("a€".encode()[:-1])


def test_hint_calls_the_option_what_the_command_calls_it():
    with pytest.raises(DataError, match="add --encoding latin-1"):
        text_of("é".encode("latin-1"), options=OptionNames(encoding="--encoding "))


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("latin-1", "Müller aß im Café zwölf Brötchen"),
        ("cp1252", "“Don’t”, she said – twice"),
        ("gb18030", "中国的经济在不断发展，人们的生活水平也提高了。"),
        ("big5", "這是一個中文的句子，我們在這裡。"),
        ("shift_jis", "これは日本語の文章です。私たちはここにいます。"),
        ("euc_jp", "これは日本語の文章です。私たちはここにいます。"),
        ("euc_kr", "이것은 한국어로 쓴 글이고 우리는 여기에 있다"),
        ("cp1251", "Это русский текст, и он о чём-то рассказывает"),
        ("koi8-r", "Это русский текст, и он о чём-то рассказывает"),
    ],
)
def test_guessed_encoding_reads_the_text(encoding, text):
    with pytest.raises(DataError, match=f"looks like {encoding}: add data.encoding={encoding}"):
        text_of(text.encode(encoding))
    assert text_of(text.encode(encoding), encoding=encoding) == text


def test_unguessable_encoding_is_asked_for():
    with pytest.raises(DataError, match="save it as UTF-8, or name its encoding"):
        text_of(b"\xff\xff\xff abc")


def test_text_that_is_not_of_the_encoding_named_says_so():
    with pytest.raises(DataError, match=r"not ASCII: byte 0xc3 at offset 0"):
        text_of("é".encode(), encoding="ascii")


def test_text_that_lacks_the_mark_of_the_encoding_named_says_so():
    with pytest.raises(DataError, match=r"not UTF-16: .*BOM.*; leave data\.encoding out"):
        text_of(b"plain text", encoding="utf-16")


@pytest.mark.parametrize("encoding", ["utf-88", "hex", "rot13"])
def test_unknown_encoding_is_a_setting_to_mend(encoding):
    with pytest.raises(ConfigError, match=f"no text encoding called '{encoding}'"):
        text_of(b"a", encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised(encoding):
    data = "An English sentence, as Windows writes it.".encode(encoding)
    with pytest.raises(DataError, match=f"UTF-16 without .*; add data.encoding={encoding}"):
        text_of(data)
    assert text_of(data, encoding=encoding) == "An English sentence, as Windows writes it."


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"%PDF-1.7\n", "a PDF"),
        (b"PK\x03\x04rest", "a zip archive or an office document"),
        (b"\x89PNG\r\n", "an image"),
        (b"PAR1data", "a Parquet file"),
        (gzip.compress(b"text"), "compressed by gzip, and its name does not end in .gz"),
    ],
)
def test_known_binary_file_is_called_what_it_is(data, kind):
    with pytest.raises(DataError, match=rf"looks binary \({kind}\)"):
        text_of(data)


@pytest.mark.parametrize("data", [bytes(range(256)) * 10, b"\0\1\2\3", b"\0" * 100])
def test_other_binary_file_is_recognised_by_its_control_bytes(data):
    with pytest.raises(DataError, match="looks binary; a text file is needed"):
        text_of(data)


def test_empty_file_is_an_empty_text():
    assert text_of(b"") == ""


def test_few_control_characters_do_not_make_a_text_binary():
    text = "\x1b[31mred\x1b[0m and a NUL \0 in " + "a long text " * 20
    assert text_of(text.encode()) == text


# --- text to lines --------------------------------------------------------------------------------


@given(TEXT, st.integers(1, 4))
def test_lines_end_at_line_feeds_only_wherever_the_pieces_are_cut(text, size):
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    expected = text.split("\n")
    assert list(split_lines(pieces, name="f")) == (expected if expected[-1] else expected[:-1])


def test_other_line_ends_of_unicode_stay_in_the_line():
    line = "a\r\u2028b\x0b\x0c\x85\x1cc"
    assert list(split_lines([line + "\n"], name="f")) == [line]


def test_line_without_end_is_not_read_for_ever(monkeypatch):
    monkeypatch.setattr(files, "MAX_LINE_CHARS", 100)
    read = []

    def endless():
        while True:
            read.append(30)
            yield "x" * 30

    with pytest.raises(DataError, match=r"longer than 100 characters; at f; one row"):
        list(split_lines(endless(), name="f"))
    assert sum(read) == 120


def test_what_is_shown_of_a_file_is_short_and_printable():
    assert files.visible("a\x1b[31m\n" + "b" * 100, limit=12) == "a\\x1b[31m\\nbbbb…"
