"""Odd and hostile text, summarized from the command line as a user would."""

import json
import re
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import regex
from markupsafe import escape
from reference.command_line import save_tiny_model
from reference.memory import little_memory

import pgsum as package
from pgsum.config import DecodeConfig
from pgsum.summarizer import Summarizer

fault = pytest.mark.fault

FAMILY, FLAG, THUMB = "👨‍👩‍👧‍👦", "🇳🇴", "👍🏽"


@pytest.fixture
def run(pgsum, tiny_model, tmp_path, monkeypatch) -> Callable[..., Any]:
    """`run("a.txt")` is what `pgsum summarize a.txt` does."""
    monkeypatch.chdir(tmp_path)

    def run(name: str = "a.txt", *options: str) -> Any:
        return pgsum("summarize", "--threads", "1", "--model", tiny_model, name, *options)

    return run


@pytest.fixture
def summarize(run) -> Callable[..., Any]:
    """`summarize("A text.")` is the same with a file of that text."""

    def summarize(text: str, *options: str, name: str = "a.txt") -> Any:
        Path(name).write_text(text, encoding="utf-8", newline="")
        return run(name, *options)

    return summarize


@dataclass(frozen=True)
class Case:
    """A document and what becomes of it."""

    text: str
    source_tokens: list[str] | None = None
    """What the model reads; anything where it is None."""
    said: tuple[str, ...] = ()
    """Words on stderr."""
    options: list[str] = field(default_factory=list)


def row(mark: pytest.MarkDecorator, name: str, *case: Any) -> Any:
    return pytest.param(Case(*case), id=name, marks=mark)


CASES = [
    row(fault(2), "one word", "Hi", ["Hi"]),
    row(fault(2), "one mark", "?", ["?"]),
    row(
        fault(3),
        "shorter than a summary must be",
        "Hi there",
        ["Hi", "there"],
        ("1 of 1 document shorter than decode.min_tokens, lowered for them.",),
        ["--min-tokens", "6"],
    ),
    row(fault(10), "escapes", "A \x1b[31mred\x1b[0m fox ran.", ["A", "red", "fox", "ran", "."]),
    row(fault(10), "C1 controls", "A \x9b31m fox ran on and on", None),
    row(fault(12), "families, flags and skin", f"{FAMILY} {FLAG}{THUMB}", [FAMILY, FLAG, THUMB]),
    row(fault(13), "right to left", "ذهب آدم إلى البيت", ["ذهب", "آدم", "إلى", "البيت"]),
    row(fault(13), "overrides", "a \u202ecba\u202c \u2066d\u2069", ["a", "cba", "d"]),
    row(fault(14), "no blanks", "我们去公园。", list("我们去公园。")),
    row(fault(14), "kana and Thai", "ねこ แมว", None),
    row(
        fault(16),
        "control tokens",
        "[UNK] <s> [PAD] </s>",
        ["[", "UNK", "]", "<", "s", ">", "[", "PAD", "]", "<", "/", "s", ">"],
    ),
    row(fault(17), "only unknown words", "xyzzy plugh frotz", ["xyzzy", "plugh", "frotz"]),
    row(
        fault(19), "one word many times", "echo " * 400, ["echo"] * 20, ("1 of 1 document cut to",)
    ),
]


@pytest.mark.parametrize("case", CASES)
def test_odd_text_has_a_summary_in_one_printable_line(summarize, case):
    done = summarize(case.text, *case.options)
    assert done.code == 0
    assert done.out.count("\n") == len(done.out.splitlines()) == 1
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.out)
    for words in case.said:
        assert words in done.err
    told = json.loads(summarize(case.text, "--jsonl", *case.options).out)
    assert told["summary"].strip() == done.out.removesuffix("\n")
    assert told["score"] == pytest.approx(told["score"]), "it is a number"
    assert len(told["tokens"]) <= 2 * len(told["source_tokens"]) + 2
    if case.source_tokens is not None:
        assert told["source_tokens"] == case.source_tokens
    copied = {t for t, is_copy in zip(told["tokens"], told["copied"], strict=True) if is_copy}
    assert {t.lower() for t in copied} <= {t.lower() for t in told["source_tokens"]}


@fault(2)
@pytest.mark.parametrize("text", ["Hi", "7", FAMILY, "字"])
def test_one_word_becomes_no_paragraph(tiny_model, text):
    summary = Summarizer.load(tiny_model)(text)
    assert len(summary.tokens) <= 4
    assert all(log_prob <= 0 for log_prob in summary.log_probs)


@fault(3)
def test_that_minima_were_lowered_is_said_once(summarize):
    rows = "\n".join(json.dumps({"text": "Hi there"}) for _ in range(9))
    done = summarize(rows, "--min-tokens", "6", name="rows.jsonl")
    assert done.code == 0
    assert done.err.count("shorter than decode.min_tokens") == 1
    assert "9 of 9 documents" in done.err


HUGE = [
    pytest.param("Every word of it. " * 350_000, id="tokens", marks=fault(4)),
    pytest.param("x" * 50_000_000, id="one line", marks=fault(5)),
]


@pytest.mark.parametrize("text", HUGE)
def test_a_huge_document_costs_little_more_than_a_small_one(summarize, run, text):
    """At most 5 seconds of the processor and 200 MB more, the text and its file not counted."""
    summarize("The cat sat.")
    started = time.process_time()
    run()
    usual = time.process_time() - started
    Path("a.txt").write_text(text, encoding="utf-8")
    started = time.process_time()
    with little_memory(200 * 10**6):
        done = run()
    assert time.process_time() - started < usual + 5
    assert done.code == 0
    assert "a.txt: 1 document cut after 1,000,000 characters (data.max_chars).\n" in done.err
    assert "1 of 1 document cut to the 20 tokens the model reads." in done.err


BOMBS = {
    "words": "word ",
    "letters": "x",
    "abbreviations": "a. ",
    "quotes": '"',
    "brackets": "(",
    "numbers in brackets": "..[111 ",
    "links": "http://",
    "addresses": "a@",
    "escapes": "\x1b[",
    "accents": "e\u0301\u0301",
    "joiners": "👨\u200d",
    "soft hyphens": "a\u00ad",
    "apostrophes": "n'",
    "surrogates": "\ud800a",
}


SECONDS = """
import json, sys, time
from pgsum.text.sentences import split_sentences
from pgsum.text.surface import SurfaceCounts

def seconds(text):
    started = time.process_time()
    SurfaceCounts(lowercase=True).add(text, [text])
    split_sentences(text)
    return time.process_time() - started

bombs = json.load(sys.stdin)
texts = {name: bomb * (15_000 // len(bomb)) for name, bomb in bombs.items()}
print(json.dumps({name: [seconds(text), seconds(2 * text)] for name, text in texts.items()}))
"""


@fault(50)
def test_twice_the_text_takes_about_twice_the_time():
    """Of all that looks at a whole text: tokens, sentences, and how it is written.

    In a process of its own, where no types are checked, which takes longer than the work.
    """
    command = [sys.executable, "-c", SECONDS]
    done = subprocess.run(command, input=json.dumps(BOMBS), capture_output=True, text=True)
    for name, (once, twice) in json.loads(done.stdout).items():
        assert once < 1, name
        assert twice < 3 * once + 0.05, name


@fault(10)
@pytest.mark.parametrize("text", ["nul \x00 in " + "a long text " * 9, "esc \x1b]0;owned\x07 text"])
def test_controls_stay_in_json_escaped_and_never_reach_a_terminal(summarize, text):
    rows = json.dumps({"id": "\x1b[2J", "text": text})
    for options in ([], ["--jsonl"], ["--explain", "-"]):
        done = summarize(rows, *options, name="rows.jsonl")
        assert done.code == 0
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.out + done.err)
    summarize(rows, "--explain", "out.json", name="rows.jsonl")
    explained = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert explained["document"] == text
    assert explained["id"] == "\x1b[2J"


@fault(11)
def test_half_a_surrogate_pair_is_replaced_and_counted(summarize):
    rows = '{"text": "half \\ud83d a \\udc80 pair \\ud83d\\ude00"}'
    done = summarize(rows, "--set", "decode.copy_bias=9", name="rows.jsonl")
    assert done.code == 0
    assert "rows.jsonl: 2 lone surrogates replaced, each half a character.\n" in done.err
    done.out.encode("utf-8")
    told = json.loads(summarize(rows, "--jsonl", name="rows.jsonl").out)
    assert told["source_tokens"] == ["half", "\ufffd", "a", "\ufffd", "pair", "😀"]


@fault(12)
def test_no_grapheme_is_split_on_the_way(summarize):
    text = f"{FAMILY} went {FLAG}{FLAG} home {THUMB} 🎉 e\u0301te\u0301"
    done = summarize(text, "--set", "decode.copy_bias=9", "--n-best", "3")
    graphemes = regex.findall(r"\X", text)
    summaries = [line.partition("\t")[2] for line in done.out.splitlines()]
    assert len(summaries) == 3
    for summary in summaries:
        assert set(regex.findall(r"\X", summary)) <= set(graphemes)


@fault(15)
def test_composed_and_decomposed_text_is_the_same_to_the_model(summarize, tiny_model):
    text = "Le café de l'été, près d'Ångström."
    composed, decomposed = (
        json.loads(summarize(unicodedata.normalize(form, text), "--jsonl").out)
        for form in ("NFC", "NFD")
    )
    assert composed["score"] == decomposed["score"]
    for one, other in zip(composed["tokens"], decomposed["tokens"], strict=True):
        assert one == unicodedata.normalize("NFC", other)
    for token in decomposed["source_tokens"]:
        assert token == unicodedata.normalize("NFD", token), "it is as the document has it"


@fault(16)
def test_the_name_of_a_control_token_controls_nothing(tiny_model):
    """The model reads it as it reads any other unknown words in its place."""
    summarizer = Summarizer.load(tiny_model)
    names, others = (
        summarizer(f"The cat {a} sat {b} on {c}")
        for a, b, c in [("[EOS]", "[UNK]", "[PAD]"), ("(foo)", "(bar)", "(qux)")]
    )
    assert len(names.source_tokens) == len(others.source_tokens)
    forced = DecodeConfig(max_tokens=6, min_tokens=6, beam_size=3, copy_bias=9.0, no_repeat_ngram=1)
    said = summarizer("[EOS] [PAD] [UNK] [BOS]", decode=forced)
    assert {"EOS", "PAD", "UNK", "BOS"} & set(said.tokens)
    assert not {"[EOS]", "[PAD]", "[UNK]", "[BOS]"} & set(said.tokens)


@fault(17)
def test_unknown_words_can_be_copied_and_unknown_is_never_said(tiny_model):
    copying = DecodeConfig(max_tokens=6, beam_size=3, copy_bias=9.0)
    summary = Summarizer.load(tiny_model)("Xyzzy plugh, frotz: blorb!", decode=copying)
    assert all(summary.copied)
    assert any(summary.oov)
    assert set(summary.tokens) <= set(summary.source_tokens)
    assert "[UNK]" not in summary.text


@fault(18)
def test_five_thousand_unknown_words_of_one_document(tmp_path):
    model = save_tiny_model(tmp_path / "model", max_source_tokens=5000)
    words = [f"zq{n}" for n in range(6000)]
    copying = DecodeConfig(max_tokens=6, beam_size=3, copy_bias=9.0)
    summary = Summarizer.load(model)(" ".join(words), decode=copying)
    assert summary.source_tokens == tuple(words[:5000])
    assert summary.truncated
    assert set(summary.tokens) <= set(words[:5000])


@fault(19)
def test_what_points_at_one_word_at_many_places_adds_up(tmp_path):
    model = save_tiny_model(tmp_path / "model", max_source_tokens=400)
    copying = DecodeConfig(max_tokens=6, beam_size=3, copy_bias=9.0, no_repeat_ngram=0)
    summary = Summarizer.load(model)("echo " * 400, decode=copying)
    assert set(summary.tokens) == {"echo"}
    for word in range(len(summary.tokens)):
        assert summary.attention[word].sum() == pytest.approx(1, abs=1e-4)
        assert summary.copied_part[word] == pytest.approx(1 - summary.p_gen[word], abs=1e-4)


HOSTILE = [
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "{{7*7}} {% raw %} ${7*7}",
    "javascript:alert(1)",
    "<!-- <script>",
    "' onmouseover='alert(1)",
]


@fault(20)
@fault(21)
@pytest.mark.parametrize("text", HOSTILE)
def test_markup_of_documents_files_and_models_stays_text(
    pgsum, tiny_model, tmp_path, monkeypatch, text
):
    monkeypatch.chdir(tmp_path)
    run = Path(text.replace("/", "_"))
    shutil.copytree(tiny_model, run / "model")
    file = run.with_name(f"{run.name}.jsonl")
    row = {"id": text, "text": f"{text} {text}", "gold": text}
    file.write_text(json.dumps(row) + "\n" + json.dumps(row), encoding="utf-8")
    options = ["--reference-column", "gold", "--explain", "out.html"]
    done = pgsum("summarize", "--threads", "1", "--model", run, file, "--quiet", *options)
    assert done.code == 0, done.err
    page = Path("out.html").read_text(encoding="utf-8")
    outside = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert page.count("<script") == page.count("</script") == 2
    assert not re.search(r"<img|<!--|onerror=alert\(1\)>|<[^>]*onmouseover", outside)
    assert str(escape(run.name)) in outside
    assert "49" not in re.findall(r"<h1[^>]*>(.*?)</h1>", outside)[0]
    assert "default-src 'none'" in page
    file.write_text(json.dumps(row), encoding="utf-8")
    pgsum("summarize", "--threads", "1", "--model", run, file, "--quiet", "--explain", "out.svg")
    names = {node.tag.rpartition("}")[2] for node in ElementTree.parse("out.svg").iter()}
    assert not names & {"script", "img", "foreignObject", "a"}


@fault(22)
def test_no_table_is_written_that_a_spreadsheet_could_run():
    """Whoever adds one escapes what begins as a formula, and says here how."""
    source = Path(package.__file__).parent
    writers = re.compile(r"csv\.(writer|DictWriter)|to_csv|to_excel|text/csv")
    found = [p.name for p in source.rglob("*.*") if p.suffix in (".py", ".js", ".html")]
    assert "report.js" in found
    assert not [
        path
        for path in source.rglob("*.*")
        if path.suffix in (".py", ".js", ".html") and writers.search(path.read_text("utf-8"))
    ]


@fault(51)
def test_the_same_again_is_the_same_whatever_is_summarized_along(summarize, run):
    texts = ["The cat sat on the mat.", "Hi", "echo echo", "A dog ran home to Oslo, and sat."] * 3
    rows = [json.dumps({"text": text}) for text in texts]
    whole = summarize("\n".join(rows), "--jsonl", name="rows.jsonl").out
    for size in ("1", "2", "5", "12"):
        assert run("rows.jsonl", "--jsonl", "--batch-size", size).out == whole
    lines = [json.loads(line) | {"id": ""} for line in whole.splitlines()]
    assert lines == lines[:4] * 3
    backwards = summarize("\n".join(rows[::-1]), "--jsonl", name="rows.jsonl").out
    assert [json.loads(line) | {"id": ""} for line in backwards.splitlines()] == lines[::-1]
