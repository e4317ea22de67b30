"""Whatever texts and names hold, pages and pictures hold them as text."""

import json
import re
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from reference.damage import TEXT
from reference.effort import FEW
from reference.explained import MADE, make_summary
from rich.console import Console

from pgsum.explain.content import Explained, to_json
from pgsum.explain.curves import curves_page
from pgsum.explain.heatmap import heatmap
from pgsum.explain.page import page
from pgsum.explain.report import Report, Row, report_page
from pgsum.explain.terminal import drawing


class Skeleton(HTMLParser):
    """The elements of a page with the names of their attributes, and what its scripts hold."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.scripts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(name for name, _ in attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "script":
            self.scripts[-1] += data


def explained(name: str, document: str, word: str) -> Explained:
    """Of any document a summary whose words are these."""
    words = [(word or "x", *rest) for _, *rest in MADE]
    return Explained(name, make_summary(f"a {document} b " * 20, words=tuple(words)), (document,))


def report(*texts: str) -> Report:
    name, text, word = texts
    row = Row(name, text, (word,), {"rouge1": 0.5}, {"words": 1.0}, frozenset({word}))
    return Report(name, [[text], [word]], text, [[name], [word]], [row], [text], [], [word])


def assert_the_same_page(html: str, harmless: str) -> None:
    html.encode(errors="backslashreplace")
    own, other = Skeleton(html), Skeleton(harmless)
    assert own.elements == other.elements
    assert own.scripts[-1] == other.scripts[-1], "the script itself"


def data_of(html: str) -> object:
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    return json.loads(data)


def spelt(text: str) -> str:
    """What turns the writing around is to be seen."""
    return re.sub("[\u202a-\u202e\u2066-\u2069]", lambda match: ascii(match[0])[1:-1], text)


@cache
def harmless(kind: str) -> str:
    """What such a page is when all texts are plain."""
    match kind:
        case "page":
            return page([explained("a", "b", "c")], title="a")
        case "report":
            return report_page(report("a", "b", "c"))
        case _:
            return curves_page([{"step": 1, "loss": 1.0}], name="a", metric="rouge1")


@given(TEXT, TEXT, TEXT)
def test_a_page_of_any_texts_has_the_elements_of_every_page(name, document, word):
    html = page([explained(name, document, word)], title=name)
    assert_the_same_page(html, harmless("page"))
    assert name in json.dumps(data_of(html), ensure_ascii=False) or not name.isalnum()


@given(TEXT, TEXT, TEXT)
def test_a_report_of_any_texts_has_the_elements_of_every_report(name, text, word):
    html = report_page(report(name, text, word))
    assert_the_same_page(html, harmless("report"))
    ((id_, prediction, references, *_),) = data_of(html)["rows"]
    assert [id_, prediction, *references] == [spelt(each) for each in (name, text, word)]


@given(TEXT)
def test_curves_of_a_run_of_any_name_have_the_elements_of_all_curves(name):
    html = curves_page([{"step": 1, "loss": 1.0}], name=name, metric="rouge1")
    assert_the_same_page(html, harmless("curves"))


@given(TEXT, TEXT, TEXT)
def test_explanations_of_any_texts_are_json_and_lines_for_a_terminal(name, document, word):
    told = explained(name, document, word)
    json.loads(to_json([told]))
    canvas = Console(highlight=False, width=60)
    with canvas.capture() as captured:
        canvas.print(drawing(told))
    for line in captured.get().split("\n"):
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", line)


@FEW
@given(TEXT, st.lists(TEXT, min_size=4, max_size=4))
def test_a_picture_of_any_texts_is_xml_without_scripts(name, words):
    made = [(word or "x", *rest) for word, (_, *rest) in zip(words, MADE, strict=True)]
    summary = make_summary(" ".join(["a", *words]), words=tuple(made), max_source_tokens=4)
    svg = heatmap(Explained(name, summary))
    names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}
    assert names <= {
        *("svg", "metadata", "RDF", "Work", "type", "format", "creator", "Agent", "title", "date"),
        *("defs", "style", "g", "path", "rect", "use", "text", "tspan", "image", "clipPath"),
    }
