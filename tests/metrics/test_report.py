import io
import json

from rich.console import Console

from pgsum.metrics.bootstrap import Figure
from pgsum.metrics.report import metrics_json, rows, table
from pgsum.metrics.rouge import METRICS

OF_P_AND_R = {"p_low": 0.25, "p_high": 0.375, "r_low": 0.4375, "r_high": 0.5625}
SYSTEMS = {
    "pointer_gen_cov": dict.fromkeys(
        METRICS, Figure(1 / 3, 0.5, 0.39260250, 0.39044, 0.39482, **OF_P_AND_R)
    ),
    "[b]lead-3": dict.fromkeys(METRICS, Figure(0.0, 1.0, 0.5, 0.25, 1.0, **OF_P_AND_R)),
}


def drawn(width):
    out = io.StringIO()
    Console(file=out, width=width).print(table(SYSTEMS))
    return out.getvalue()


def test_json_has_a_figure_for_each_system_metric_and_part():
    content = json.loads(metrics_json(signature="ROUGE|n:2", n=2, systems=SYSTEMS))
    assert content["signature"] == "ROUGE|n:2"
    assert content["n"] == 2
    assert list(content["systems"]) == list(SYSTEMS)
    assert list(content["systems"]["pointer_gen_cov"]) == list(METRICS)
    assert content["systems"]["pointer_gen_cov"]["rouge1"] == {
        "p": 33.3333,
        "r": 50.0,
        "f": 39.2602,
        "low": 39.044,
        "high": 39.482,
        "p_low": 25.0,
        "p_high": 37.5,
        "r_low": 43.75,
        "r_high": 56.25,
    }


def test_rows_give_f1_with_its_interval():
    heading, first, _ = rows(SYSTEMS)
    assert heading == ["system", "R-1", "R-2", "R-L", "R-Lsum"]
    assert first == ["pointer_gen_cov"] + ["39.26 [39.04, 39.48]"] * 4


def test_the_table_fits_80_columns_and_keeps_figures_whole():
    lines = drawn(80).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["pointer_gen_cov", "39.26", "39.26", "39.26", "39.26"]
    assert lines[2].split() == ["[39.04,", "39.48]"] * 4


def test_a_name_is_text_and_no_markup():
    assert "[b]lead-3" in drawn(80)
