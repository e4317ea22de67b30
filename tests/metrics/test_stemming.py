from pathlib import Path

import pytest
from nltk.stem.porter import PorterStemmer

from pgsum.metrics import stemming
from pgsum.metrics.stemming import stems


@pytest.mark.parametrize(
    ("word", "nltk", "rouge155"),
    [
        ("cats", "cat", "cat"),
        ("killed", "kill", "kill"),
        ("mice", "mice", "mouse"),  # the list of nouns
        ("mouse", "mous", "mous"),  # so that ROUGE-1.5.5 does not see one word in the two
        ("took", "took", "take"),  # of verbs
        ("worst", "worst", "bad"),  # of adjectives
        ("better", "better", "well"),  # of adverbs
        (
            "skies",
            "sky",
            "ski",
        ),  # regular to WordNet
        ("dying", "die", "die"),
        ("had", "had", "had"),  # 3 letters
        ("ran", "ran", "ran"),
        ("café", "café", "café"),
    ],
)
def test_stems(word, nltk, rouge155):
    assert stems([word], "nltk") == [nltk]
    assert stems([word], "rouge155") == [rouge155]
    assert stems([word], "none") == [word]


def test_what_is_regular_is_stemmed_as_porter_published():
    words = ["relational", "conditional", "hesitanci", "digitizer", "conformabli", "radicalli"]
    original = PorterStemmer(PorterStemmer.ORIGINAL_ALGORITHM)
    assert stems(words, "rouge155") == [original.stem(word) for word in words]


def test_the_lists_have_their_licence_beside_them():
    folder = Path(stemming.__file__).parent / "wordnet"
    assert {path.name for path in folder.iterdir()} == {*stemming._EXCEPTION_LISTS, "LICENSE"}
    assert "Princeton University" in (folder / "LICENSE").read_text(encoding="utf-8")
