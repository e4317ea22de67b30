import csv
import io
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.data.rows import BadRow, Row, read_json_lines, read_table
from pgsum.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


def json_rows(text: str) -> list[Row | BadRow]:
    return list(read_json_lines(iter([text]), name="f"))


def table_rows(text: str, delimiter: str = ",") -> list[Row | BadRow]:
    return list(read_table(iter([text]), name="f", delimiter=delimiter))


def values(rows: list[Row | BadRow]) -> list[object]:
    return [row.values if isinstance(row, Row) else row.reason for row in rows]


# --- JSON Lines -----------------------------------------------------------------------------------


@given(st.lists(st.dictionaries(TEXT, TEXT | st.lists(TEXT)), max_size=5), st.booleans())
def test_json_lines_come_back_as_they_were_written(objects, ascii_only):
    text = "".join(json.dumps(o, ensure_ascii=ascii_only) + "\n" for o in objects)
    assert values(json_rows(text)) == objects


def test_json_line_is_not_split_at_other_line_ends():
    assert values(json_rows('{"a": "x\u2028y\x85z"}\n')) == [{"a": "x\u2028y\x85z"}]


def test_empty_lines_are_passed_over_and_still_counted_as_lines():
    rows = json_rows('\n{"a": 1}\r\n  \n{"a": 2}')
    assert [(row.number, row.where) for row in rows] == [(1, "f:2"), (2, "f:4")]


@pytest.mark.parametrize(
    ("line", "where", "reason"),
    [
        ('{"a": "cut sho', "f:2:7", "The line is not JSON: unterminated string starting at."),
        ('{"a": 1} x', "f:2:10", "The line is not JSON: extra data."),
        ("not json", "f:2:1", "The line is not JSON: expecting value."),
        ("[1, 2]", "f:2", "The line is a list; a JSON object is needed."),
        ("null", "f:2", "The line is null; a JSON object is needed."),
        ('"text"', "f:2", "The line is a text; a JSON object is needed."),
        ("17", "f:2", "The line is a number; a JSON object is needed."),
        ("true", "f:2", "The line is a truth value; a JSON object is needed."),
        ("[" * 100_000, "f:2", "The line is too deep, or holds too long a number, to read."),
        ("9" * 5_000, "f:2", "The line is too deep, or holds too long a number, to read."),
    ],
)
def test_bad_json_line_comes_out_in_its_place(line, where, reason):
    before, bad, after = json_rows(f'{{"a": 0}}\n{line}\n{{"a": 2}}\n')
    assert isinstance(bad, BadRow)
    assert (bad.number, bad.where, bad.reason) == (2, where, reason)
    assert values([before, after]) == [{"a": 0}, {"a": 2}]


@pytest.mark.parametrize("text", ['[\n  {"a": 1}\n]\n', '[{"a": 1}]\n'])
def test_json_array_is_told_from_json_lines(text):
    bad = json_rows(text)[0]
    assert isinstance(bad, BadRow)
    assert "one JSON array: write each of its objects on a line" in (bad.hint or "")


@given(st.text())
def test_any_text_gives_rows_or_bad_rows(text):
    assert all(isinstance(row, Row | BadRow) for row in json_rows(text))


# --- tables ---------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(TEXT, TEXT), max_size=5),
    st.sampled_from([",", "\t"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_table_comes_back_as_it_was_written(pairs, delimiter, line_end):
    written = io.StringIO(newline="")
    writer = csv.writer(
        written, delimiter=delimiter, lineterminator=line_end, quoting=csv.QUOTE_ALL
    )
    writer.writerows([("a", "b"), *pairs])
    rows = table_rows(written.getvalue(), delimiter)
    assert values(rows) == [{"a": a, "b": b} for a, b in pairs]


@pytest.mark.parametrize("word", ["NA", "nan", "null", "None", "", "1", "0x10", "true", " padded "])
def test_field_stays_the_text_that_it_is(word):
    assert values(table_rows(f"a,b\n{word},x\n")) == [{"a": word, "b": "x"}]


def test_row_says_on_which_line_it_begins_though_fields_hold_line_ends():
    rows = table_rows('a,b\n"two\nlines",x\n\nlast,y\n')
    assert [(row.number, row.where) for row in rows] == [(1, "f:2"), (2, "f:5")]


@pytest.mark.parametrize(("row", "fields"), [("1,2,3", 3), ("1", 1), ("1,2,", 3)])
def test_row_with_another_number_of_fields_is_bad_and_shifts_nothing(row, fields):
    bad, good = table_rows(f"a,b\n{row}\nx,y\n")
    assert isinstance(bad, BadRow)
    assert bad.where == "f:2"
    assert bad.reason == f"The row has {fields} fields and the header 2."
    assert values([good]) == [{"a": "x", "b": "y"}]


def test_quote_in_the_wrong_place_is_a_bad_row():
    bad, good = table_rows('a,b\n"He" said,x\nx,y\n')
    assert isinstance(bad, BadRow)
    assert bad.where == "f:2"
    assert bad.reason.startswith("The quotes are not as they should be")
    assert values([good]) == [{"a": "x", "b": "y"}]


def test_quote_that_never_closes_stops_where_it_opens():
    with pytest.raises(DataError, match="A quote opens here and never closes; at f:3"):
        table_rows('a,b\nx,y\n"open,y\n1,2\n3,4\n')


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(DataError, match="Two columns are called 'a'; at f:1; rename one"):
        table_rows("a,b,a\n1,2,3\n")


@pytest.mark.parametrize("delimiter", [";", "|"])
def test_other_delimiter_is_named(delimiter):
    with pytest.raises(DataError, match=f"seem to be parted by '[{delimiter}]'; at f:1"):
        table_rows(f"document{delimiter}summary\nx{delimiter}y\n")


def test_field_may_be_longer_than_the_csv_module_allows_by_itself():
    long = "word " * 40_000
    assert values(table_rows(f"a,b\n{long},x\n")) == [{"a": long, "b": "x"}]


@pytest.mark.parametrize("text", ["", "\n", "a,b\n"])
def test_table_without_rows_has_none(text):
    assert table_rows(text) == []


@given(st.text(alphabet='a,"\n\r\t;\0', max_size=30))
def test_any_table_gives_rows_or_bad_rows_or_a_data_error(text):
    with suppress(DataError):
        assert all(isinstance(row, Row | BadRow) for row in table_rows(text))
