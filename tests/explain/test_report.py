"""The report of an evaluation: what it is made of, and what a browser makes of it."""

import json
import re

import pytest
from reference.explained import make_summary

from pgsum.errors import ConfigError
from pgsum.explain.content import Explained
from pgsum.explain.report import Report, Row, examples, report_page, write_report

FIGURES = [["system", "R-1", "R-2"], ["<b>tiny", "36.45 [34.02, 39.12]", "12.29 [10.17, 14.55]"]]
MEASURES = [["", "<b>tiny", "references"], ["novel 2-grams", "6.25%", "30.00%"]]
HOSTILE = '</script><img src=x onerror=alert(1)>{{7*7}}"'


def row(number: int, **changes: object) -> Row:
    content = {
        "id": f"x{number}",
        "prediction": f"summary {number}",
        "references": (f"reference {number}",),
        "scores": {"rouge1": number / 100, "rouge2": 1 - number / 100},
        "statistics": {"words": float(number % 7), "p_gen": number / 100},
        "flags": frozenset({"with UNK"} if number % 10 == 0 else ()),
    }
    return Row(**content | changes)


def report(rows: list[Row], **changes: object) -> Report:
    content = {
        "title": "tiny on toys",
        "figures": FIGURES,
        "signature": "ROUGE|n:2",
        "measures": MEASURES,
        "rows": rows,
        "explained": [
            Explained("x1", make_summary()),
            Explained("x2", make_summary("Quite else.")),
        ],
        "notes": ["Two summaries are empty."],
    }
    return Report(**content | changes)


def ids(shown):
    return [
        text.removesuffix(" explain") for text in shown.locator("#rows .id").all_text_contents()
    ]


def test_a_third_of_the_examples_is_the_best_a_third_the_worst_and_the_rest_chance():
    scores = [0.5, 0.9, 0.1, 0.4, 0.8, 0.2, 0.6, 0.3, 0.7]
    chosen = examples(scores, 7, seed=1)
    assert chosen[:4] == [1, 4, 5, 2]
    assert len(set(chosen)) == 7
    assert chosen == examples(scores, 7, seed=1)
    assert {tuple(examples(scores, 7, seed=seed)[4:]) for seed in range(20)} > {tuple(chosen[4:])}
    assert (
        examples(scores, 9, seed=1) == examples(scores, 99, seed=1) == [1, 4, 8, 6, 0, 3, 7, 5, 2]
    )
    assert examples([], 5, seed=1) == examples(scores, 0, seed=1) == []


def test_a_statistic_that_a_row_lacks_is_null():
    html = report_page(report([row(1), row(2, statistics={"words": 3.0})]))
    (data,) = re.findall(r'<script type="application/json" id="data">(.*)</script>', html)
    content = json.loads(data)
    assert content["statistics"] == ["words", "p_gen"]
    assert [each[4] for each in content["rows"]] == [[1, 0.01], [3.0, None]]


def test_the_file_is_written_and_what_cannot_be_written_is_said(tmp_path):
    write_report(tmp_path / "report.html", report([row(1)]))
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report_page(report([row(1)]))
    with pytest.raises(ConfigError, match="The file cannot be written") as caught:
        write_report(tmp_path / "no" / "report.html", report([row(1)]))
    assert caught.value.hint == "name another with --report"


def test_eleven_thousand_rows_are_sorted_and_filtered_and_a_page_is_drawn(opened):
    rows = [row(n % 100, id=f"x{n}", prediction=f"summary {n}") for n in range(11_000)]
    shown = opened(report_page(report(rows)))
    assert shown.locator("#rows tbody tr").count() == 50
    assert shown.locator("#range").inner_text() == "1 to 50 of 11,000"
    shown.locator("#after").click()
    assert ids(shown)[0] == "x50"
    shown.get_by_role("button", name="rouge1", exact=True).click()
    assert ids(shown)[:2] == ["x99", "x199"]
    shown.get_by_role("button", name="rouge1", exact=True).click()
    assert ids(shown)[:2] == ["x0", "x100"]
    assert shown.locator("th[aria-sort=ascending]").inner_text().startswith("rouge1")
    shown.locator("#worst").check()
    assert shown.locator("#range").inner_text() == "1 to 50 of 1,100 (all: 11,000)"
    assert ids(shown)[0] == "x90"
    shown.get_by_label("with UNK").check()
    assert shown.locator("#range").inner_text() == "1 to 50 of 110 (all: 11,000)"
    shown.locator("#worst").uncheck()
    shown.locator("#search").fill("SUMMARY 1990")
    assert ids(shown) == ["x1990"]
    shown.locator("#search").fill("nowhere")
    assert shown.locator("#range").inner_text() == "none (all: 11,000)"
    assert shown.locator("#after").is_disabled()


def test_figures_and_what_they_hang_on_are_there(opened):
    shown = opened(report_page(report([row(n) for n in range(30)])))
    figures = shown.locator(".figures").first
    assert figures.locator("th[scope=row]").inner_text() == "<b>tiny"
    assert "36.45 [34.02, 39.12]" in figures.inner_text()
    assert "ROUGE|n:2" in shown.locator("code").inner_text()
    assert "Two summaries are empty." in shown.locator("body").inner_text()
    figures = shown.locator("#histograms figure")
    texts = [figures.nth(n).inner_text().split() for n in range(4)]
    assert texts == [
        ["rouge1", "0.00", "mean", "14.50", "29.00"],
        ["rouge2", "71.00", "mean", "85.50", "100.00"],
        ["words", "0", "mean", "2.833", "6"],
        ["p_gen", "0", "mean", "0.145", "0.29"],
    ]
    assert shown.locator("#histograms path").nth(2).get_attribute("d").count("M") == 7


def test_measures_stand_beside_those_of_references_and_changed_settings_below_figures(opened):
    shown = opened(report_page(report([row(1)], settings=["decode.copy_bias=2.0", HOSTILE])))
    measures = shown.get_by_role("group", name="Measures, to be scrolled")
    assert measures.inner_text().split("\n") == [
        "\t<b>tiny\treferences",
        "novel 2-grams\t6.25%\t30.00%",
    ]
    said = shown.get_by_text("Settings of the search that differ").inner_text()
    assert said.endswith(f": decode.copy_bias=2.0, {HOSTILE}.")
    assert "Settings of the search" not in report_page(report([row(1)]))


def test_a_row_leads_to_its_explanation(opened):
    shown = opened(report_page(report([row(n) for n in range(5)])))
    assert shown.locator("#rows tbody tr").count() == 5
    shown.locator("#only-explained").check()
    assert shown.locator("#rows .id button").count() == shown.locator("#rows tbody tr").count() == 2
    shown.locator("#only-explained").uncheck()
    shown.locator("#rows .id button").nth(1).click()
    assert shown.locator("#source").inner_text() == "Quite else."
    assert shown.locator("#explained-heading").evaluate("h => h === document.activeElement")
    shown.locator("#rows details").nth(3).locator("summary").click()
    assert shown.get_by_text("reference 3").is_visible()


def test_without_a_model_nothing_is_explained(opened):
    shown = opened(report_page(report([row(1)], explained=[])))
    assert not shown.locator("#explained").is_visible()
    assert shown.locator("#rows tbody tr").count() == 1


def test_hostile_text_stays_text(opened):
    hostile = row(
        1,
        id=HOSTILE,
        prediction=HOSTILE,
        references=(HOSTILE,),
        scores={HOSTILE: 0.5},
        statistics={HOSTILE: 1.0},
        flags=frozenset({HOSTILE}),
    )
    shown = opened(
        report_page(
            report(
                [hostile], title=HOSTILE, signature=HOSTILE, figures=[[HOSTILE]] * 2, explained=[]
            )
        )
    )
    assert shown.locator("img").count() == 0
    assert shown.locator("script").count() == 2
    assert shown.locator("h1").text_content() == HOSTILE
    assert ids(shown) == [HOSTILE]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_nothing_is_wider_than_the_window(opened, tmp_path, width, scheme):
    rows = [row(n, id="x" * 80, prediction="y" * 90) for n in range(9)]
    shown = opened(report_page(report(rows)), width=width, scheme=scheme)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    shown.screenshot(path=tmp_path / f"{scheme}-{width}.png", full_page=True)
