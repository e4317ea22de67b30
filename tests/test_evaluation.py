import pytest

from pgsum.data.records import Pair
from pgsum.errors import ConfigError, DataError
from pgsum.evaluation import evaluate, named_system, recorded
from pgsum.metrics.rouge import METRICS, Rouge

PAIRS = [
    Pair("a", "The cat sat down. It slept. Nobody came. It rained.", ("The cat slept.",)),
    Pair("b", "Prices rose. Analysts were surprised.", ("Prices rose again.", "Prices rose.")),
    Pair("c", "The match was lost.", ("The match was lost.",)),
]


def shout(documents):
    return [document.upper() for document in documents]


def pairs_of(*references):
    return [Pair(f"id{i}", "", (reference,)) for i, reference in enumerate(references)]


def test_lead_1_and_lead_3_stand_below_the_system():
    evaluation = evaluate(PAIRS, {"shout": shout})
    assert list(evaluation.systems) == ["shout", "lead-1", "lead-3"]
    assert evaluation.systems["lead-1"].predictions[:2] == ("The cat sat down.", "Prices rose.")
    assert evaluation.figures["shout"] == evaluation.systems["shout"].figures


def test_a_baseline_that_is_asked_for_stands_first_and_once():
    assert list(evaluate(PAIRS, {"lead-3": named_system("lead-3")}).systems) == ["lead-3", "lead-1"]


def test_baselines_can_be_left_out_and_need_documents():
    assert list(evaluate(PAIRS, {"shout": shout}, baselines=False).systems) == ["shout"]
    bare = [Pair(pair.id, "", pair.references) for pair in PAIRS]
    assert list(evaluate(bare, {"shout": shout}).systems) == ["shout"]


def test_figures_are_means_of_the_single_scores():
    result = evaluate(PAIRS, {"shout": shout}).systems["shout"]
    expected = [Rouge().score(p.document.upper(), p.references) for p in PAIRS]
    assert list(result.scores) == expected
    for metric in METRICS:
        mean = sum(score[metric].f for score in expected) / len(PAIRS)
        assert result.figures[metric].f == pytest.approx(mean)
        assert result.figures[metric].low <= mean <= result.figures[metric].high


def test_the_same_system_gets_the_same_figures_whatever_its_neighbours():
    alone = evaluate(PAIRS, {"lead-3": named_system("lead-3")}, baselines=False)
    beside = evaluate(PAIRS, {"shout": shout})
    assert alone.systems["lead-3"] == beside.systems["lead-3"]


def test_a_system_sees_the_documents_and_no_reference():
    seen = []

    def system(documents):
        seen.extend(documents)
        return list(documents)

    evaluate(PAIRS, {"spy": system})
    assert seen == [pair.document for pair in PAIRS]


def test_progress_counts_examples_of_all_systems():
    steps = []
    evaluate(PAIRS, {"shout": shout}, progress=lambda *step: steps.append(step))
    assert steps == [(9, 9)]


def test_the_signature_names_settings_and_seed():
    evaluation = evaluate(PAIRS, {"shout": shout}, stemmer="none", trials=7, seed=3)
    assert "|n:3|nrefs:1-2|" in evaluation.signature
    assert "|stem:none|" in evaluation.signature
    assert "|ci:bs7,seed3|" in evaluation.signature
    assert evaluation.seed == 3


def test_chinese_references_choose_characters_and_say_so():
    pairs = pairs_of("今天发布新手机", "明天召回")
    evaluation = evaluate(pairs, {"x": recorded(["今天召回旧手机", "明天召回"])})
    assert "|tok:char|stem:none|" in evaluation.signature
    assert "tokenizer char; --rouge-tokenizer names another." in evaluation.notes[0]
    assert [s["rouge1"].f for s in evaluation.systems["x"].scores] == pytest.approx([4 / 7, 1])


def test_a_chinese_reference_among_english_ones_is_refused_unless_a_tokenizer_is_named():
    pairs = pairs_of("The cat sat down and slept.", "今天发布新手机", "It rained for days.")
    system = {"x": recorded([pair.references[0] for pair in pairs])}
    with pytest.raises(DataError, match=r"more than half of the letters in the references of id1"):
        evaluate(pairs, system)
    with pytest.raises(DataError, match="--rouge-tokenizer char"):
        evaluate(pairs, system)
    kept = evaluate(pairs, system, tokenizer="char")
    assert kept.systems["x"].scores[1]["rouge1"].f == 1
    lost = evaluate(pairs, system, tokenizer="rouge155")
    assert lost.systems["x"].scores[1]["rouge1"].f == 0
    assert "x: the ROUGE tokenizer rouge155 drops more than 5%" in lost.notes[0]
    assert "of 1 of 3 examples (id1)" in lost.notes[0]


@pytest.mark.parametrize(
    ("prediction", "warned"), [("naïve café", True), ("a naive plain coffee house, café", False)]
)
def test_more_than_5_percent_of_lost_letters_is_noted(prediction, warned):
    evaluation = evaluate(pairs_of("coffee"), {"x": recorded([prediction])})
    assert any("drops more than 5%" in note for note in evaluation.notes) == warned


def test_empty_texts_score_0_and_are_counted():
    evaluation = evaluate(pairs_of("the cat", " "), {"x": recorded(["", "the cat"])})
    assert evaluation.figures["x"]["rouge1"].f == 0
    assert evaluation.notes == (
        "x: 1 of 2 summaries are empty and score 0.",
        "Empty references: 1; they score 0.",
    )


@pytest.mark.parametrize(
    ("pairs", "system", "message"),
    [
        ([], shout, "the data hold no pair"),
        ([Pair("a", "x", ())], shout, "no reference for a"),
        (pairs_of("x") * 2, shout, "Ids must be unique; these are not: id0"),
        (pairs_of("x", "y"), recorded(["x"]), "sut gave 1 summaries for 2 documents"),
        (pairs_of("x", "y"), lambda _: ["x", None], "sut gave no text for id1"),
        (pairs_of(*"abcdefg"), lambda _: [None] * 7, "id0, id1, id2, id3, id4 and 2 more"),
    ],
)
def test_what_cannot_be_scored_is_an_error(pairs, system, message):
    with pytest.raises(DataError, match=message):
        evaluate(pairs, {"sut": system})


@pytest.mark.parametrize("name", ["lead", "lead-0", "lead-x", "textrang", "lead-3 "])
def test_unknown_systems_are_refused_by_name(name):
    with pytest.raises(ConfigError, match=f"no system '{name}'.*lead-3"):
        named_system(name)
