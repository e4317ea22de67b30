import pytest

from pgsum.data.records import Pair
from pgsum.errors import DataError
from pgsum.evaluation import Measured, evaluate
from pgsum.metrics.copying import Ratio
from pgsum.metrics.measures import Average
from pgsum.metrics.rouge import METRICS, Rouge
from pgsum.systems import BASELINES, Baseline, Trace, Written, recorded

PAIRS = [
    Pair("a", "The cat sat down. It slept. Nobody came. It rained.", ("The cat slept.",)),
    Pair("b", "Prices rose. Analysts were surprised.", ("Prices rose again.", "Prices rose.")),
    Pair("c", "The match was lost.", ("The match was lost.",)),
]


def shout(documents):
    return [Written(document.upper()) for document in documents]


def pairs_of(*references):
    return [Pair(f"id{i}", "", (reference,)) for i, reference in enumerate(references)]


def test_baselines_stand_below_the_system():
    evaluation = evaluate(PAIRS, {"shout": shout})
    assert list(evaluation.systems) == ["shout", *BASELINES]
    assert evaluation.system == "shout"
    assert evaluation.systems["lead-1"].predictions[:2] == ("The cat sat down.", "Prices rose.")
    assert evaluation.figures["shout"] == evaluation.systems["shout"].figures


def test_a_baseline_that_is_asked_for_stands_first_and_once():
    others = [name for name in BASELINES if name != "lead-3"]
    evaluation = evaluate(PAIRS, {"lead-3": Baseline("lead-3")})
    assert list(evaluation.systems) == ["lead-3", *others]


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
    alone = evaluate(PAIRS, {"lead-3": Baseline("lead-3")}, baselines=False)
    beside = evaluate(PAIRS, {"shout": shout})
    assert alone.systems["lead-3"] == beside.systems["lead-3"]


def test_a_system_sees_the_documents_and_no_reference():
    seen = []

    def system(documents):
        seen.extend(documents)
        return shout(documents)

    evaluate(PAIRS, {"spy": system})
    assert seen == [pair.document for pair in PAIRS]


def test_progress_counts_examples():
    steps = []
    evaluate(PAIRS, {"shout": shout}, progress=lambda *step: steps.append(step))
    assert steps == [(3, 3)]


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
    with pytest.raises(DataError, match=r"more than half of the letters or words in .* of id1"):
        evaluate(pairs, system)
    with pytest.raises(DataError, match="--rouge-tokenizer char"):
        evaluate(pairs, system)
    kept = evaluate(pairs, system, tokenizer="char")
    assert kept.systems["x"].scores[1]["rouge1"].f == 1
    lost = evaluate(pairs, system, tokenizer="rouge155")
    assert lost.systems["x"].scores[1]["rouge1"].f == 0
    assert "x: the ROUGE tokenizer rouge155 drops more than 5%" in lost.notes[0]
    assert "of 1 of 3 examples (id1)" in lost.notes[0]


def test_chinese_texts_that_share_their_latin_word_alone_are_not_the_same():
    evaluation = evaluate(pairs_of("明天召回iPhone"), {"x": recorded(["今天发布iPhone"])})
    assert evaluation.figures["x"]["rouge1"].f == pytest.approx(2 / 5)  # 天 and iphone


def test_a_chinese_reference_with_a_latin_word_among_english_ones_is_refused():
    pairs = pairs_of("The cat sat down and slept.", "今天发布iPhone", "It rained for days.")
    with pytest.raises(DataError, match=r"of id1; at a\.jsonl; use --rouge-tokenizer char"):
        evaluate(pairs, {"x": recorded(["x"] * 3)}, where="a.jsonl")


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
        "The references of 1 of 2 examples are empty: whatever is written there scores 0.",
        "x, of 2 summaries: 1 empty.",
    )


@pytest.mark.parametrize(
    ("multi", "effect", "score"),
    [
        ("max", "they change no score", 1.0),
        ("mean", "each counts as a score of 0", 0.5),
        ("jackknife", "each counts as a score of 0", 0.5),
    ],
)
def test_empty_references_beside_others_are_counted_and_their_effect_is_told(multi, effect, score):
    pairs = [Pair("a", "", ("the cat", " ")), Pair("b", "", ("the dog",))]
    evaluation = evaluate(pairs, {"x": recorded(["the cat", "the dog"])}, multi=multi)
    assert evaluation.notes == (f"Empty references beside others: 1; {effect}.",)
    assert evaluation.systems["x"].scores[0]["rouge1"].f == score


def test_what_baselines_lack_is_not_said():
    pairs = [Pair("a", "Élan où çà été. Là-bas.", ("the cat",)), Pair("b", "A cat. A dog.", ("x",))]
    evaluation = evaluate(pairs, {"x": recorded(["the cat", "a"])})
    assert "" in evaluation.systems["oracle"].predictions
    assert evaluation.notes == ()


@pytest.mark.parametrize("multi", ["max", "mean", "jackknife"])
def test_of_several_references_each_ones_score_is_kept(multi):
    evaluation = evaluate(PAIRS, {"shout": shout}, multi=multi)
    result = evaluation.systems["shout"]
    assert f"|multi:{multi}|" in evaluation.signature
    assert [len(each) for each in result.by_reference] == [1, 2, 1]
    assert result.scores[1] == Rouge(multi=multi).combine(result.by_reference[1])


def test_what_stands_in_a_text_is_measured_for_summaries_and_references():
    evaluation = evaluate(PAIRS, {"x": recorded(["a b a b", "a b", "a b"])})
    assert evaluation.averages["summaries"]["words"] == Average(8 / 3, 8 / 3)
    assert evaluation.averages["summaries"]["repeated_1grams"] == Average(2 / 8, 0.5 / 3)
    assert evaluation.averages["references"]["words"] == Average(12 / 4, (3 + 5 / 2 + 4) / 3)
    assert evaluation.notes == ("x, of 3 summaries: 1 the same as an earlier one.",)


TRACE = Trace(
    score=-1.0,
    stop="max_tokens",
    truncated=True,
    unread_tokens=2,
    read_chars=12,
    words=4,
    copied=3,
    oovs=1,
    p_gen=0.25,
    copy_mass=0.5,
    coverage_loss=0.125,
    reference_oovs=Ratio(1, 2),
)


def test_what_a_model_tells_is_averaged_and_its_faults_are_noted():
    written = [Written("A cat.", TRACE), Written("Prices.", TRACE), Written("Lost.", TRACE)]
    evaluation = evaluate(PAIRS, {"model": recorded(written)})
    found = evaluation.averages["summaries"]
    assert found["p_gen"] == Average(0.25, 0.25)
    assert found["copy_mass"] == Average(0.5, 0.5)
    assert found["coverage_loss"] == Average(0.125, 0.125)
    assert found["copied_words"] == Average(0.75, 0.75)
    assert found["reference_oovs"] == Average(0.5, 0.5)
    assert evaluation.traces == (TRACE,) * 3
    assert evaluation.notes == (
        "model, of 3 summaries: 3 cut off at decode.max_tokens; "
        "3 of documents longer than the model reads.",
    )


def test_what_was_measured_while_there_was_a_document_is_kept():
    known = {"p_gen": Ratio(1, 4), "words": Ratio(99, 1)}
    system = {"x": recorded(["a b"])}
    measured = Measured(known, {}, "rouge155", "f00d")
    evaluation = evaluate(pairs_of("a b"), system, measured=[measured])
    assert evaluation.averages["summaries"]["p_gen"].micro == 0.25
    assert evaluation.averages["summaries"]["words"].micro == 2
    assert evaluation.measured[0].source_sha256 == "f00d"
    assert evaluation.notes == ()

    other = evaluate(pairs_of("a b"), system, measured=[measured._replace(tokenizer="char")])
    assert "p_gen" not in other.averages["summaries"]
    assert other.measured[0].source_sha256 == "f00d"
    assert other.notes == (
        "What was measured against the documents is left out: it counts words of the ROUGE "
        "tokenizer char, and this run those of rouge155.",
    )


@pytest.mark.parametrize(
    ("pairs", "system", "message"),
    [
        ([], shout, "the data hold no pair"),
        ([Pair("a", "x", ())], shout, "no reference for a"),
        (pairs_of("x") * 2, shout, "Ids must be unique; these are not: id0"),
        (pairs_of("x", "y"), recorded(["x"]), "sut gave 1 summaries for 2 documents"),
        ([Pair(i, "", ()) for i in "abcdefg"], shout, "for a, b, c, d, e and 2 more"),
    ],
)
def test_what_cannot_be_scored_is_an_error(pairs, system, message):
    with pytest.raises(DataError, match=message):
        evaluate(pairs, {"sut": system})


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], r"hold no pair; at a\.jsonl"),
        (pairs_of("x") * 2, r"these are not: id0; at a\.jsonl"),
        ([Pair("a", "x", ())], r"no reference for a; at a\.jsonl"),
    ],
)
def test_what_cannot_be_scored_is_looked_for_where_it_was_read(pairs, message):
    with pytest.raises(DataError, match=message):
        evaluate(pairs, {"sut": shout}, where="a.jsonl")
