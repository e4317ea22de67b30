import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.text.spacing import SpacingCounts, glue, kinds_of


def spaced(forms: list[str], learned: dict[str, bool] | None = None) -> str:
    given = [True] + [None] * (len(forms) - 1)
    joined = glue(forms, learned or {}, given)
    return "".join(f if g else f" {f}" for f, g in zip(forms, joined, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "Tom|'s cat|, dog|; cow|: all|.",
        "it cost $|5.50|, or 50|% of (|about|) €|10 [|1|]|.",
        'he said "|yes|" and "|no|"|.',
        "the '|big|' one and the parents|' house",
        "a well|-|known and|/|or thing",
        "what|?! no|... yes|!!!",
        "nice 👍🏽 day",
        "我|喜|欢|iPhone 3|手|机|。|“|是|”|,|好",
        "a “|b|” «|c|»",
    ],
)
def test_without_learning_marks_stand_as_in_print(text):
    forms = [form for word in text.split(" ") for form in word.split("|")]
    assert spaced(forms) == text.replace("|", "")


def test_what_was_seen_goes_before_the_rules():
    counts = SpacingCounts()
    for _ in range(2):
        counts.add(["did", "n't", "say", "."], [True, False, False, False])
    assert spaced(["did", "n't", "say", "."]) == "didn't say."
    assert spaced(["was", "n't", "he", "."], counts.learned({"he"})) == "was n't he ."


def test_what_was_seen_once_is_not_enough():
    counts = SpacingCounts()
    counts.add(["a", ",", "b"], [True, False, False])
    assert counts.learned({"a", "b"}) == {}


def test_a_hyphen_is_written_to_both_or_to_none_as_its_next_word_is():
    counts = SpacingCounts()
    for _ in range(2):
        counts.add(["web", "-", "based", "tool"], [True, True, True, False])
        counts.add(["foo", "-", "a", "tool"], [True, False, False, False])
    learned = counts.learned({"based", "a", "tool"})
    assert spaced(["perl", "-", "based", "thing"], learned) == "perl-based thing"
    assert spaced(["bar", "-", "a", "thing"], learned) == "bar - a thing"


def test_contexts_name_words_of_the_vocabulary_only():
    counts = SpacingCounts()
    for _ in range(2):
        counts.add(["web", "-", "based"], [True, True, True])
        counts.add(["foo", "-", "rare"], [True, False, False])
    assert {c for c in counts.learned({"based"}) if c.startswith("next")} == {"next - based"}


def test_counts_of_pieces_add_up():
    one, two, both = SpacingCounts(), SpacingCounts(), SpacingCounts()
    for forms, glued in [(["a", "~", "b"], [True] * 3), (["c", "~", "d"], [True, False, False])]:
        for counts in (one, two):
            counts.add(forms, glued)
            both.add(forms, glued)
    one.update(two)
    assert one.learned({"b", "d"}) == both.learned({"b", "d"})


def test_what_is_given_stands():
    assert glue(["a", ",", "b"], {}, [True, False, True]) == [True, False, True]


def test_straight_quotes_open_and_close_in_turn_and_apostrophes_stay():
    assert kinds_of(['"', "a", '"', '"']) == ['"<', "word", '">', '"<']
    assert kinds_of(["'", "a", "'"]) == ["'<", "word", "'>"]
    assert kinds_of(["parents", "'", "house"])[1] == "'>"
    assert kinds_of(["parents", "'", "cats", "'"])[1::2] == ["'<", "'>"]


@given(st.lists(st.text(min_size=1), min_size=1))
def test_any_forms_can_be_spaced(forms):
    assert spaced(forms).replace(" ", "") == "".join(forms).replace(" ", "")
