import pytest
import torch
from reference.drawn_model import BOS, EOS, PAD, SPECIALS, UNK, DrawnModel, draw_model
from reference.drawn_search import search
from reference.textbook_search import (
    Settings,
    enumerate_all,
    most_sequences,
    textbook_beam_search,
)

from pgsum.errors import ModelError


def agree(found, expected) -> None:
    """The twin's list, in its order, with its numbers."""
    assert [hypothesis.ids for hypothesis in found] == [other.ids for other in expected]
    assert [hypothesis.stop for hypothesis in found] == [other.stop for other in expected]
    for hypothesis, other in zip(found, expected, strict=True):
        assert hypothesis.log_prob == pytest.approx(other.log_prob, abs=1e-12)
        assert hypothesis.score == pytest.approx(other.score, abs=1e-12)


def same(found, expected) -> None:
    """Two searches gave one and the same answer, to the last number."""
    for hypotheses, others in zip(found, expected, strict=True):
        assert len(hypotheses) == len(others)
        for hypothesis, other in zip(hypotheses, others, strict=True):
            assert hypothesis.ids == other.ids
            assert hypothesis.stop == other.stop
            assert hypothesis.log_prob == other.log_prob
            assert hypothesis.score == other.score
            assert hypothesis.token_log_probs == other.token_log_probs
            assert torch.equal(hypothesis.attention, other.attention)
            assert torch.equal(hypothesis.p_gen, other.p_gen)


@pytest.mark.parametrize("seed", range(20))
def test_a_beam_as_wide_as_all_sequences_finds_them_all(seed):
    model = draw_model(seed, words=3, oovs=[1])
    settings = Settings(
        min_tokens=seed % 3,
        max_tokens=3,
        eos_id=EOS,
        banned_ids=SPECIALS,
        length_alpha=seed / 10,
        no_repeat_ngram=(0, 1, 2)[seed % 3],
    )
    expected = enumerate_all(lambda prefix: model.next_log_probs(0, prefix), settings)
    widest = most_sequences(words=4, max_tokens=3)
    [found] = search(
        model,
        beam_size=widest,
        n_best=widest,
        min_tokens=settings.min_tokens,
        max_tokens=3,
        length_alpha=settings.length_alpha,
        no_repeat_ngram=settings.no_repeat_ngram,
    )
    # In a first-order chain different sequences tie exactly, so their order proves nothing.
    assert len(found) == len(expected)
    assert {hypothesis.ids: hypothesis.stop for hypothesis in found} == {
        ids: other.stop for ids, other in expected.items()
    }
    assert {hypothesis.ids: hypothesis.score for hypothesis in found} == pytest.approx(
        {ids: other.score for ids, other in expected.items()}
    )
    scores = [hypothesis.score for hypothesis in found]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.5])
def test_it_finds_what_a_textbook_finds_that_never_stops_early(seed, alpha):
    model = draw_model(seed, documents=3, multiplier=31, sharpness=1 + seed % 4)
    shape = {"beam_size": 1 + seed % 5, "min_tokens": [0, 3, 1], "max_tokens": [5, 9, 12]}
    options = {
        "length_alpha": alpha,
        "no_repeat_ngram": seed % 4,
        "exempt_ids": [4] if seed % 2 else [],
    }
    found = search(model, **shape, **options, n_best=1 + (seed // 5) % shape["beam_size"])
    for document, hypotheses in enumerate(found):
        expected = textbook_beam_search(
            lambda prefix, document=document: model.next_log_probs(document, prefix),
            Settings(
                min_tokens=shape["min_tokens"][document],
                max_tokens=shape["max_tokens"][document],
                eos_id=EOS,
                banned_ids=SPECIALS,
                **options,
            ),
            beam_size=shape["beam_size"],
        )
        agree(hypotheses, expected[: 1 + (seed // 5) % shape["beam_size"]])


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_search_stops_as_soon_as_nothing_alive_can_win(alpha):
    """EOS has 0.9 at once: 0.1 spread over two words cannot win, however long they go on."""
    table = torch.full((6, 6), -torch.inf)
    table[:, EOS], table[:, 4], table[:, 5] = -0.11, -3.0, -3.0
    model = DrawnModel([table], vocab=6)
    [[hypothesis]] = search(model, beam_size=4, max_tokens=20, length_alpha=alpha)
    assert hypothesis.ids == ()
    assert len(model.calls) == 1


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.2])
def test_stopping_early_saves_steps_and_changes_no_answer(alpha, monkeypatch):
    def everything(seed):
        model = draw_model(seed, documents=3, multiplier=31, sharpness=2)
        found = search(model, beam_size=4, n_best=1 + seed % 4, length_alpha=alpha, max_tokens=12)
        return found, sum(len(last_ids) for last_ids, _ in model.calls)

    early = [everything(seed) for seed in range(8)]
    monkeypatch.setattr(
        "pgsum.decode.beam.nothing_better",
        lambda beam, penalty: (beam.log_probs == -torch.inf).all(1),
    )
    late = [everything(seed) for seed in range(8)]
    for (found, _), (expected, _) in zip(early, late, strict=True):
        same(found, expected)
    assert sum(rows for _, rows in early) < sum(rows for _, rows in late)


def test_an_eos_that_comes_second_at_each_step_does_not_end_the_search():
    """Three words at -0.1 and an EOS at -0.02: -0.32, where EOS at once has -1.5."""
    table = torch.full((7, 7), -torch.inf)
    table[[BOS, 4, 5], [4, 5, 6]], table[6, EOS] = -0.1, -0.02
    table[[BOS, 4, 5], EOS] = -1.5
    [found] = search(DrawnModel([table], vocab=7), beam_size=2, n_best=2)
    assert {hypothesis.ids: hypothesis.score for hypothesis in found} == pytest.approx(
        {(4, 5, 6): -0.32, (): -1.5}
    )
    assert found[0].ids == (4, 5, 6)


def test_an_ended_hypothesis_keeps_its_place():
    """EOS comes first at once: of the two words that follow, a beam of two has room for one."""
    table = torch.full((6, 6), -torch.inf)
    table[BOS, EOS], table[BOS, 4], table[BOS, 5] = -0.7, -1.0, -2.0
    table[[4, 5], EOS] = -0.1
    model = DrawnModel([table], vocab=6)
    [found] = search(model, beam_size=2, n_best=2)
    assert [hypothesis.ids for hypothesis in found] == [(), (4,)]
    [found] = search(model, beam_size=3, n_best=3)
    assert [hypothesis.ids for hypothesis in found] == [(), (4,), (5,)]


@pytest.mark.fault(51)
@pytest.mark.parametrize("seed", range(20))
def test_ties_go_to_the_earlier_beam_and_then_to_the_lower_id(seed):
    """Log-probabilities that are multiples of a quarter: sums are exact, and equal ones abound."""
    drawn = draw_model(seed, documents=3, words=9, oovs=[3, 0, 5], multiplier=31)
    model = DrawnModel(
        [(table * 2).round() / 4 for table in drawn.tables], vocab=drawn.vocab, multiplier=31
    )
    found = search(model, beam_size=3, n_best=3, max_tokens=6, no_repeat_ngram=2)
    for document, hypotheses in enumerate(found):
        expected = textbook_beam_search(
            lambda prefix, document=document: model.next_log_probs(document, prefix),
            Settings(0, 6, EOS, banned_ids=SPECIALS, no_repeat_ngram=2),
            beam_size=3,
        )
        agree(hypotheses, expected[:3])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_document_finds_the_same_alone_and_in_company(dtype):
    model = draw_model(7, documents=6, multiplier=31, sharpness=2, dtype=dtype)
    bounds = {"min_tokens": [0, 2, 4, 0, 1, 3], "max_tokens": [3, 9, 7, 1, 20, 4]}
    options = {"beam_size": 3, "n_best": 3, "length_alpha": 0.8, "no_repeat_ngram": 2}
    together = search(model, **bounds, **options)
    for document in range(6):
        alone = search(
            model.alone(document),
            **{name: [values[document]] for name, values in bounds.items()},
            **options,
        )
        same(alone, [together[document]])


def test_permuting_the_documents_permutes_the_answers():
    model = draw_model(8, documents=5, multiplier=31, sharpness=2)
    min_tokens, max_tokens = [0, 2, 4, 0, 1], [3, 9, 7, 1, 20]
    order = [3, 0, 4, 2, 1]
    found = search(model, min_tokens=min_tokens, max_tokens=max_tokens, n_best=4)
    permuted = search(
        model.rearranged(order),
        min_tokens=[min_tokens[i] for i in order],
        max_tokens=[max_tokens[i] for i in order],
        n_best=4,
    )
    same(permuted, [found[i] for i in order])


def test_a_document_that_is_over_leaves_the_batch():
    model = draw_model(1, documents=3)
    lengths = [2, 5, 9]
    search(model, beam_size=2, min_tokens=lengths, max_tokens=lengths)
    rows = [len(last_ids) for last_ids, _ in model.calls]
    assert rows == [3, 6, 4, 4, 4, 2, 2, 2, 2]


def test_each_document_keeps_its_own_bounds():
    model = draw_model(2, documents=4, multiplier=31)
    min_tokens, max_tokens = [0, 3, 5, 2], [1, 4, 5, 9]
    found = search(model, min_tokens=min_tokens, max_tokens=max_tokens, beam_size=3, n_best=3)
    for fewest, most, hypotheses in zip(min_tokens, max_tokens, found, strict=True):
        assert all(fewest <= len(hypothesis.ids) <= most for hypothesis in hypotheses)


def test_the_hypothesis_at_max_tokens_is_scored_without_eos():
    model = draw_model(3, multiplier=31)
    [[hypothesis]] = search(model, min_tokens=4, max_tokens=4)
    assert hypothesis.stop == "max_tokens"
    assert len(hypothesis.ids) == len(hypothesis.token_log_probs) == 4
    assert hypothesis.log_prob == pytest.approx(sum(hypothesis.token_log_probs))


@pytest.mark.parametrize("seed", range(10))
def test_rescoring_a_hypothesis_gives_what_search_said_of_it(seed):
    model = draw_model(seed, documents=3, multiplier=31)
    found = search(model, beam_size=4, n_best=4, length_alpha=1.0, max_tokens=6)
    for document, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            produced = [*hypothesis.ids, *([EOS] if hypothesis.stop == "eos" else [])]
            expected = [
                model.next_log_probs(document, produced[:step])[token]
                for step, token in enumerate(produced)
            ]
            assert hypothesis.token_log_probs == pytest.approx(expected)
            assert hypothesis.log_prob == pytest.approx(sum(expected))


@pytest.mark.parametrize("seed", range(5))
def test_attention_and_p_gen_are_those_of_the_step_that_produced_the_token(seed):
    model = draw_model(seed, documents=3, multiplier=31)
    found = search(model, beam_size=4, n_best=4, min_tokens=5, max_tokens=7)
    for document, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            assert hypothesis.attention.shape == (len(hypothesis.ids), 5)
            assert hypothesis.p_gen.shape == (len(hypothesis.ids),)
            for step in range(len(hypothesis.ids)):
                memory = model.memory_of(hypothesis.ids[:step])
                assert torch.equal(hypothesis.attention[step], model.attention[document][memory])
                assert hypothesis.p_gen[step] == model.p_gen[document][memory]


def test_an_n_best_list_is_sorted_and_holds_nothing_twice():
    found = search(draw_model(5, documents=3), beam_size=6, n_best=6, length_alpha=1.0)
    for hypotheses in found:
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert len(scores) == 6
        assert scores == sorted(scores, reverse=True)
        assert len({hypothesis.ids for hypothesis in hypotheses}) == 6


def test_a_beam_wider_than_the_vocabulary_returns_what_there_is():
    [found] = search(draw_model(6, words=1), beam_size=50, n_best=50, max_tokens=2)
    assert {hypothesis.ids for hypothesis in found} == {(), (4,), (4, 4)}


def test_half_precision_tables_are_summed_in_single_precision():
    model = draw_model(9, multiplier=31, dtype=torch.float32)
    model.tables = [table.half() for table in model.tables]
    [[hypothesis]] = search(model, min_tokens=30, max_tokens=30)
    assert hypothesis.log_prob == pytest.approx(sum(hypothesis.token_log_probs), rel=1e-6)


def test_where_the_constraints_leave_nothing_a_hypothesis_ends_all_the_same():
    """Two words, none of them twice, and no end before the fifth."""
    model = draw_model(10, words=2, oovs=[0, 1])
    found = search(model, no_repeat_ngram=1, min_tokens=5, max_tokens=9, n_best=2)
    for words, hypotheses in zip([[4, 5], [4, 5, 6]], found, strict=True):
        assert len(hypotheses) == 2
        for hypothesis in hypotheses:
            assert hypothesis.stop == "blocked"
            assert sorted(hypothesis.ids) == words
            assert len(hypothesis.token_log_probs) == len(words) + 1
            assert hypothesis.log_prob == pytest.approx(sum(hypothesis.token_log_probs))


@pytest.mark.fault(52)
def test_a_blocked_document_returns_a_number_even_where_eos_is_impossible():
    model = draw_model(11, words=1)
    model.tables[0][:, EOS] = -torch.inf
    [[hypothesis]] = search(model, no_repeat_ngram=1, min_tokens=3)
    assert hypothesis.ids == (4,)
    assert hypothesis.stop == "blocked"
    assert -torch.inf < hypothesis.score == hypothesis.log_prob


def test_one_blocked_hypothesis_does_not_end_its_document():
    """After word 5 nothing may come; the likelier prefix is the one that is stuck."""
    model = draw_model(12, words=2)
    table = torch.full_like(model.tables[0], -torch.inf)
    table[BOS, 5], table[BOS, 4] = -0.1, -2.0
    table[4, 4] = table[4, EOS] = table[5, EOS] = -0.7
    model.tables = [table]
    [hypotheses] = search(model, beam_size=2, n_best=2, min_tokens=2, max_tokens=3)
    assert {hypothesis.ids for hypothesis in hypotheses} == {(4, 4), (4, 4, 4)}


def test_a_probability_that_is_not_a_number_is_refused():
    model = draw_model(13)
    model.tables[0][4] = torch.nan
    with pytest.raises(ModelError, match=r"probability that is not a number \(NaN\).*checkpoint"):
        search(model, min_tokens=8)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"beam_size": 0}, r"n_best \(1\) must lie between 1 and beam_size \(0\)"),
        ({"n_best": 5}, r"n_best \(5\) must lie between 1 and beam_size \(4\)"),
        ({"n_best": 0}, r"n_best \(0\) must lie between 1 and beam_size \(4\)"),
        ({"min_tokens": 9}, r"Document 0: min_tokens \(9\) must lie between 0 and .* \(8\)"),
        ({"min_tokens": -1}, r"Document 0: min_tokens \(-1\) must lie between 0"),
        ({"max_tokens": 0}, r"max_tokens \(0\), and max_tokens must be at least 1"),
        ({"max_tokens": [8, 8]}, r"min_tokens \(1\) and max_tokens \(2\) must give one number"),
        ({"banned_ids": [PAD, UNK, EOS]}, r"must not hold eos_id \(3\): nothing could end"),
        ({"no_repeat_ngram": -1}, r"no_repeat_ngram \(-1\) must be 0 \(off\) or more"),
        ({"length_alpha": -0.5}, r"length_alpha \(-0.5\) must be 0 or more"),
        ({"min_tokens": [], "max_tokens": []}, r"there must be one at least"),
    ],
)
def test_what_no_search_can_meet_is_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        search(draw_model(0), **settings)
