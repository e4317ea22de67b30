import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsum.errors import ConfigError
from pgsum.explain.curves import (
    CHARTS,
    Point,
    curves_page,
    read_metrics,
    round_numbers,
    thinned,
    write_curves,
)

HOSTILE = """<img src=x onerror=alert(1)>"'&amp;</script><!--{{ 7 * 7 }}"""


def metrics(
    steps: int, *, every: int = 1, validate_every: int = 20
) -> list[dict[str, int | float]]:
    """A training as metrics.jsonl has it, each of its values another."""
    lines: list[dict[str, int | float]] = []
    for step in range(every, steps + 1, every):
        lines.append(
            {
                "step": step,
                "train_loss": 2 + 5 / step,
                "train_unreachable": 0.01,
                "train_p_gen": 0.5 + 0.4 / step,
                "train_coverage_loss": 0.9 - 0.5 / step,
                "tokens_per_second": 9000 + step,
                "grad_norm": abs(math.sin(step)),
                "learning_rate": 0.002 * (1 - step / (steps + 1)),
                "memory_mb": 700 + step / 7,
            }
        )
        if step % validate_every == 0:
            best = 40 - abs(step - 2 * validate_every) / steps
            lines.append(
                {
                    "step": step,
                    "val_loss": 3 + 1 / step,
                    "val_rouge1": best,
                    "val_rouge2": best / 2,
                    "val_rougeL": best - 3,
                    "val_rougeLsum": best - 2,
                    "val_rouge_mean": best - 9,
                }
            )
    return [
        {name: value if name == "step" else float(f"{value:.6g}") for name, value in line.items()}
        for line in lines
    ]


class Page(HTMLParser):
    """What a browser would find: elements with attributes, texts, and the data of the script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(html)
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
        self.data = json.loads(data[1])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())
        if self.rows and self.rows[-1] and data.strip():
            self.rows[-1][-1] += data

    @property
    def titles(self) -> list[str]:
        return [title for title in (chart.title for chart in CHARTS) if title in self.texts]

    def curves(self, title: str) -> list[list[tuple[float, float]]]:
        """Step and value of each point of the curves of a chart, as the page says them."""
        found = self.data[self.titles.index(title)]
        texts = [[text for _, _, text in curve] for curve in found]
        parsed = [[text.replace(",", "").split(" at step ") for text in curve] for curve in texts]
        return [[(float(step), float(value)) for value, step in curve] for curve in parsed]


def page(lines: list[dict[str, int | float]], name: str = "run") -> Page:
    return Page(curves_page(lines, name=name, metric="rouge1"))


def test_each_point_of_each_curve_is_what_metrics_jsonl_says():
    lines = metrics(100)
    drawn = page(lines)
    assert drawn.titles == [chart.title for chart in CHARTS]
    for chart in CHARTS:
        for key, points in zip(chart.curves, drawn.curves(chart.title), strict=True):
            assert points == [(line["step"], line[key]) for line in lines if key in line], key


def test_the_table_has_each_validation_and_marks_the_best():
    lines = metrics(100)
    heading, *rows = page(lines).rows
    assert heading[:4] == ["step", "loss", "R-1", "R-2"]
    validated = [line for line in lines if "val_loss" in line]
    assert [row[0] for row in rows] == [str(line["step"]) for line in validated]
    assert [row[2] for row in rows] == [f"{line['val_rouge1']:.2f}" for line in validated]
    assert [row[0] for row in rows if row[-1] == "best by rouge1"] == ["40"]


def test_a_point_stands_where_the_axes_say_that_it_stands():
    lines = [{"step": 50, "train_p_gen": 0.25}, {"step": 100, "train_p_gen": 1.0}]
    html = curves_page(lines, name="run", metric="rouge1")
    texts = re.findall(r'<text class="(\w+)" x="(\S+)" y="(\S+)">(.*)</text>', html)
    steps = {text: float(x) for kind, x, _, text in texts if kind == "step"}
    values = {text: float(y) - 4 for kind, _, y, text in texts if kind == "value"}
    (((x, y, _), last),) = Page(html).data[0]
    assert last == [steps["100"], values["1"], "1 at step 100"]
    assert x == pytest.approx((steps["0"] + steps["100"]) / 2, abs=0.1)
    assert y == pytest.approx(values["0"] + (values["1"] - values["0"]) / 4, abs=0.1)


@pytest.mark.parametrize(
    ("key", "title"), [("train_coverage_loss", "Coverage loss"), ("train_p_gen", "p_gen")]
)
def test_a_model_without_coverage_or_pointer_has_no_picture_of_it(key, title):
    lines = [{k: v for k, v in line.items() if k != key} for line in metrics(40)]
    assert title in page(metrics(40)).titles
    assert page(lines).titles == [chart.title for chart in CHARTS if chart.title != title]


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_a_short_run_has_a_page_and_each_of_its_points_a_mark(steps):
    drawn = page(metrics(steps))
    circles = [a for tag, a in drawn.elements if tag == "circle" and "cx" in a]
    assert len(circles) == 7 * steps, "seven charts that have no validation"
    assert ("Nothing has been logged yet." in drawn.texts) == (steps == 0)


def test_a_long_run_is_thinned_and_the_page_says_so():
    lines = metrics(500_000, every=10, validate_every=100_000)
    html = curves_page(lines, name="run", metric="rouge1")
    assert len(html) < 300_000
    drawn = Page(html)
    assert any("training: 300 of 50,000 values are drawn" in text for text in drawn.texts)
    logged = {(line["step"], line["grad_norm"]) for line in lines if "grad_norm" in line}
    (points,) = drawn.curves("Gradient norm")
    assert set(points) <= logged
    assert len(drawn.curves("Loss")[1]) == 5, "validations are few"


@given(
    st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=200),
    st.integers(min_value=6, max_value=50),
)
def test_thinning_keeps_ends_and_extremes_and_makes_nothing_up(values, most):
    points = [Point(step, value) for step, value in enumerate(values)]
    kept = thinned(points, most)
    assert len(kept) <= most
    assert list(kept) == [point for point in points if point in set(kept)]
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert max(kept, key=lambda p: p.value).value == max(values)
    assert min(kept, key=lambda p: p.value).value == min(values)


finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(finite, finite)
def test_an_axis_reaches_around_its_values_by_few_round_numbers(one, other):
    low, high = sorted((one, other))
    marks = round_numbers(low, high)
    rounded = 1e-8 * (abs(low) + abs(high))
    assert marks[0] <= low + rounded
    assert marks[-1] >= high - rounded
    assert 2 <= len(marks) <= 8
    assert all(a < b for a, b in pairwise(marks))


@settings(max_examples=30)
@given(st.lists(st.floats(width=32), max_size=30))
def test_whatever_a_loss_becomes_can_be_drawn(losses):
    lines = [{"step": step, "train_loss": loss} for step, loss in enumerate(losses, 1)]
    drawn = page(lines)
    if any(map(math.isfinite, losses)):
        assert len(drawn.curves("Loss")[0]) == sum(map(math.isfinite, losses))
    numbers = [
        float(a[name]) for _, a in drawn.elements for name in ("x", "y", "cx", "cy") if name in a
    ]
    assert all(0 <= number <= 340 for number in numbers)


def test_values_that_are_no_numbers_are_counted():
    lines = [{"step": 1, "train_loss": 2.0}, {"step": 2, "train_loss": math.nan}]
    assert any("1 of 2 values are drawn: finite ones" in text for text in page(lines).texts)


def test_of_a_step_that_was_logged_again_the_latter_counts():
    lines = [{"step": s, "train_loss": v} for s, v in ((1, 5.0), (2, 4.0), (3, 9.0), (3, 3.0))]
    assert page(lines).curves("Loss") == [[(1, 5.0), (2, 4.0), (3, 3.0)]]


def test_a_name_stays_text():
    drawn = page(metrics(40), name=HOSTILE)
    assert HOSTILE in drawn.texts
    assert f"{HOSTILE}: curves" in drawn.texts
    assert len(drawn.elements) == len(page(metrics(40)).elements), "no element more"


def test_the_page_asks_for_nothing():
    html = curves_page(metrics(40), name="run", metric="rouge1")
    drawn = Page(html)
    policy = next(a["content"] for tag, a in drawn.elements if tag == "meta" and "content" in a)
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    asking = {"src", "href", "srcset", "style", "onload", "onclick"}
    found = [(tag, a) for tag, a in drawn.elements if asking & set(a)]
    assert found == [("link", {"rel": "icon", "href": "data:,"})], "so none is looked for"
    assert not re.search(r"url\(|@import|https?:", html)


def test_the_page_stands_beside_the_metrics_and_is_named_after_the_folder(tmp_path):
    folder = tmp_path / "a <b> & 'c'"
    folder.mkdir()
    path = folder / "metrics.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in metrics(5)), encoding="utf-8")
    write_curves(path, metric="rouge1")
    assert sorted(entry.name for entry in folder.iterdir()) == ["curves.html", "metrics.jsonl"]
    assert folder.name in Page((folder / "curves.html").read_text(encoding="utf-8")).texts


def test_a_line_that_was_cut_short_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert read_metrics(path) == []
    path.write_text('{"step": 1, "train_loss": 2.5}\n{"step": 2, "trai', encoding="utf-8")
    assert read_metrics(path) == [{"step": 1, "train_loss": 2.5}]


def test_a_page_that_cannot_be_written_leaves_nothing_half_done(tmp_path):
    (tmp_path / "curves.html").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        write_curves(tmp_path / "metrics.jsonl", metric="rouge1")
    assert [entry.name for entry in tmp_path.iterdir()] == ["curves.html"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_pointer_and_keys_show_the_values_logged(opened, scheme):
    html = curves_page(metrics(100), name=HOSTILE, metric="rouge1")
    page = opened(html, width=360, scheme=scheme)
    chart, said = page.locator(".chart").first, page.locator("figure:first-child output")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    box = chart.bounding_box()
    chart.hover(position={"x": box["width"] * 184 / 340, "y": box["height"] / 2})
    assert said.all_text_contents() == ["2.1 at step 50", f"{3 + 1 / 40:g} at step 40"]
    chart.press("ArrowRight")
    assert said.all_text_contents() == [f"{2 + 5 / 51:.6g} at step 51", "3.01667 at step 60"]
    page.mouse.move(0, 0)
    assert said.all_text_contents() == ["2.05 at step 100", "3.01 at step 100"]
