"""`make fuzz` counts what it has tried, and a property that fails is told."""

import runpy
from pathlib import Path

import pytest

FUZZ = runpy.run_path(str(Path(__file__).with_name("__main__.py")), run_name="fuzz")
SOUND = "tests/metrics/test_lcs.py"


@pytest.mark.slow
def test_cases_are_counted_by_property_and_a_failure_is_told(tmp_path):
    tried = FUZZ["run"](["-m", "hypothesis", SOUND], seed=1)
    assert tried.fault is None
    assert {name.partition("::")[0] for name in tried.cases} == {SOUND}
    assert min(tried.cases.values()) >= 200
    broken = tmp_path / "test_broken.py"
    broken.write_text(
        "from hypothesis import given, strategies as st\n"
        "@given(st.integers())\ndef test_small(n): assert n < 7\n",
        encoding="utf-8",
    )
    assert "assert 7 < 7" in FUZZ["run"]([str(broken)], seed=1).fault
