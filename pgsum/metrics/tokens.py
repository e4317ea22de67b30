"""The words that ROUGE compares, and how much of a text they leave out.

Apart from `pgsum.text.tokenize` on purpose: a score must not move when the model's words do.
`rouge155` is what ROUGE-1.5.5 and rouge-score do, and sees nothing but a-z and 0-9; `unicode` keeps
words of any script; `char` does too, but takes scripts without blanks character by character.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache

import regex
from nltk.stem.porter import PorterStemmer

TOKENIZERS = ("rouge155", "unicode", "char")
STEMMERS = ("nltk", "none")

_ROUGE155 = re.compile("[a-z0-9]+")
_UNBLANKED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"  # ー is kana
)
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]++")
_WORD_OR_CHAR = regex.compile(
    rf"[{_UNBLANKED}]\p{{M}}*+|[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNBLANKED}]]++", regex.VERSION1
)
_NO_LETTERS = regex.compile(r"\P{L}++")


def tokens(text: str, *, tokenizer: str, stemmer: str) -> list[str]:
    """The lower-cased, stemmed words of `text`, by one of `TOKENIZERS` and one of `STEMMERS`."""
    if tokenizer == "rouge155":
        words: list[str] = _ROUGE155.findall(text.lower())
    else:
        pattern = _WORD if tokenizer == "unicode" else _WORD_OR_CHAR
        words = pattern.findall(unicodedata.normalize("NFC", text.lower()))
    if stemmer == "none":
        return words
    # Short words stay as they are, as in ROUGE-1.5.5 and rouge-score.
    return [_stem(word) if len(word) > 3 else word for word in words]


def letters_lost(text: str) -> tuple[int, int]:
    """How many letters of `text` the tokenizer `rouge155` drops, and how many there are."""
    letters = _NO_LETTERS.sub("", unicodedata.normalize("NFC", text.lower()))
    return len(letters) - len(letters.encode("ascii", "ignore")), len(letters)


def tokenizer_for(texts: Iterable[str]) -> str:
    """`rouge155`, or `char` where it would drop more than half of the letters of `texts`."""
    lost = letters = 0
    for text in texts:
        text_lost, text_letters = letters_lost(text)
        lost, letters = lost + text_lost, letters + text_letters
    return "char" if 2 * lost > letters else "rouge155"


@lru_cache(maxsize=2**18)
def _stem(word: str) -> str:
    # Stemming takes most of rouge-score's time, and a corpus has few distinct words.
    stem: str = _porter().stem(word)
    return stem


@cache
def _porter() -> PorterStemmer:
    return PorterStemmer()
