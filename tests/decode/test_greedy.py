import pytest
import torch
from reference.drawn_model import EOS, SPECIALS, draw_model
from reference.drawn_search import search, search_greedily

from pgsum.errors import ModelError


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_beam_of_one_equals_greedy(seed, alpha):
    model = draw_model(seed, documents=4, multiplier=31, sharpness=1 + seed % 3)
    settings = {
        "min_tokens": [0, 2, 5, 1],
        "max_tokens": [1, 4, 5, 12],
        "no_repeat_ngram": seed % 3,
        "exempt_ids": [5] if seed % 2 else [],
    }
    beam = search(model, beam_size=1, length_alpha=alpha, **settings)
    for [hypothesis], [other] in zip(search_greedily(model, **settings), beam, strict=True):
        assert hypothesis.ids == other.ids
        assert hypothesis.stop == other.stop
        assert hypothesis.log_prob == hypothesis.score == other.log_prob
        assert hypothesis.token_log_probs == other.token_log_probs
        assert torch.equal(hypothesis.attention, other.attention)
        assert torch.equal(hypothesis.p_gen, other.p_gen)


def test_it_takes_the_best_allowed_id_of_each_step():
    model = draw_model(1, documents=3, multiplier=31)
    for document, [hypothesis] in enumerate(search_greedily(model, min_tokens=4, max_tokens=6)):
        for step, token in enumerate(hypothesis.ids):
            log_probs = model.next_log_probs(document, hypothesis.ids[:step])
            forbidden = {*SPECIALS, *([EOS] if step < 4 else [])}
            allowed = [i for i in range(len(log_probs)) if i not in forbidden]
            assert token == max(allowed, key=log_probs.__getitem__)


def test_of_equals_it_takes_the_lower_id():
    model = draw_model(0, words=3, oovs=[2])
    model.tables[0].fill_(-1.0)
    [[hypothesis]] = search_greedily(model, min_tokens=3, max_tokens=3)
    assert hypothesis.ids == (4, 4, 4)


def test_a_document_that_is_over_leaves_the_batch():
    model = draw_model(1, documents=3)
    search_greedily(model, min_tokens=[2, 3, 5], max_tokens=[2, 3, 5])
    assert [len(last_ids) for last_ids, _ in model.calls] == [3, 3, 2, 1, 1]


def test_where_the_constraints_leave_nothing_it_ends_all_the_same():
    [[hypothesis]] = search_greedily(draw_model(2, words=2), no_repeat_ngram=1, min_tokens=5)
    assert sorted(hypothesis.ids) == [4, 5]
    assert hypothesis.stop == "blocked"


def test_what_no_search_can_meet_is_refused():
    with pytest.raises(ValueError, match=r"min_tokens \(9\) must lie between 0 and max_tokens"):
        search_greedily(draw_model(0), min_tokens=9)


def test_a_probability_that_is_not_a_number_is_refused():
    model = draw_model(0)
    model.tables[0].fill_(torch.nan)
    with pytest.raises(ModelError, match=r"not a number \(NaN\)"):
        search_greedily(model)
