import io
import json

from rich.console import Console

from pgsum.metrics.bootstrap import Figure
from pgsum.metrics.measures import Average
from pgsum.metrics.report import captions, measures_table, metrics_json, rows, table
from pgsum.metrics.rouge import METRICS

OF_P_AND_R = {"p_low": 0.25, "p_high": 0.375, "r_low": 0.4375, "r_high": 0.5625}
SYSTEMS = {
    "pointer_gen_cov": dict.fromkeys(
        METRICS, Figure(1 / 3, 0.5, 0.39260250, 0.39044, 0.39482, **OF_P_AND_R)
    ),
    "[b]lead-3": dict.fromkeys(METRICS, Figure(0.0, 1.0, 0.5, 0.25, 1.0, **OF_P_AND_R)),
}
AVERAGES = {
    "summaries": {"words": Average(57.04, 50.0), "novel_2grams": Average(0.0625, 0.05)},
    "references": {"words": Average(52.5, 50.0), "coverage": Average(0.9, 0.875)},
}


def drawn(width, renderable=None):
    out = io.StringIO()
    Console(file=out, width=width).print(renderable or table(SYSTEMS))
    return out.getvalue()


def test_json_has_a_figure_for_each_system_metric_and_part():
    content = json.loads(
        metrics_json(signature="ROUGE|n:2", n=2, systems=SYSTEMS, averages=AVERAGES)
    )
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


def test_json_has_shares_in_percent_and_other_measures_as_they_are():
    content = json.loads(metrics_json(signature="", n=2, systems=SYSTEMS, averages=AVERAGES))
    assert content["measures"]["summaries"] == {
        "words": {"micro": 57.04, "macro": 50.0},
        "novel_2grams": {"micro": 6.25, "macro": 5.0},
    }
    assert content["measures"]["references"]["coverage"] == {"micro": 90.0, "macro": 87.5}


def test_measures_stand_beside_those_of_the_references_as_far_as_there_are_any():
    table = measures_table({"[b]mine": AVERAGES["summaries"]}, AVERAGES["references"])
    lines = drawn(80, table).splitlines()
    assert [line.split() for line in lines] == [
        ["[b]mine", "references"],
        ["words", "57.04", "52.50"],
        ["novel", "2-grams", "6.25%"],
        ["coverage", "90.00%"],
    ]


def test_captions_say_what_figures_are_not():
    assert len(captions(SYSTEMS)) == 1
    baselines = dict.fromkeys(("oracle", "document"), SYSTEMS["[b]lead-3"])
    bound, whole, _ = captions({**SYSTEMS, **baselines})
    assert bound.startswith("oracle chooses sentences by looking at the references")
    assert whole == "document is each document whole, as if nothing had been summarized."


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
