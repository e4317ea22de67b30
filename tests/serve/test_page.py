"""The page, as a browser shows it: of a server on this machine, with no way to any other."""

import json
from urllib.parse import urlsplit

import pytest
from reference.command_line import save_tiny_model

from pgsum.summarizer import Summarizer

TEXT = "The cat sat on the mat near Oslo, and a dog ran home."


@pytest.fixture
def opened(watched, served, summarizer):
    """`opened()` is the page of a server of the tiny model, or of others.

    However it was used: it has asked nobody else, and nothing has gone wrong in it.
    """
    urls = []

    def look(models=None, *, width=1280, scheme="light", **limits):
        urls.append(served(models or {"tiny": summarizer}, **limits))
        page = watched.page(width=width, scheme=scheme, accept_downloads=True)
        page.goto(urls[-1])
        return page

    yield look
    watched.close()
    assert [problem for problem in watched.problems if "status of 5" not in problem] == []
    own = {urlsplit(url).netloc for url in urls}
    assert {
        urlsplit(url).netloc for url in watched.requests if not url.startswith(("blob:", "about:"))
    } <= own


def summarize(page, text=TEXT):
    page.locator("#document").fill(text)
    page.locator("#summarize").click()
    return page.frame_locator("iframe").first


def words(frame):
    frame.locator("#summary > span").first.wait_for()
    return frame.locator("#summary > span").all_text_contents()


def test_a_text_is_summarized_and_each_word_says_where_it_came_from(opened, summarizer):
    page = opened()
    frame = summarize(page)
    expected = summarizer(TEXT)
    assert words(frame) == list(expected.tokens)
    assert page.locator("#status").inner_text().startswith("Done in ")
    frame.locator("#summary > span").first.hover()
    assert frame.locator(".chosen").all_text_contents() == [expected.tokens[0]]
    tip = frame.locator("#tip").inner_text()
    assert f"{expected.p_gen[0]:.3f}" in tip
    assert "looked at" in tip
    assert frame.locator("#source").inner_text() == TEXT


def test_all_can_be_done_with_the_keyboard(opened, summarizer):
    page = opened()
    page.keyboard.press("Tab")
    page.keyboard.type(TEXT)
    page.keyboard.press("Control+Enter")
    frame = page.frame_locator("iframe")
    expected = words(frame)
    for _ in range(40):
        page.keyboard.press("Tab")
        if frame.locator(".chosen").count():
            break
    assert frame.locator(".chosen").all_text_contents() == expected[:1]
    page.keyboard.press("End")
    assert frame.locator(".chosen").all_text_contents() == expected[-1:]


def test_a_sample_is_taken_and_a_setting_holds(opened):
    page = opened()
    assert page.locator("#samples button").all_text_contents() == [
        "abstract",
        "docstring",
        "package",
    ]
    for name in ("package", "abstract"):
        page.locator("#samples button", has_text=name).click()
        assert len(page.locator("#document").input_value()) > 300
    assert page.locator("[name=beam_size]").get_attribute("placeholder") == "3"
    page.locator("[name=max_tokens]").fill("2")
    page.locator("#summarize").click()
    assert len(words(page.frame_locator("iframe"))) == 2


def test_a_dropped_file_is_read_here(opened):
    page = opened()
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["Ada met Bob."], "a.txt", { type: "text/plain" }));
          const drop = new DragEvent("drop", { dataTransfer: data, cancelable: true });
          document.getElementById("document").dispatchEvent(drop);
        }"""
    )
    page.wait_for_function("document.getElementById('document').value === 'Ada met Bob.'")


def test_two_models_answer_side_by_side(opened, summarizer, tmp_path):
    other = Summarizer.load(save_tiny_model(tmp_path / "m", max_source_tokens=3))
    page = opened({"one": summarizer, "two": other})
    summarize(page)
    page.frame_locator("iframe").nth(1).locator("#source > span").first.wait_for()
    assert page.locator("#results h2").all_text_contents() == ["one", "two"]
    read = [page.frame_locator("iframe").nth(i).locator("#source > span").count() for i in range(2)]
    assert read == [15, 3]
    boxes = [section.bounding_box() for section in page.locator("#results section").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]


def test_what_is_shown_can_be_saved(opened, summarizer, tmp_path):
    page = opened()
    words(summarize(page))
    saved = {}
    for label in ("HTML", "JSON"):
        with page.expect_download() as download:
            page.locator("#results button", has_text=label).click()
        saved[label] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[label])
    told = json.loads(saved["JSON"].read_text("utf-8"))
    assert (told["model"], told["summary"]) == ("tiny", summarizer(TEXT).text)
    assert told["explanation"]["document"] == TEXT
    assert saved["HTML"].read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_narrow_screen(opened, scheme):
    page = opened(width=360, scheme=scheme)
    frame = summarize(page, "word " * 300 + "w" * 300)
    words(frame)
    for body in (page.locator("body"), frame.locator("body")):
        assert body.evaluate("b => b.ownerDocument.documentElement.scrollWidth") <= 360
    paper = [
        body.evaluate("b => getComputedStyle(b).backgroundColor")
        for body in (page.locator("body"), frame.locator("body"))
    ]
    assert paper == ["rgb(20, 23, 27)" if scheme == "dark" else "rgb(255, 255, 255)"] * 2


def test_a_request_can_be_stopped_and_made_again(opened, held):
    page = opened({"held": held})
    page.locator("#document").fill(TEXT)
    page.locator("#summarize").click()
    page.locator("#stop").click()
    page.wait_for_function("document.getElementById('status').value === 'Stopped.'")
    assert page.locator("#stop").is_disabled()
    held.go.set()
    assert words(summarize(page))


def test_a_problem_is_said_in_the_place_of_the_summary(opened, summarizer):
    page = opened(waiting=0)
    page.locator("#document").fill(TEXT)
    page.locator("#summarize").click()
    page.locator("[role=alert]").wait_for()
    assert page.locator("[role=alert]").inner_text() == (
        "Too many documents wait already. Hint: try again in a while."
    )
    assert page.locator("#status").inner_text() == "There was a problem."


@pytest.mark.fault(21)
@pytest.mark.parametrize(
    "text", ['"><img src=x onerror=alert(1)>', "</script><script>alert(1)</script>", "{{7*7}}"]
)
def test_hostile_text_and_names_stay_text(opened, summarizer, text):
    page = opened({text: summarizer})
    frame = summarize(page, text)
    words(frame)
    assert page.locator("#results h2").inner_text() == text
    assert frame.locator("#source").inner_text() == text
    assert page.locator("#results img").count() == frame.locator("img").count() == 0
