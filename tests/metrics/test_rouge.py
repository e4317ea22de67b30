import json
import sys

import pytest
from golden.make_rouge_pairs import PAIRS, pairs
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from pgsum.errors import ConfigError
from pgsum.metrics.rouge import METRICS, MULTI, Rouge, Score
from pgsum.metrics.tokens import _jieba

# prediction, reference, F1 of rouge1, rouge2, rougeL, rougeLsum: what anybody can check by hand
DEGENERATE = [
    ("", "", 0, 0, 0, 0),
    ("", "the cat", 0, 0, 0, 0),
    ("the cat", "", 0, 0, 0, 0),
    (" \n\t", "the cat", 0, 0, 0, 0),
    ("...", "!?", 0, 0, 0, 0),
    ("cat", "cat", 1, 0, 1, 1),  # a single word has no bigram
    ("the cat", "the cat", 1, 1, 1, 1),
    ("THE CAT!", "the... cat", 1, 1, 1, 1),
    ("the cat sat", "the cat sat", 1, 1, 1, 1),
    ("cat the", "the cat", 1, 0, 1 / 2, 1 / 2),
    ("the the the", "the", 1 / 2, 0, 1 / 2, 1 / 2),  # a word counts as often as the other has it
    ("cats running", "cat run", 1, 1, 1, 1),  # stems
    ("it has", "it had", 1 / 2, 0, 1 / 2, 1 / 2),  # words of 3 letters are not stemmed
    ("it slept\nthe cat sat down", "the cat sat down\nit slept", 1, 4 / 5, 2 / 3, 1),
]

WORDS = st.sampled_from(
    [
        "a",
        "cat",
        "cats",
        "sat",
        "sitting",
        "the",
        "theories",
        "U.S.",
        "café",
        "今天",
        "1,000",
        "<n>",
    ]
)
SOUP = st.lists(WORDS | st.sampled_from(["\n", "\r\n", ". ", "\u2028", "</s>"])).map(" ".join)
TEXTS = SOUP | st.text(max_size=80)


def rouge_score(prediction, references, **kwargs):
    scores = RougeScorer(METRICS, **kwargs).score_multi(references, prediction)
    return {metric: Score(*score) for metric, score in scores.items()}


@pytest.mark.parametrize(
    ("prediction", "reference", "rouge1", "rouge2", "rouge_l", "rouge_lsum"), DEGENERATE
)
def test_degenerate_texts(prediction, reference, rouge1, rouge2, rouge_l, rouge_lsum):
    scores = Rouge().score(prediction, [reference])
    found = [scores[metric].f for metric in METRICS]
    assert found == pytest.approx([rouge1, rouge2, rouge_l, rouge_lsum])


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_every_score_equals_rouge_score(prediction, references):
    ours = Rouge(sentences="newline").score(prediction, references)
    assert ours == rouge_score(prediction, references, use_stemmer=True)


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_own_sentences_are_to_rouge_score_as_lines(prediction, references):
    ours = Rouge()
    by_line = ["\n".join(ours.lines(text)) for text in (prediction, *references)]
    theirs = rouge_score(by_line[0], by_line[1:], use_stemmer=True)
    assert ours.score(prediction, references) == theirs


FROZEN = [json.loads(line) for line in PAIRS.read_text(encoding="ascii").splitlines()]


@pytest.mark.parametrize("sentences", ["newline", "rule"])
def test_500_frozen_pairs_have_the_scores_that_rouge_score_gave_them(sentences):
    rouge = Rouge(sentences=sentences)
    for row in FROZEN:
        found = rouge.score(row["prediction"], [row["reference"]])
        values = [value for metric in METRICS for value in found[metric]]
        assert values == pytest.approx(row[sentences], rel=0, abs=1e-12), row


def test_the_frozen_pairs_are_those_of_their_script():
    assert len(FROZEN) == 500
    assert [(row["kind"], row["prediction"], row["reference"]) for row in FROZEN] == list(pairs())


@given(TEXTS, TEXTS)
def test_without_a_stemmer_too_scores_equal_rouge_score(prediction, reference):
    ours = Rouge(stemmer="none", sentences="newline").score(prediction, [reference])
    assert ours == rouge_score(prediction, [reference])


@given(TEXTS, TEXTS)
def test_precision_is_recall_the_other_way_round(one, other):
    there, back = Rouge().score(one, [other]), Rouge().score(other, [one])
    # Not rougeLsum: which of several longest subsequences is taken depends on the side.
    for metric in METRICS[:3]:
        assert there[metric].p == back[metric].r


@pytest.mark.parametrize(
    ("prediction", "rouge2", "rouge_l"),
    [
        ("police kill the gunman", 1 / 3, 3 / 4),
        ("the gunman kill police", 1 / 3, 2 / 4),
        ("the gunman police killed", 2 / 3, 2 / 4),
    ],
)
def test_examples_of_the_rouge_paper(prediction, rouge2, rouge_l):
    """Lin 2004, section 3.1, by which he tells ROUGE-L from ROUGE-2."""
    scores = Rouge(stemmer="none").score(prediction, ["police killed the gunman"])
    assert scores["rouge2"].r == pytest.approx(rouge2)
    assert scores["rougeL"].r == pytest.approx(rouge_l)


def test_the_rouge_paper_s_union_of_subsequences():
    """Lin 2004, section 3.2: w1 w2 and w1 w3 w5 make 4 of the reference's 5 words."""
    scores = Rouge().score("w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", ["w1 w2 w3 w4 w5"])
    assert scores["rougeLsum"] == pytest.approx((4 / 10, 4 / 5, 8 / 15))


def test_the_best_reference_is_taken_for_each_metric_apart():
    references = ["c b a", "a b x y z"]  # all words; the better order
    best = Rouge().score("a b c", references)
    words, order = (Rouge().score("a b c", [reference]) for reference in references)
    assert best["rouge1"] == words["rouge1"] != order["rouge1"]
    assert best["rouge2"] == order["rouge2"] != words["rouge2"]


SEVERAL = ["a x", "a b", "c d"]  # F1 of "a b": 1/2, 1, 0 by words, 0, 1, 0 by pairs


@pytest.mark.parametrize(
    ("multi", "references", "rouge1", "rouge2"),
    [
        ("max", SEVERAL, 1, 1),
        ("mean", SEVERAL, 1 / 2, 1 / 3),
        ("jackknife", SEVERAL, (1 + 1 / 2 + 1) / 3, 2 / 3),  # without the 1st, 2nd, 3rd
        ("jackknife", SEVERAL[:2], (1 + 1 / 2) / 2, 1 / 2),
        ("max", SEVERAL[:1], 1 / 2, 0),
        ("mean", SEVERAL[:1], 1 / 2, 0),
        ("jackknife", SEVERAL[:1], 1 / 2, 0),  # nothing can be left out
    ],
)
def test_scores_against_several_references_become_one(multi, references, rouge1, rouge2):
    found = Rouge(multi=multi).score("a b", references)
    assert (found["rouge1"].f, found["rouge2"].f) == pytest.approx((rouge1, rouge2))


@pytest.mark.parametrize("multi", ["mean", "jackknife"])
def test_of_several_references_the_mean_is_of_precision_and_recall_too(multi):
    found = Rouge(multi=multi).score("a b", ["a b c d", "a x"])["rouge1"]
    assert found == pytest.approx(((1 + 1 / 2) / 2, (1 / 2 + 1 / 2) / 2, (2 / 3 + 1 / 2) / 2))


def test_each_reference_has_its_own_score():
    rouge = Rouge(multi="jackknife")
    each = rouge.score_references("a b", SEVERAL)
    assert each == [rouge.score("a b", [reference]) for reference in SEVERAL]
    assert rouge.combine(each) == rouge.score("a b", SEVERAL)
    assert rouge.score_all_references(["a b", "c"], [SEVERAL, ["c"]]) == [
        each,
        [rouge.score("c", ["c"])],
    ]


@pytest.mark.parametrize("multi", MULTI)
def test_no_reference_at_all_is_an_error(multi):
    with pytest.raises(ValueError, match="empty"):
        Rouge(multi=multi).score("a", [])


@pytest.mark.parametrize("marker", ["<n>", "<q>", "</s>", "</s> <s>", "\n", "\r\n"])
def test_known_markers_break_sentences(marker):
    reference = f"the cat sat down {marker} it slept"
    scores = Rouge().score(f"it slept {marker} the cat sat down", [reference])
    assert scores["rougeLsum"].f == 1
    assert scores["rougeL"].f == pytest.approx(2 / 3)
    assert scores["rouge1"].f == 1


def test_sentences_on_one_line_are_split_by_rule_unless_newlines_are_asked_for():
    texts = "It slept for long. The cat sat down.", ["The cat sat down. It slept for long."]
    assert Rouge().score(*texts)["rougeLsum"].f == 1
    assert Rouge(sentences="newline").score(*texts)["rougeLsum"].f == 1 / 2


@pytest.mark.parametrize("tokenizer", ["unicode", "char"])
@pytest.mark.parametrize(
    "text", ["今天发布iPhone", "café résumé", "Привет, мир!", "こんにちは世界"]
)
def test_identical_texts_of_any_script_score_1(tokenizer, text):
    assert Rouge(tokenizer).score(text, [text])["rouge1"] == (1, 1, 1)


def test_chinese_is_compared_character_by_character():
    scores = Rouge("char").score("今天发布iPhone", ["明天召回iPhone"])
    assert scores["rouge1"].f == pytest.approx(2 / 5)  # 天 and iphone
    assert Rouge("rouge155").score("今天发布iPhone", ["明天召回iPhone"])["rouge1"].f == 1


def test_composed_and_decomposed_letters_are_the_same():
    assert Rouge("unicode").score("cafe\u0301", ["caf\u00e9"])["rouge1"].f == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_scores_come_in_order_whatever_the_number_of_processes(workers, monkeypatch):
    monkeypatch.setattr("pgsum.metrics.rouge._PAIRS_PER_WORKER", 10)
    monkeypatch.setattr("pgsum.metrics.rouge._CHUNK", 3)
    predictions = [" ".join(f"w{i * j % 7}" for j in range(9)) for i in range(20)]
    references = [[text, "w1 w2"] for text in reversed(predictions)]
    steps = []
    scores = Rouge().score_all(
        predictions, references, workers=workers, progress=lambda *step: steps.append(step)
    )
    assert scores == [Rouge().score(p, r) for p, r in zip(predictions, references, strict=True)]
    assert steps == [(done, 20) for done in (3, 6, 9, 12, 15, 18, 20)]


def test_scoring_imports_no_torch():
    import subprocess
    import sys

    code = "import sys, pgsum.metrics.rouge; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"tokenizer": "jiebo"},
            "'jiebo' is no ROUGE tokenizer; there are rouge155, unicode, char, jieba",
        ),
        ({"stemmer": "snow"}, "'snow' is no ROUGE stemmer; there are nltk, rouge155, none"),
        ({"sentences": "nltk"}, "'nltk' is no way to find sentences for ROUGE"),
        (
            {"multi": "best"},
            "'best' is no way to score against several references; there are max, mean, jackknife",
        ),
        (
            {"tokenizer": "char", "stemmer": "nltk"},
            "char takes single characters.*nltk cannot stem",
        ),
    ],
)
def test_settings_that_cannot_be_used(settings, message):
    with pytest.raises(ConfigError, match=message):
        Rouge(**settings)


def signature(*, references=(("a",), ("b",)), trials=1000, seed=12345, **settings):
    return Rouge(**settings).signature(references, trials=trials, seed=seed)


def test_the_signature_says_how_the_scores_were_counted():
    assert signature() == (
        "ROUGE|n:2|nrefs:1|multi:max|tok:rouge155|stem:nltk|sent:newline(pgsum-rule)|lower:yes"
        "|unk:kept|detok:none|agg:mean|ci:bs1000,seed12345|impl:rouge-score 0.1.2|pgsum:0.1.0"
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"references": [["a"]]}, "n:1"),
        ({"references": [["a", "b"], ["c"]]}, "nrefs:1-2"),
        ({"references": [["a", "b"], ["c", "d"]]}, "nrefs:2"),
        ({"tokenizer": "unicode", "stemmer": "nltk"}, "tok:unicode"),
        ({"tokenizer": "jieba"}, "tok:jieba-0.42.1"),
        ({"stemmer": "rouge155"}, "stem:rouge155"),
        ({"stemmer": "none"}, "stem:none"),
        ({"multi": "mean"}, "multi:mean"),
        ({"multi": "jackknife"}, "multi:jackknife"),
        ({"sentences": "newline"}, "sent:newline"),
        ({"trials": 10}, "ci:bs10,seed12345"),
        ({"seed": 1}, "ci:bs1000,seed1"),
    ],
)
def test_any_change_of_setting_changes_the_signature(change, field):
    usual, changed = signature().split("|"), signature(**change).split("|")
    assert field in set(changed) - set(usual)


def test_another_version_changes_the_signature(monkeypatch):
    monkeypatch.setattr("pgsum.metrics.rouge.version", lambda package: f"{package}'s next")
    monkeypatch.setattr("pgsum.__version__", "9.9")
    assert signature().endswith("|impl:rouge-score rouge-score's next|pgsum:9.9")


def test_every_field_of_the_signature_is_known():
    """The fields that say how, not by what, have one value each: nothing sets them."""
    fields = [field.split(":")[0] for field in signature().split("|")[1:]]
    known = "n nrefs multi tok stem sent lower unk detok agg ci impl pgsum"
    assert " ".join(fields) == known


def test_with_the_stemmer_of_rouge155_irregular_forms_are_one():
    texts = "the children took better homes", ["the child takes good homes"]
    old = Rouge(stemmer="rouge155").score(*texts)
    assert old["rouge1"].f == pytest.approx(4 / 5)  # "better" is of "well", too, and that counts
    assert Rouge().score(*texts)["rouge1"].f == pytest.approx(2 / 5)


def test_chinese_is_compared_word_by_word_where_jieba_is_asked_for():
    scores = Rouge("jieba").score("今天发布iPhone", ["明天召回iPhone"])
    assert scores["rouge1"].f == pytest.approx(1 / 3)
    assert Rouge("jieba").score("今天发布。", ["今天，发布"])["rouge2"].f == 1


def test_without_jieba_its_tokenizer_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jieba", None)
    monkeypatch.setattr("pgsum.metrics.tokens._jieba", _jieba.__wrapped__)  # not what it remembers
    with pytest.raises(ConfigError, match="needs the package jieba") as error:
        Rouge("jieba")
    assert error.value.hint == "run pip install 'pgsum[zh]', or use the tokenizer char"
