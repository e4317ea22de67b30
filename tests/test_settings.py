import math
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.errors import ConfigError
from pgsum.settings import Range, Section, own_settings, shown, unknown_key


@dataclass
class Oven(Section, prefix="oven."):
    """A section as small as can be."""

    heat: Annotated[float, Range(0, 250)] = 180.0
    """Degrees,
    Celsius."""
    shelf: Annotated[int, Range(1)] | None = None
    mode: Literal["fan", "grill"] = "fan"
    light: bool = True
    """While the door is shut."""
    label: str = "oven"


SETTINGS = {setting.name: setting for setting in own_settings(Oven)}


def test_a_setting_is_read_off_its_field():
    assert list(SETTINGS) == ["heat", "shelf", "mode", "light", "label"]
    assert SETTINGS["heat"].key == "oven.heat"
    assert SETTINGS["heat"].meaning == "Degrees, Celsius."
    assert SETTINGS["shelf"].meaning == ""
    assert SETTINGS["shelf"].optional
    assert SETTINGS["mode"].choices == ("fan", "grill")
    assert SETTINGS["label"].kind is str


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("heat", "1e2", 100.0),
        ("heat", 90, 90.0),
        ("shelf", "3", 3),
        ("shelf", None, None),
        ("mode", "grill", "grill"),
        ("light", "no", False),
        ("light", "True", True),
        ("light", False, False),
        ("label", "no", "no"),
        ("label", "3", "3"),
        ("label", "a b, c=d é '\"", "a b, c=d é '\""),
    ],
)
def test_a_text_becomes_the_type_of_its_field(name, raw, value):
    read = SETTINGS[name].read(raw, where="here")
    assert (read, type(read)) == (value, type(value))


@pytest.mark.fault(39)
@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        (
            "heat",
            "warm",
            r"oven\.heat is 'warm': it must be a finite number at least 0 and at most",
        ),
        ("heat", "nan", r"oven\.heat is nan: it must be a finite number"),
        ("heat", "inf", r"oven\.heat is inf"),
        ("heat", "-1", r"oven\.heat is -1\.0: .* at least 0 and at most 250"),
        ("heat", 10**400, r"oven\.heat is 1000"),
        ("heat", True, r"oven\.heat is true"),
        ("heat", None, r"oven\.heat is null"),
        ("shelf", "0", r"oven\.shelf is 0: it must be a whole number at least 1, or null"),
        ("shelf", "1.5", r"oven\.shelf is '1\.5': it must be a whole number"),
        ("shelf", 1.0, r"oven\.shelf is 1\.0: it must be a whole number"),
        ("shelf", "9" * 5000, r"oven\.shelf is '9999"),
        ("shelf", [1], r"oven\.shelf is"),
        ("mode", "gril", r"must be one of fan, grill; at here; did you mean oven\.mode=grill\?"),
        ("mode", False, r"oven\.mode is false"),
        ("light", "maybe", r"oven\.light is 'maybe': it must be true or false"),
        ("light", 1, r"oven\.light is 1"),
        ("label", False, r"oven\.label is false: it must be text"),
        ("label", " ", r"oven\.label is ' ': it must be text; at here; for example oven\.label=ov"),
        ("label", "a\x00b", r"oven\.label holds a control character"),
        ("label", "${oc.env:HOME}", r"nothing is put in for \${...}"),
    ],
)
def test_a_value_is_refused_with_its_key_and_limits(name, raw, message):
    with pytest.raises(ConfigError, match=message) as caught:
        SETTINGS[name].read(raw, where="here")
    assert caught.value.where == "here"


def test_a_section_cannot_be_made_with_a_bad_value():
    with pytest.raises(ConfigError, match=r"oven\.heat is 300\.0.*; at oven\.heat"):
        Oven(heat=300.0)


@given(st.floats())
def test_no_range_holds_what_is_not_finite(value):
    assert (value in Range()) == math.isfinite(value)


def test_open_ends_are_left_out():
    inside = Range(above=0, below=1)
    assert [x in inside for x in (0, 0.5, 1)] == [False, True, False]
    assert str(inside) == "above 0 and below 1"


@pytest.mark.fault(39)
@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("oven.haet", "did you mean oven.heat?"),
        ("heat", "did you mean oven.heat?"),
        ("heatt", "did you mean oven.heat?"),
        ("fridge.zzz", "`pgsum train --print-config` lists every setting"),
    ],
)
def test_an_unknown_key_names_its_nearest(key, hint):
    error = unknown_key(key, [s.key for s in SETTINGS.values()], where=key)
    assert error.message == f"'{key}' is not a setting."
    assert error.hint == hint


@given(st.text())
def test_what_an_error_repeats_is_short_and_printable(value):
    text = shown(value)
    assert len(text) <= 60
    assert not any(ord(c) < 32 for c in text)
