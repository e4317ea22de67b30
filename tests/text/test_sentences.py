import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.text.sentences import sentence_spans, split_sentences

# "|" marks where a sentence must end; everything else must hold together.
CASES = [
    # Titles, initials, companies, latin, months, numbers
    "Dr. Smith went to Washington.| He met Mr. J. P. Morgan Jr. at 5 p.m. on Jan. 5.| They ate.",
    "Use a tool, e.g. Make, i.e. GNU make vs. BSD make, etc.| Then go on.",
    "Shares of Acme Inc. Holdings rose.| He left Acme Inc.| The firm is big.",
    "I am from the U.S.| We met in the U.S. Army.| She has a Ph.D. from Yale.",
    "See Fig. 2 and No. 3 on p. 5.| Is it?| No.| He said no.",
    "Costs rose 3.5 percent to $1.2 million.| Version 2.0.1 of Node.js is out.",
    "It has two sections.| They met on Sat.| John came on Sat. 5 May.",
    "So do I.| The rest may follow.",
    # Quotes, brackets, dots, mixed marks
    '"What?" he said.| "Go!"| She left.| (So did I.)| Then what?!| OK',
    "He said “it is over.”| Nobody spoke.| ‘Really?’| Yes.",
    "They came... and then they went...| Nobody saw them.",
    "Wow!!!| great| stuff".replace("| stuff", " stuff"),
    "Ask for foo.bar() or [1.].| Read http://a.org/b.html.| Done",
    # Text already tokenised
    "thailand has lifted martial law .| critics said `` descent . ''| mr. smith said no .",
    # Lists
    "1. First item.| Second sentence.",
    # Without blanks
    "今天好吗？|“很好。”|他说。|研究热点之一.|介绍了3.5倍的TiO2.|结果。",
    "“好。”，他说。|真的……|好吧",
    "これはペンです。|「そうですか。」|はい！",
    "यह एक वाक्य है।| यह दूसरा है।",
    "هل أنت بخير؟| نعم.| شكرا",
    # Line breaks
    "Title without a stop|\n\nA paragraph.|\n\nAnother",
    "Please find the file attached|\nThanks|\nSarah",
    "Customers expect to see them today.|\nplease forward them",
    "Tom: hi|\nAnn: hello there. How are you? Fine.|\nTom: yes",
    "Options:|\n- first thing. It is big.|\n".replace(". It", ".| It") + "- second thing|\n* third",
    "Return the value of the thing that is given in the first\nargument.| The second argument\n"
    "must be a str, else the function will raise\nValueError.",
    "one\r\n| two\u2028| three".replace("\n| ", "|\n ").replace("\u2028| ", "|\u2028 "),
]


@pytest.mark.parametrize("case", CASES)
def test_sentences_end_where_the_marks_are(case):
    expected = [" ".join(part.split()) for part in case.split("|")]
    assert split_sentences(case.replace("|", "")) == expected


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\r\n"])
def test_nothing_has_no_sentences(text):
    assert split_sentences(text) == []


TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=st.sampled_from("aA1.!?… \n\r\"')(:-。中”Ié\u2028")),
    st.lists(
        st.sampled_from(["Mr.", "a", "The", "U.S.", "3.", "\n", "Tom: ", "- ", "。", ' "'])
    ).map(" ".join),
)


@given(TEXTS)
def test_spans_are_in_order_and_leave_out_nothing_but_blanks(text):
    position = 0
    for start, end in sentence_spans(text):
        assert text[position:start].strip() == ""
        assert start < end
        assert text[start:end] == text[start:end].strip()
        position = end
    assert text[position:].strip() == ""


@given(TEXTS)
def test_a_sentence_is_one_line(text):
    assert all(len(sentence.splitlines()) == 1 for sentence in split_sentences(text))


@pytest.mark.fault(50)
@pytest.mark.parametrize(
    "text",
    [
        "a. " * 20_000,
        "A. " * 20_000,
        "1. " * 20_000,
        "..[" + "111 " * 50_000 + "]",
        '"' * 100_000,
        '."' * 20_000,
        ". " * 20_000,
        "." * 100_000,
        "。" * 100_000,
        "(" * 100_000,
        "a\n" * 10_000,
        "\n" * 40_000,
        " " * 100_000,
        "a: b\n" * 20_000,
        "x" * 1_000_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_hostile_text_takes_linear_time(text):
    start = time.process_time()
    split_sentences(text)
    assert time.process_time() - start < 2
