import pytest

from pgsum.text.casing import CasingCounts, Place, capitalise, places
from pgsum.text.tokenize import lookup_form, tokenize

START, INSIDE, UNSURE = Place.START, Place.INSIDE, Place.UNSURE


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("One two", [START, INSIDE]),
        ("A. B", [START, INSIDE, START]),
        ("A , b ( c ) d", [START, INSIDE, INSIDE, INSIDE, UNSURE, INSIDE, INSIDE]),
        ('A ?! " B', [START, INSIDE, START, START]),
        ("Mr . X", [START, INSIDE, INSIDE]),
        ("e.g. this", [START, INSIDE]),
        ("Tom : hi", [START, INSIDE, UNSURE]),
        ("well ... maybe", [START, INSIDE, UNSURE]),
        ("- Item one", [START, START, INSIDE]),
        ("Tom 's cat", [START, INSIDE, INSIDE]),
    ],
)
def test_where_a_word_stands(text, where):
    assert places([token.text for token in tokenize(text)]) == where


def test_a_line_starts_a_sentence():
    assert places(["a", "b"], [True, True]) == [START, START]


@pytest.mark.parametrize(
    ("word", "capital"),
    [
        ("word", "Word"),
        ("élan", "Élan"),
        ("e\u0301lan", "E\u0301lan"),
        ("Word", "Word"),
        ("iPhone", "iPhone"),
        ("get_it", "get_it"),
        ("os.path", "os.path"),
        ("x86", "x86"),
        ("ßa", "ßa"),
        ("字", "字"),
        ("", ""),
    ],
)
def test_words_take_a_capital_and_identifiers_do_not(word, capital):
    assert capitalise(word) == capital


def learn(texts: list[str], vocab: set[str], summaries: list[str] | None = None):
    counts = CasingCounts()
    for is_summary, group in ((False, texts), (True, summaries or [])):
        for text in group:
            words = [token.text for token in tokenize(text)]
            forms = [lookup_form(word, lowercase=True) for word in words]
            counts.add(forms, words, places(forms), is_summary=is_summary)
    return counts.learned(vocab)


def test_the_usual_case_is_that_inside_sentences():
    casing = learn(["The iPhone and the UN. The iPhone", "See the UN"], {"the", "iphone", "un"})
    assert casing.usual == {"iphone": "iPhone", "un": "UN"}


def test_a_word_seen_only_at_the_start_is_usual_as_there():
    assert learn(["Tom: hi", "Tom: yes"], {"tom", "hi"}).usual == {"tom": "Tom"}


def test_words_outside_the_vocabulary_are_not_kept():
    casing = learn(["see Tom"], set())
    assert casing.usual == {}
    assert casing.lower == frozenset()


def test_clearly_lower_words_are_so_in_nine_of_ten_places_and_in_three_at_least():
    texts = ["see the cat"] * 3 + ["it may be May"] * 9 + ["see a dog"] * 2
    assert learn(texts, {"the", "may", "dog"}).lower == {"the"}


@pytest.mark.parametrize(("start", "capital"), [("The cat", True), ("the cat", False)])
def test_whether_summaries_start_with_a_capital_is_learned(start, capital):
    casing = learn(["see the cat"] * 3, {"the", "cat"}, [start, start, "Tom sat"])
    assert casing.capital_start is capital
