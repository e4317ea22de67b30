import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer

from pgsum.metrics.tokens import (
    letters_lost,
    summary_sentences,
    text_lines,
    tokenizer_for,
    tokens,
)

PARITY = DefaultTokenizer(use_stemmer=True)


@given(st.text() | st.from_regex(r"[a-z]{3,9}(ies|sses|ing|ed|ly|s| )*", fullmatch=True))
def test_rouge155_words_and_stems_equal_rouge_score(text):
    assert tokens(text, tokenizer="rouge155", stemmer="nltk") == PARITY.tokenize(text)


@pytest.mark.parametrize(
    ("tokenizer", "text", "expected"),
    [
        ("rouge155", "Café U.S. 1,000 今天", ["caf", "u", "s", "1", "000"]),
        ("unicode", "Café U.S. 1,000 今天", ["café", "u", "s", "1", "000", "今天"]),
        ("char", "Café U.S. 1,000 今天", ["café", "u", "s", "1", "000", "今", "天"]),
        ("char", "2010年4～8月,iPhone发布", ["2010", "年", "4", "8", "月", "iphone", "发", "布"]),
        ("char", "ラーメンをたべる", list("ラーメンをたべる")),
        ("char", "ภาษาที่", ["ภ", "า", "ษ", "า", "ที่"]),  # marks stay with their letter
        ("jieba", "我来到北京清华大学。", ["我", "来到", "北京", "清华大学"]),
        ("jieba", "Café, 今天发布 iPhone!", ["café", "今天", "发布", "iphone"]),
        ("unicode", "हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("char", "Привет, мир", ["привет", "мир"]),
    ],
)
def test_words_of_each_tokenizer(tokenizer, text, expected):
    assert tokens(text, tokenizer=tokenizer, stemmer="none") == expected


@given(st.text())
def test_unicode_and_char_drop_no_letter(text):
    for tokenizer in ("unicode", "char", "jieba"):
        kept = "".join(tokens(text, tokenizer=tokenizer, stemmer="none"))
        assert letters_lost(kept)[1] == letters_lost(text)[1]


def test_jieba_is_not_imported_before_it_is_asked_for():
    program = (
        "import sys; from pgsum.metrics.tokens import tokens;"
        "tokens('今天', tokenizer='char', stemmer='none'); sys.exit('jieba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n", []),
        ("One. Two.", ["One.", "Two."]),
        ("One. Two.\nThree.", ["One. Two.", "Three."]),
        ("one <n> two", ["one ", " two"]),
        ("one <q>two</s> <s>three", ["one ", "two", " ", "three"]),
    ],
)
def test_sentences_of_a_summary_are_its_lines_or_else_found_by_rule(text, expected):
    assert summary_sentences(text) == expected


def test_lines_are_those_of_rouge_score():
    assert text_lines("one\r\n\ntwo\u2028three\n") == ["one\r", "two\u2028three"]


@pytest.mark.parametrize(
    ("text", "lost", "letters"),
    [
        ("", 0, 0),
        ("1,000 $", 0, 0),
        ("The cat.", 0, 6),
        ("café", 1, 4),
        ("cafe\u0301", 1, 4),
        ("今天发布iPhone", 4, 10),
    ],
)
def test_letters_that_rouge155_drops_are_counted(text, lost, letters):
    assert letters_lost(text) == (lost, letters)


@pytest.mark.parametrize(
    ("texts", "tokenizer"),
    [
        ([], "rouge155"),
        (["12 34"], "rouge155"),
        (["the cat", "naïve café"], "rouge155"),
        (["今天发布iPhone"], "char"),  # 4 of 10 letters, but 4 of 5 words
        (["2015年4月"], "char"),
        (["Компания Apple показала iPhone"], "char"),  # 2 of 4 words, but 16 of 27 letters
        (["iPhone and iPad in 中国"], "rouge155"),  # 2 of 6 words
        (["Crème brûlée à la carte"], "rouge155"),
        (["今天发布iPhone", "the cat sat down"], "rouge155"),  # 4 of 9 words
        (["今天天气很好", "the"], "char"),
        (["Привет, мир"], "char"),
    ],
)
def test_the_tokenizer_for_most_letters_and_words(texts, tokenizer):
    assert tokenizer_for(texts) == tokenizer
