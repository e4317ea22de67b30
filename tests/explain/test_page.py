"""The page, as a browser shows it; without one, what can be read in its source."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest
from reference.explained import DOCUMENT, make_summary

from pgsum.explain.content import Explained, to_object
from pgsum.explain.page import page

HOSTILE = (
    '"><img src=x onerror=alert(1)>',
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "{{7*7}} {% raw %}",
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
    "&lt;b&gt; \u2028 \udc80",
)


def one(**changes: object) -> str:
    explained = Explained.scored("ada.txt", make_summary(**changes), ["Ada reads the book."])
    return page([explained], title="Summaries by tiny")


def word(opened_page, number):
    return opened_page.locator("#summary > span").nth(number)


def source(opened_page, number):
    return opened_page.locator("#source > span").nth(number)


def chosen(opened_page):
    return opened_page.locator(".chosen").all_text_contents()


# --- In its source -----------------------------------------------------------------------------


def test_the_policy_allows_the_one_script_and_nothing_else():
    html = one()
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert (
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:\">" in html
    )
    assert "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_the_data_are_json_that_ends_no_element():
    html = page([Explained(text, make_summary(text)) for text in HOSTILE], title="t")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*)</script>', html)
    assert "<" not in data
    assert [each["id"] for each in json.loads(data)["explained"]] == list(HOSTILE)


def test_twenty_long_summaries_are_smaller_than_a_megabyte_and_a_half():
    rng = np.random.default_rng(1)
    letters = np.array(list("etaoinshrdlu"))
    text = " ".join("".join(rng.choice(letters, 5)) for _ in range(800))
    words = tuple((text[6 * i : 6 * i + 5], i, False, 0.123456, -0.123456) for i in range(100))
    summary = make_summary(text, words=words)
    summary.attention[:] = rng.dirichlet(np.ones(400), 100)
    html = page([Explained.scored("a", summary, [text[:300]])] * 20, title="t")
    assert len(html.encode()) < 1_500_000


# --- In a browser --------------------------------------------------------------------------------


def test_pointing_at_a_word_shows_where_it_came_from(opened):
    shown = opened(one())
    file = to_object(Explained("a", make_summary()))
    word(shown, 2).hover()
    assert chosen(shown) == ["the"]
    tip = shown.locator("#tip").inner_text()
    assert "copied from token 17" in tip
    for key in ("generated_part", "copied_part", "log_probs"):
        assert f"{file[key][2]:.3f}" in tip
    assert "0.250" in tip
    assert "0.900 the (token 17)" in tip
    assert len(re.findall(r"\(token \d+\)", tip)) == 3
    assert shown.locator(".strongest").all_text_contents() == ["the"]
    weights = shown.locator("#source > span").evaluate_all(
        "spans => spans.map(span => Number(span.style.getPropertyValue('--weight')))"
    )
    assert np.argmax(weights) == 16
    shown.locator("h1").hover()
    assert chosen(shown) == []
    assert shown.locator("#tip").is_hidden()


def test_a_word_looks_as_it_came_about(opened):
    shown = opened(one())
    classes = [set(word(shown, i).get_attribute("class").split()) for i in range(4)]
    assert [{"copied", "oov"} & names for names in classes] == [
        {"copied", "oov"},
        set(),
        {"copied"},
        {"copied"},
    ]
    fills = [
        word(shown, i).evaluate("word => getComputedStyle(word).backgroundColor") for i in (1, 3)
    ]
    assert fills[0] != fills[1]
    lines = [
        word(shown, i).evaluate("word => getComputedStyle(word).borderBottomColor") for i in (1, 3)
    ]
    assert lines[0] == "rgba(0, 0, 0, 0)" != lines[1]


def test_the_strongest_position_is_scrolled_to(opened):
    document = "word " * 390 + "Ada reads"
    words = (("Ada", 390, False, 0.1, -0.1),)
    shown = opened(one(document=document, words=words))
    box = shown.locator("#source-box")
    assert box.evaluate("box => box.scrollTop") == 0
    word(shown, 0).hover()
    assert box.evaluate("box => box.scrollTop") > 0
    seen = source(shown, 390).bounding_box()
    around = box.bounding_box()
    assert around["y"] < seen["y"] < around["y"] + around["height"]


def test_the_keyboard_does_what_the_mouse_does(opened):
    shown = opened(one())
    for _ in range(20):
        shown.keyboard.press("Tab")
        if chosen(shown):
            break
    assert chosen(shown) == ["Ada"]
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("ArrowLeft")
    assert chosen(shown) == ["reads"]
    assert shown.locator("#tip").is_visible()
    assert word(shown, 1).get_attribute("aria-describedby") == "tip"
    shown.keyboard.press("End")
    assert chosen(shown) == ["book"]
    shown.keyboard.press("Enter")
    assert word(shown, 3).get_attribute("aria-pressed") == "true"
    shown.keyboard.press("Tab")
    assert chosen(shown) == ["book"]
    shown.keyboard.press("Escape")
    assert chosen(shown) == []


def test_a_click_keeps_a_word_until_the_next(opened):
    shown = opened(one())
    word(shown, 3).click()
    word(shown, 0).hover()
    assert chosen(shown) == ["book"]
    word(shown, 0).click()
    assert chosen(shown) == ["Ada"]
    word(shown, 0).click()
    shown.locator("h1").hover()
    assert chosen(shown) == []


def test_a_source_token_shows_the_words_that_used_it(opened):
    shown = opened(one())
    source(shown, 17).click()
    assert chosen(shown) == ["book"]
    assert shown.locator(".user").all_text_contents() == ["book"]
    tip = shown.locator("#tip").inner_text()
    assert "book (word 4), copied" in tip
    source(shown, 1).click()
    assert shown.locator(".user").count() == 0
    assert "no word" in shown.locator("#tip").inner_text()


def test_a_document_that_was_cut_has_a_line_and_the_rest_is_grey(opened):
    document = " ".join(f"w{i}" for i in range(500))
    shown = opened(one(document=document))
    assert shown.locator("#cut").inner_text() == "Cut here: 100 tokens not read"
    assert shown.locator("#source > span").count() == 400
    assert shown.locator("#unread").text_content().split() == [f"w{i}" for i in range(400, 500)]
    colours = [
        shown.locator(id_).evaluate("node => getComputedStyle(node).color")
        for id_ in ("#source", "#unread")
    ]
    assert colours[0] != colours[1]
    assert not opened(one()).locator("#cut").is_visible()


def test_attention_is_drawn_as_strip_tenths_and_matrix(opened):
    shown = opened(one())
    shares = [int(text.rstrip("%")) for text in shown.locator("#tenths li").all_text_contents()]
    assert len(shares) == 10
    assert sum(shares) == pytest.approx(100, abs=5)
    assert shown.locator("#coverage path").first.get_attribute("d").count("M") == 19
    assert shown.locator("#matrix").evaluate("m => [m.width, m.height]") == [19, 4]
    row = (
        "m => [...m.getContext('2d').getImageData(0, 3, 19, 1).data].filter((_, i) => i % 4 === 0)"
    )
    assert np.argmin(shown.locator("#matrix").evaluate(row)) == 17
    shown.locator("#matrix").click(position={"x": 5, "y": 40})
    assert chosen(shown) == ["the"]


def test_runs_of_words_are_marked_as_shared_new_or_said_again(opened):
    words = tuple(
        (token, None, False, 0.5, -1.0) for token in ("Ada", "reads", ",", "Ada", "reads", "Bob")
    )
    summary = make_summary(words=words)
    shown = opened(page([Explained.scored("a", summary, ["So Ada reads."])], title="t"))

    def marked(name: str) -> list[str]:
        return shown.locator(f"#summary .{name}").all_text_contents()

    assert marked("shared") == ["Ada", "reads", "Ada", "reads"]
    assert marked("again") == ["Ada", "reads", "Ada", "reads"]
    assert shown.locator("#references .shared").all_text_contents() == ["Ada", "reads"]
    assert marked("new") == []
    shown.locator("#mark-new").check()
    assert marked("new") == ["Ada", "reads", "Ada", "reads", "Bob"]
    shown.locator("#n").select_option("1")
    assert marked("new") == ["reads", "reads"]
    shown.locator("#n").select_option("3")
    assert marked("shared") == marked("again") == []
    shown.locator("#n").select_option("4")
    assert shown.locator("#counts").inner_text().startswith("2 of length 4: 2 not in")
    assert shown.locator("#scores td").first.inner_text() == "50.00"


def test_several_documents_are_a_list(opened):
    explained = [Explained(f"{n}.txt", make_summary()) for n in range(3)]
    explained[1] = Explained(
        "other", make_summary("Quite another text , with some words more in it .")
    )
    shown = opened(page(explained, title="t"))
    shown.locator("#documents button").nth(1).click()
    assert shown.locator("#source").inner_text().startswith("Quite another")
    assert shown.locator("[aria-current]").text_content().startswith("other")
    assert not opened(one()).locator("#documents").is_visible()


@pytest.mark.fault(20)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(opened, text):
    summary = make_summary(text + " " + DOCUMENT, words=((text, 1, True, 0.1, -0.1),))
    explained = Explained(text, summary, (text,), {text: 0.5})
    shown = opened(page([explained, explained], title=text))
    assert shown.locator("h1").text_content() == text.replace("\udc80", "\\udc80")
    for id_ in ("#summary", "#references p"):
        assert shown.locator(id_).text_content() == text, id_
    assert shown.locator("#source").text_content().startswith(text)
    word(shown, 0).hover()
    source(shown, 0).click()
    assert shown.locator("img, iframe, #explained script").count() == 0
    assert shown.locator("script").count() == 2


@pytest.mark.parametrize(
    ("attention", "pointer", "notes"),
    [(False, False, 2), (True, False, 1), (True, True, 0)],
    ids=["vector", "attention", "pointer"],
)
def test_what_a_model_does_not_have_is_said_and_not_drawn(opened, attention, pointer, notes):
    shown = opened(one(attention=attention, pointer=pointer))
    assert shown.locator("#notes li").count() == notes
    assert shown.locator("#matrix").is_visible() == attention
    assert shown.locator("#coverage").is_visible() == attention
    word(shown, 0).hover()
    assert ("copied from" in shown.locator("#tip").inner_text()) == pointer
    assert shown.locator(".strongest").count() == attention
    shown.keyboard.press("Escape")
    source(shown, 0).click()
    assert len(chosen(shown)) == attention


def test_an_empty_summary_is_shown_as_one(opened):
    shown = opened(one(words=()))
    assert shown.locator("#summary").inner_text() == "The summary is empty."
    assert not shown.locator("#matrix").is_visible()


@pytest.mark.fault(13)
def test_other_scripts_run_their_own_way(opened):
    document = "ذهب آدم إلى البيت الكبير . HTML 5 جديد"
    words = (("آدم", 1, True, 0.1, -0.1), ("البيت", 3, True, 0.1, -0.1))
    shown = opened(one(document=document, words=words))
    for id_ in ("#summary", "#source"):
        style = shown.locator(id_).evaluate(
            "node => [getComputedStyle(node).direction, getComputedStyle(node).unicodeBidi]"
        )
        assert style == ["rtl", "isolate"]
        assert shown.locator(id_).get_attribute("lang") == ""
    word(shown, 0).hover()
    tip = shown.locator("#tip dd").nth(4)
    assert tip.text_content() == "0.900 آدم (token 2)"
    assert tip.evaluate("dd => getComputedStyle(dd).direction") == "ltr"
    assert tip.locator("bdi").text_content() == "آدم"
    word(shown, 0).focus()
    shown.keyboard.press("ArrowLeft")
    assert word(shown, 1).evaluate("word => word === document.activeElement")


CONTRASTS = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((v, i) => i === 3 ? v / 255 : v);
  };
  const over = (top, below) => top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3]));
  const light = (rgb) => rgb.map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => node
    ? over(rgba(getComputedStyle(node).backgroundColor), ground(node.parentElement))
    : [255, 255, 255];
  const found = [];
  for (const node of document.body.querySelectorAll("*")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.checkVisibility() || node.matches("script, option")) continue;
    const ink = over(rgba(getComputedStyle(node).color), ground(node));
    const [a, b] = [light(ink), light(ground(node))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), node.outerHTML.slice(0, 80)]);
  }
  return found;
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_the_contrast_that_wcag_asks_for(opened, scheme):
    shown = opened(one(max_source_tokens=18), scheme=scheme)
    word(shown, 3).click()
    found = shown.evaluate(CONTRASTS)
    assert len(found) > 60
    assert [text for ratio, text in found if ratio < 4.5] == []


def test_every_control_has_a_name_and_can_be_reached(opened):
    explained = [Explained.scored(f"{n}.txt", make_summary(), ["Ada."]) for n in range(2)]
    shown = opened(page(explained, title="t"))
    reached = []
    for _ in range(30):
        shown.keyboard.press("Tab")
        reached.append(
            shown.evaluate("document.activeElement.id || document.activeElement.textContent")
        )
    assert {"n", "mark-shared", "mark-new", "mark-again", "Ada", "source-box"} <= set(reached)
    assert any(name.startswith("1.txt") for name in reached)
    unnamed = shown.locator("button, input, select, canvas, [role=img], [role=group]").evaluate_all(
        "nodes => nodes.filter(n => !(n.textContent.trim() || n.labels?.length || n.ariaLabel))"
        ".map(n => n.id)"
    )
    assert unnamed == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_nothing_is_wider_than_the_window(opened, tmp_path, width, scheme):
    explained = [
        Explained.scored("a/very/long/name/of/a/file/" + "x" * 60, make_summary(), ["Ada."]),
        Explained("b", make_summary("y" * 90 + " " + DOCUMENT)),
    ]
    shown = opened(page(explained, title="t" * 90), width=width, scheme=scheme)
    shown.locator("#documents button").nth(1).click()
    word(shown, 0).click()
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    tip = shown.locator("#tip").bounding_box()
    assert tip["x"] >= 0
    assert tip["x"] + tip["width"] <= width
    shown.screenshot(path=tmp_path / f"{scheme}-{width}.png", full_page=True)


def test_in_print_there_is_nothing_to_press(opened):
    shown = opened(page([Explained("a", make_summary())] * 2, title="t"))
    shown.emulate_media(media="print")
    assert not shown.locator("nav").is_visible()
    assert not shown.locator("fieldset").is_visible()
    assert shown.locator("#summary").is_visible()
    assert (
        shown.locator("#source-box").evaluate("box => getComputedStyle(box).overflowY") == "visible"
    )
