import time
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from pgsum.errors import ConfigError
from pgsum.plain_yaml import MAX_BYTES, read_plain_yaml, written


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.yaml"


def values_of(file: Path, text: str) -> dict[str, object]:
    file.write_text(text, encoding="utf-8")
    return {line.key: line.value for line in read_plain_yaml(file)}


def test_values_are_read_as_they_stand(file):
    text = "name: no\noptim:\n  lr: 1e-3\n  on: 0x10\n  off:\n  tilde: ~\n  quoted: 'null'\n"
    assert values_of(file, text) == {
        "name": "no",
        "optim.lr": "1e-3",
        "optim.on": "0x10",
        "optim.off": None,
        "optim.tilde": None,
        "optim.quoted": "null",
    }


def test_a_value_knows_its_line(file):
    file.write_text("# what follows\noptim:\n  # the rate\n  lr: 1\n", encoding="utf-8")
    assert [line.where for line in read_plain_yaml(file)] == [f"{file}:4"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}\n"])
def test_a_file_that_sets_nothing_sets_nothing(file, text):
    assert values_of(file, text) == {}


def test_a_byte_order_mark_is_no_part_of_the_first_key(file):
    file.write_bytes(b"\xef\xbb\xbfname: x\r\n")
    assert [(line.key, line.value) for line in read_plain_yaml(file)] == [("name", "x")]


@pytest.mark.fault(39)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", r"sets a twice.*settings.yaml:2"),
        ("a: {b: 1, b: 2}\n", r"sets a\.b twice"),
        ("a: {b: 1}\na.b: 2\n", r"sets a\.b twice.*settings.yaml:2"),
        ("a: !!python/object/apply:os.system [ls]\n", "an anchor, an alias or a tag"),
        ("!include x\n", "may hold one document of `key: value` lines"),
        ("a: !include x\n", "an anchor, an alias or a tag"),
        ("a: &x 1\nb: *x\n", "an anchor, an alias or a tag"),
        ("a: {b: {c: 1}}\n", "gives a.b a list or a section where one value belongs"),
        ("a: [1, 2]\n", "gives a a list or a section"),
        ("[a]: 1\n", "gives a key a list or a section"),
        ("- a\n", "may hold one document"),
        ("just words\n", "may hold one document"),
        ("a: 1\n---\nb: 2\n", "may hold one document"),
        ("a: 'open\n", "is not YAML: found unexpected end of stream"),
        ("a: 1\n b: 2\n", "is not YAML: mapping values are not allowed here.*settings.yaml:2"),
        ("a: \x07\n", "is not YAML: it holds a character that YAML forbids"),
        ("[" * 20_000, "may hold one document"),
        ("a: " + "[" * 20_000, "gives a a list or a section"),
        ("a: " + "x" * MAX_BYTES, "at most 65,536 bytes"),
    ],
)
def test_all_else_is_refused_with_its_place(file, text, message):
    with pytest.raises(ConfigError, match=message):
        values_of(file, text)


@pytest.mark.fault(39)
def test_an_alias_bomb_is_refused_at_once(file):
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 60)
    )
    started = time.perf_counter()
    with pytest.raises(ConfigError, match="an anchor, an alias or a tag"):
        values_of(file, bomb)
    assert time.perf_counter() - started < 1


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot be read: No such file or directory; at .*none"):
        read_plain_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_plain_yaml(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(ConfigError, match="is not UTF-8: byte 9 begins no character"):
        read_plain_yaml(tmp_path / "latin.yaml")


@pytest.mark.fault(39)
def test_an_endless_device_is_not_read_to_its_end():
    with pytest.raises(ConfigError, match="at most 65,536 bytes"):
        read_plain_yaml(Path("/dev/zero"))


@example("\n")
@example("\x85 \u2028")
@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_what_is_written_is_one_line_and_reads_the_same(tmp_path_factory, text):
    line = f"a: {written(text)}\n"
    assert line.count("\n") == 1
    file = tmp_path_factory.mktemp("yaml") / "settings.yaml"
    assert values_of(file, line) == {"a": text}
    assert yaml.safe_load(line) == {"a": text}


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False))
def test_other_tools_read_numbers_as_numbers(value):
    loaded = yaml.safe_load(written(value))
    assert (loaded, type(loaded)) == (value, type(value))
