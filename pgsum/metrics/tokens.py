"""The words and sentences that scores compare, and how much of a text the words leave out.

Apart from `pgsum.text.tokenize` on purpose: a score must not move when the model's words do.
`rouge155` is what ROUGE-1.5.5 and rouge-score do, and sees nothing but a-z and 0-9; `unicode` keeps
words of any script; `char` does too, but takes scripts without blanks character by character;
`jieba` takes Chinese word by word, by the package of that name.
"""

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from functools import cache

import regex

from pgsum.errors import ConfigError
from pgsum.metrics.stemming import stems
from pgsum.text.sentences import split_sentences

TOKENIZERS = ("rouge155", "unicode", "char", "jieba")

_ROUGE155 = re.compile("[a-z0-9]+")
_UNBLANKED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"  # ー is kana
)
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]++")
_WORD_OR_CHAR = regex.compile(
    rf"[{_UNBLANKED}]\p{{M}}*+|[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNBLANKED}]]++", regex.VERSION1
)
_HAN = regex.compile(r"\p{Han}")
_NO_LETTERS = regex.compile(r"\P{L}++")
# Sentence breaks of PEGASUS, of PreSumm, and of See et al.'s files.
_MARKER = re.compile("<n>|<q>|</?s>")


def tokens(text: str, *, tokenizer: str, stemmer: str) -> list[str]:
    """The lower-cased, stemmed words of `text`, by one of `TOKENIZERS` and one of `STEMMERS`.

    ConfigError where the tokenizer's package is missing.
    """
    if tokenizer == "rouge155":
        words: list[str] = _ROUGE155.findall(text.lower())
    else:
        normal = unicodedata.normalize("NFC", text.lower())
        words = (_WORD_OR_CHAR if tokenizer == "char" else _WORD).findall(normal)
        if tokenizer == "jieba":
            cut = _jieba()  # which would part "café"
            words = [
                part for word in words for part in (cut(word) if _HAN.search(word) else [word])
            ]
    return stems(words, stemmer)


def summary_sentences(text: str) -> list[str]:
    """The sentences of a summary, none of them empty: its lines, or, of one line, by rule.

    The markers <n>, <q>, <s> and </s> end a line, too.
    """
    text = _MARKER.sub("\n", text)
    return text_lines(text) if "\n" in text.strip() else split_sentences(text)


def text_lines(text: str) -> list[str]:
    """The lines of `text` as rouge-score parts them, but for those that are empty."""
    return [line for line in text.split("\n") if line]


def letters_lost(text: str) -> tuple[int, int]:
    """How many letters of `text` the tokenizer `rouge155` drops, and how many there are."""
    letters = _NO_LETTERS.sub("", unicodedata.normalize("NFC", text.lower()))
    return len(letters) - len(letters.encode("ascii", "ignore")), len(letters)


def words_lost(text: str) -> tuple[int, int]:
    """Of how many words that have letters `rouge155` drops every letter, and how many there are.

    Of scripts without blanks each character is a word.
    """
    words = [
        word
        for word in tokens(text, tokenizer="char", stemmer="none")
        if any(map(str.isalpha, word))
    ]
    return sum(not any(map(str.isascii, word)) for word in words), len(words)


def loses_most(texts: Iterable[str]) -> bool:
    """Whether `rouge155` drops more than half of the letters of `texts`, or of their words.

    Both, as a Latin word has many letters, and a Chinese character, taken for a word, is one.
    """
    texts = list(texts)
    if all(map(str.isascii, texts)):  # as most are, and need no counting
        return False
    return any(
        2 * sum(lost for lost, _ in counts) > sum(total for _, total in counts)
        for counts in ([count(text) for text in texts] for count in (letters_lost, words_lost))
    )


def tokenizer_for(texts: Iterable[str]) -> str:
    """`rouge155`, or `char` where that `loses_most` of `texts`."""
    return "char" if loses_most(texts) else "rouge155"


@cache
def _jieba() -> Callable[[str], list[str]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # written for older Pythons, it is warned of
            from jieba import Tokenizer
    except ImportError as error:
        raise ConfigError(
            "The ROUGE tokenizer jieba needs the package jieba, which is not installed.",
            hint="run pip install 'pgsum[zh]', or use the tokenizer char",
        ) from error
    cutter = Tokenizer()
    # Its own way to begin reads what any program may have left in the folder of temporary files.
    cutter.FREQ, cutter.total = cutter.gen_pfdict(cutter.get_dict_file())
    cutter.initialized = True
    cut: Callable[[str], list[str]] = cutter.lcut
    return cut
