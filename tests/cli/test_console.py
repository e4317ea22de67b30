import io
import json
import os
import sys
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from pgsum.cli import console, progress
from pgsum.errors import DataError


@pytest.fixture(autouse=True)
def fresh_mode(monkeypatch):
    monkeypatch.setattr(console, "mode", console.Mode())


@given(st.text())
def test_a_line_holds_nothing_that_moves_the_cursor(text):
    line = console.one_line(text)
    assert line.isprintable() or all(
        c.isprintable() or not (ord(c) < 32 or 0x7F <= ord(c) < 0xA0) for c in line
    )
    assert len(line.splitlines()) <= 1


def test_breaks_become_blanks_and_control_characters_are_spelt():
    assert console.one_line(" a\r\nb\tc\u2028d") == " a b c d"
    assert console.one_line("\x1b[2Jred\x00 \u202eturned") == "\\x1b[2Jred\\x00 \\u202eturned"
    assert console.one_line("naïve 中文 👩‍👧") == "naïve 中文 👩‍👧"


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.booleans())))
def test_an_object_is_one_printable_line_and_reads_the_same(content):
    kept, sys.stdout = sys.stdout, io.StringIO()
    try:
        console.json_data(content)
        line = sys.stdout.getvalue()
    finally:
        sys.stdout = kept
    assert line.count("\n") == len(line.splitlines()) == 1
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in line[:-1])
    assert json.loads(line) == content


def test_a_table_holds_nothing_that_moves_the_cursor(capsys):
    console.drawing(Text("R-1 \x1b[31m\u202e"))
    assert capsys.readouterr().out == "R-1 \\x1b[31m\\u202e\n"


def test_quiet_silences_notes_but_not_warnings(capsys):
    console.set_mode(quiet=True)
    console.note("by the way")
    console.warning("beware")
    assert capsys.readouterr() == ("", "warning: beware\n")


@pytest.fixture
def clock(monkeypatch):
    """`clock.now` is the time."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    return clock


def test_among_json_all_lines_are_objects_unless_verbose(capsys):
    console.set_mode(as_json=True)
    console.note("by the way")
    console.warning("beware of \x1b")
    console.error(DataError("It broke."))
    lines = capsys.readouterr().err.splitlines()
    assert [next(iter(json.loads(line).items())) for line in lines] == [
        ("warning", "beware of \x1b"),
        ("error", "It broke."),
    ]
    console.set_mode(as_json=True, verbose=True)
    console.note("by the way")
    assert capsys.readouterr().err == "by the way\n"


def test_without_a_terminal_progress_is_a_line_now_and_then(capsys, clock):
    with progress.progress() as report:
        report("training", 1, 100)
        clock.now += 19
        report("training", 20, 100, "loss 3.2")
        clock.now += 5
        report("training", 30, 100)
        clock.now += 172
        report("training", 50, 100)
        clock.now += 10
        report("summarizing", 60)
    assert capsys.readouterr().err.splitlines() == [
        "training: 20 of 100, 80 s left, loss 3.2",
        "training: 50 of 100, 3 min left",
        "summarizing: 60",
    ]


def test_time_left_is_that_of_the_stage_by_its_own_pace(capsys, clock):
    with progress.progress() as report:
        clock.now += 600  # in which a corpus is prepared
        report("training", 1, 2001)
        for step in range(2, 52):
            clock.now += 0.3
            report("training", step, 2001)
        clock.now += 60
        report("scoring", 10, 100)
        clock.now += 10
        report("scoring", 30, 100)
    assert capsys.readouterr().err.splitlines() == [
        "training: 1 of 2,001",
        "training: 35 of 2,001, 10 min left",
        "scoring: 10 of 100",
        "scoring: 30 of 100, 35 s left",
    ]


def test_time_left_is_as_reported_where_that_is_known_better(capsys, clock):
    with progress.progress() as report:
        report("training", 1, 100)
        clock.now += 20
        report("training", 50, 100, "loss 3.2", seconds_left=240.0)
    assert capsys.readouterr().err == "training: 50 of 100, 4 min left, loss 3.2\n"


def test_time_left_is_not_told_from_a_moment(clock, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0)
    with progress.progress() as report:
        for step in range(1, 12):
            report("training", step, 50)
            clock.now += 1
    told = capsys.readouterr().err.splitlines()
    assert [line.endswith(" s left") for line in told] == [False] * 5 + [True] * 6


def test_quiet_shows_no_progress(capsys, monkeypatch):
    console.set_mode(quiet=True)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0)
    with progress.progress() as report:
        report("training", 1, 2)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_progress_is_a_bar_and_notes_stand_above_it(capsys, monkeypatch):
    main_end, terminal_end = os.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with open(terminal_end, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with progress.progress() as report:
            report("training", 3, 8, "loss [3.2]")
            console.note("a [bold] note")
            console.data("data")
            time.sleep(0.3)  # until the bar is drawn anew
    shown = os.read(main_end, 65536).decode("utf-8")
    os.close(main_end)
    assert "a [bold] note" in shown
    assert "training" in shown
    assert "3/8" in shown
    assert "loss [3.2]" in shown
    assert "data" not in shown
    assert capsys.readouterr().out == "data\n"
