"""Words to stems, so that ROUGE takes "cats" for "cat".

`nltk` is rouge-score's: Porter's stemmer with NLTK's extensions. `rouge155` is that of ROUGE-1.5.5,
by which the older papers report: WordNet's lists of irregular forms ("mice", "took"), and for all
other words Porter's stemmer as published in 1980. Both know English only, and leave words of 3
letters and fewer as they are. The lists are WordNet's own files, under the licence beside them.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib.resources import files

from nltk.stem.porter import PorterStemmer

STEMMERS = ("nltk", "rouge155", "none")

_SHORT = 3  # letters
# In this order: of the few words with several entries the last counts.
_EXCEPTION_LISTS = ("adj.exc", "adv.exc", "noun.exc", "verb.exc")


def stems(words: list[str], stemmer: str) -> list[str]:
    """`words`, in lower case, by one of `STEMMERS`."""
    if stemmer == "none":
        return words
    stem = _nltk if stemmer == "nltk" else _rouge155
    return [stem(word) if len(word) > _SHORT else word for word in words]


# Stemming takes most of rouge-score's time, and a corpus has few distinct words.
@lru_cache(maxsize=2**18)
def _nltk(word: str) -> str:
    return _porter(PorterStemmer.NLTK_EXTENSIONS)(word)


@lru_cache(maxsize=2**18)
def _rouge155(word: str) -> str:
    return _irregular().get(word) or _porter(PorterStemmer.ORIGINAL_ALGORITHM)(word)


@cache
def _porter(mode: str) -> Callable[[str], str]:
    stem: Callable[[str], str] = PorterStemmer(mode).stem
    return stem


@cache
def _irregular() -> dict[str, str]:
    """Base forms by irregular form: "mice" to "mouse"."""
    forms: dict[str, str] = {}
    for name in _EXCEPTION_LISTS:
        text = (files("pgsum.metrics") / "wordnet" / name).read_text(encoding="ascii")
        for line in text.splitlines():
            irregular, base, *_ = line.split()
            forms[irregular] = base
    return forms
