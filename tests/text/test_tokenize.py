import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.text.tokenize import lookup_form, tokenize

FAMILY, FLAG, THUMB, HEART = "👨‍👩‍👧", "🇩🇪", "👍🏽", "❤️‍🔥"

# Tokens stand apart by " | ", which the text itself has not where they touch (written "|" alone).
CASES = [
    # Clitics: what is copied is the name
    "Tom|'s | car|, | James|' | dog | and | the | O'Brien|’s | o'clock",
    "I|'m | sure | they|'re | late|, | we|'ve | seen | he|'ll | come|, | I|'d | say",
    "do|n't | DO|N'T | Ca|n't | wo|n’t | is|n't",
    "did | n't | thailand | 's | `` | no | '' | .",
    "ask | '|em | '90s".replace("'|em", "'em"),
    # Quotes around one letter are no clitic
    "mode | '|r|' | or | '|s|'",
    # Numbers
    "3.5 | 10,000 | 12:30 | 10/30/01 | 2020-01-31 | 713-345-6687 | 5pm | 1st | 24/7",
    "$|5.50 | 50|% | €|150million | #|5 | -|3",
    # Identifiers, names of modules, links
    "get_default_encoding | __init__ | os.path.join|(|path|) | unittest.TestCase | Net::Pcap",
    "C++ | C# | g++ | Node.js | @property | #tag | --dry-run | a|--|b",
    "see | http://a.org/b?c=d|. | mail | a.b@c.org|, | www.x.com/~y|!",
    "见|http://a.org/b|。",
    # Sentences without a blank between them
    "end|.|Next | one",
    "U.S. | e.g. | p.m. | U.S.A | J.K. | Rowling | Mr|. | X",
    # Hyphens part words
    "well|-|known | pre|- | and | post|-|war",
    # Marks
    "what|?! | no|... | yes|!!! | a | :-) | b | ;-)) | OK|:) | <3",
    "(|a|) | [|b|] | {|c|} | (|(|d|)|)",
    '"|quoted|" | “|it|’s|” | «|a|»',
    "and|/|or | a | & | b | AT|&|T | x|=|1",
    # Control tokens of models are text
    "[|UNK|] | <|s|> | <|/|s|> | [|PAD|]",
    # Scripts without blanks
    "太|湖|岸|带|abc3.5kg|。|あ|り|が|と|う|ー|ラ|ー|メ|ン",
    "ท|ำ|ไ|ม | 한국어 | для | कि|ताब".replace("कि|ताब", "किताब"),
    # Emoji are whole
    f"a|{FAMILY}|{FLAG}|{FLAG}|{THUMB}|{HEART}|b | 1️⃣",
    # Marks stay with their letters, joiners in their words
    "cafe\u0301 | m\u0304|. | می‌خواهم | Hel\u00adlo",
]


@pytest.mark.parametrize("case", CASES)
def test_tokens_end_where_the_bars_are(case):
    expected = [token for word in case.split(" | ") for token in word.split("|")]
    text = case.replace(" | ", " ").replace("|", "")
    assert [token.text for token in tokenize(text)] == expected


TEXTS = st.one_of(
    st.text(st.characters()),
    st.text(alphabet="ab.:-'’/@1\"n t\n\u0301\u200b\u200d\u00ad\ufeff\ud800\x1b[m中👨🏽🇩https"),
    st.lists(st.sampled_from([FAMILY, FLAG, "\u200d", "\ufe0f", "a", "don't", "e.g.", " "])).map(
        "".join
    ),
)


@pytest.mark.fault(12)
@given(TEXTS)
def test_a_token_is_the_slice_its_offsets_name(text):
    position = 0
    for token in tokenize(text):
        assert token.text == text[token.start : token.end]
        assert position <= token.start < token.end
        position = token.end


@given(TEXTS)
def test_what_lies_between_tokens_is_blank_or_invisible(text):
    tokens = tokenize(text)
    ends = [0, *(token.end for token in tokens)]
    starts = [*(token.start for token in tokens), len(text)]
    between = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    # An escape sequence holds visible characters too; it is the terminal that does not show them.
    hidden = {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn"}
    if "\x1b" not in between:
        assert {unicodedata.category(character) for character in between} <= hidden


@given(TEXTS)
def test_every_token_has_a_lookup_form_without_blanks_or_invisible_characters(text):
    for token in tokenize(text):
        form = lookup_form(token.text, lowercase=True)
        assert form.split() == [form]
        assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in form)
        assert not set(form) & set("\u200b\ufeff\u00ad\u2060\u202e")


@given(TEXTS)
def test_looking_up_twice_is_looking_up_once(text):
    for lowercase in (True, False):
        form = lookup_form(text, lowercase=lowercase)
        assert lookup_form(form, lowercase=lowercase) == form


@given(TEXTS, st.integers(min_value=0, max_value=5))
def test_a_limit_gives_the_first_tokens(text, limit):
    assert tokenize(text, max_tokens=limit) == tokenize(text)[:limit]


@pytest.mark.parametrize(
    "text", ["", " \t\r\n", "\u200b\ufeff\u200d", "\x00\x1b[31m\x1b[0m", "\ud800"]
)
def test_text_that_shows_nothing_has_no_tokens(text):
    assert tokenize(text) == []


@pytest.mark.fault(15)
@pytest.mark.parametrize(
    ("token", "form"),
    [
        ("Café", "café"),
        ("Cafe\u0301", "café"),
        ("it’s", "it's"),
        ("Hel\u00adlo", "hello"),
        ("\ufeffWord\u200b", "word"),
        ("\x1b[1mbold\x1b[0m\x00", "bold"),
        ("می‌خواهم", "میخواهم"),
        (FAMILY, FAMILY),
        ("STRASSE", "strasse"),
        ("[UNK]", "[unk]"),
    ],
)
def test_ways_to_write_a_word_share_a_lookup_form(token, form):
    assert lookup_form(token, lowercase=True) == form


def test_a_cased_lookup_form_keeps_its_case():
    assert lookup_form("Cafe\u0301", lowercase=False) == "Café"


def test_lower_case_may_be_longer_than_the_token():
    assert len(lookup_form("İ", lowercase=True)) == 2


def test_a_long_word_is_cut_into_pieces_between_graphemes():
    assert [len(token.text) for token in tokenize("x" * 250)] == [100, 100, 50]
    tokens = tokenize(("e\u0301") * 200)
    assert all(token.text.startswith("e") for token in tokens)


@pytest.mark.fault(50)
@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        " " * 1_000_000,
        "..[" + "111 " * 50_000 + "]",
        "a. " * 50_000,
        '"' * 100_000,
        "(" * 100_000,
        "a." * 100_000,
        "a@" * 100_000,
        "http://" * 30_000,
        ("http://" + "." * 2000) * 50,
        "www." * 50_000,
        "e" + "\u0301" * 100_000,
        "a\u00ad" * 100_000,
        "\u200d" * 100_000,
        "👨‍" * 50_000,
        "🇩" * 100_000,
        "\x1b[" * 100_000,
        "::" * 100_000,
        "n'" * 100_000,
        "1," * 100_000,
        ":-" * 50_000,
        "\ud800" * 100_000,
    ],
    ids=lambda text: ascii(text[:8]),
)
def test_hostile_text_takes_linear_time(text):
    start = time.process_time()
    tokenize(text)
    assert time.process_time() - start < 2


@pytest.mark.fault(4)
def test_a_limit_stops_the_reading():
    text = "word " * 2_000_000
    start = time.process_time()
    assert len(tokenize(text, max_tokens=400)) == 400
    assert time.process_time() - start < 0.1
