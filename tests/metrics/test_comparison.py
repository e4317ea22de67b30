import io
import json

import numpy as np
import pytest
from rich.console import Console

from pgsum.metrics import comparison_report as report
from pgsum.metrics.comparison import Comparison, Difference
from pgsum.metrics.comparison import compare as compare_with_measures
from pgsum.metrics.measures import Average
from pgsum.metrics.rouge import METRICS

SIGNATURE = "ROUGE|n:4|multi:max"


def scores(*values):
    return {metric: np.array(values, dtype=float) for metric in METRICS}


def compare(systems):
    return compare_with_measures(systems, signature=SIGNATURE, measures={}, references={})


def drawn(n, *, gain, rng):
    base = rng.uniform(20, 60, n)
    return {
        "first": scores(*base),
        "second": scores(*(base + gain + rng.normal(0, 5, n))),
    }


def test_a_system_against_itself_does_not_differ():
    same = scores(10, 20, 30, 40)
    for d in compare({"a": same, "b": same}).differences:
        assert (d.value, d.low, d.high, d.p, d.p_holm) == (0, 0, 0, 1, 1)
        assert not d.distinguishable


def test_means_and_differences_are_those_of_the_examples():
    found = compare({"a": scores(10, 20), "b": scores(30, 60)})
    assert found.means["b"]["rougeL"] == 45
    assert [d.metric for d in found.of("b")] == list(METRICS)
    assert {d.value for d in found.differences} == {30}
    assert (found.n, found.several, found.of("a")) == (2, False, [])


def test_a_known_gain_is_found_and_has_its_sign():
    found = compare(drawn(400, gain=2, rng=np.random.default_rng(1)))
    for d in found.differences:
        assert d.distinguishable
        assert d.p < 0.01
        assert 0 < d.low < d.value < d.high


def test_holm_counts_all_systems_that_are_compared():
    rng = np.random.default_rng(2)
    systems = drawn(60, gain=1.2, rng=rng)
    alone = compare(systems).differences[0]
    beside = compare({**systems, "third": systems["first"]})
    (with_third,) = [d for d in beside.of("second") if d.metric == "rouge1"]
    assert (with_third.p, with_third.low) == (alone.p, alone.low)
    assert alone.p_holm == alone.p
    assert with_third.p_holm == pytest.approx(min(1, 2 * alone.p))
    assert "after Holm" in report.line(beside)


@pytest.mark.parametrize(
    ("low", "p", "expected"), [(0.1, 0.049, True), (0.1, 0.05, False), (-0.1, 0.01, False)]
)
def test_both_interval_and_p_must_speak_for_a_difference(low, p, expected):
    assert Difference("b", "a", "rouge1", 1.0, low, 2.0, 0.01, p).distinguishable == expected


def odd_names():
    differences = tuple(
        Difference("b_2|<x>", "a&1%", metric, -0.001, -1.0, 0.5, 0.3, 0.6) for metric in METRICS
    )
    means = {"a&1%": dict.fromkeys(METRICS, 40.0), "b_2|<x>": dict.fromkeys(METRICS, 39.999)}
    measures = {
        "a&1%": {"words": Average(7.0, 7.0), "supported_numbers": Average(0.5, 0.6)},
        "b_2|<x>": {"words": Average(8.0, 8.0)},
    }
    return Comparison(SIGNATURE, 4, 1, means, differences, measures, {"words": Average(9.0, 9.0)})


def test_names_are_escaped_for_markdown_and_latex():
    markdown = report.markdown(odd_names())
    assert r"| b\_2\|\<x\> | R-1 | 40.00 |" in markdown
    assert r"|  | a&1% | b\_2\|\<x\> | references |" in markdown
    latex = report.latex(odd_names())
    assert r"b\_2\textbar{}\textless{}x\textgreater{} & R-1" in latex
    assert r"a\&1\% & R-1 & 40.00" in latex
    assert r" & a\&1\% & b\_2\textbar{}\textless{}x\textgreater{} & references \\" in latex


def test_how_systems_wrote_stands_side_by_side_in_every_form():
    comparison = odd_names()
    row = ["numbers in the document (proxy)", "50.00%", "", ""]
    assert f"| {' | '.join(row)} |" in report.markdown(comparison)
    assert " & ".join(row).replace("%", r"\%") + r" \\" in report.latex(comparison)
    content = json.loads(report.comparison_json(comparison))
    assert content["measures"]["a&1%"]["supported_numbers"] == {"micro": 50.0, "macro": 60.0}
    assert content["references"] == {"words": {"micro": 9.0, "macro": 9.0}}
    out = io.StringIO()
    Console(file=out, width=80).print(report.measures(comparison))
    assert "numbers in the document (proxy)  50.00%" in out.getvalue()


def test_what_cannot_be_told_apart_is_called_so_in_every_form():
    comparison = odd_names()
    assert "-0.00" not in report.markdown(comparison)
    for text in (
        report.sentences(comparison)[0],
        report.line(comparison),
        report.markdown(comparison),
        report.latex(comparison),
    ):
        assert "not distinguishable" in text
    content = json.loads(report.comparison_json(comparison))
    assert not any(found["distinguishable"] for found in content["comparisons"])
    assert content["signature"] in report.line(comparison) == content["line"]
