"""Faults of earlier implementations that live in search, each kept out by a test of its own."""

import pytest
import torch
from reference.drawn_model import BOS, EOS, PAD, SPECIALS, UNK, DrawnModel, draw_model
from reference.drawn_search import search, search_greedily

BOTH = pytest.mark.parametrize("searched", [search, search_greedily])


@BOTH
def test_fault_10_the_beam_does_not_keep_the_first_coverage(searched):
    """Each step adds an attention that sums to 1, so after t steps coverage sums to t."""
    model = draw_model(0, documents=3, multiplier=31)
    searched(model, min_tokens=[3, 6, 9], max_tokens=[3, 6, 9])
    assert len(model.calls) == 9
    for t, (_, state) in enumerate(model.calls):
        assert torch.allclose(state.coverage.sum(-1), torch.tensor(float(t)), atol=1e-5)


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_fault_11_the_state_is_reindexed_with_the_beam(searched, seed):
    """The state remembers what its row has read: that must be what search believes of the row."""
    model = draw_model(seed, documents=3, multiplier=31)
    lengths = [2, 7, 5]
    found = searched(model, min_tokens=lengths, max_tokens=lengths)
    for document, [hypothesis] in enumerate(found):
        for t in range(1, len(hypothesis.ids)):
            read = [
                [*state.prefix[row, 1:].tolist(), last_ids[row].item()]
                for last_ids, state in [model.calls[t]]
                for row in range(len(last_ids))
                if state.document[row] == document
            ]
            assert list(hypothesis.ids[:t]) in read
        expected = [
            model.next_log_probs(document, hypothesis.ids[:t])[token]
            for t, token in enumerate(hypothesis.ids)
        ]
        assert hypothesis.token_log_probs == pytest.approx(expected)


@BOTH
@pytest.mark.parametrize("documents", [1, 3])
def test_fault_14_a_batch_without_oovs_a_batch_of_one_and_a_beam_of_one_work(searched, documents):
    model = draw_model(1, documents=documents, oovs=[0] * documents)
    sizes = {"beam_size": 1} if searched is search else {}
    found = searched(model, **sizes)
    assert [len(hypotheses) for hypotheses in found] == [1] * documents


@pytest.mark.parametrize(
    ("min_tokens", "scores"),
    [
        (0, {(): -1.5, (4,): -0.5}),
        (1, {(4,): -2.0 / (7 / 6), (4, 4): -1.0 / (7 / 6)}),
        (7, {(4,) * 7: -5.0 / (13 / 6), (4,) * 8: -4.0 / (13 / 6)}),
    ],
)
def test_fault_18_scores_are_length_normalised_and_bos_is_not_counted(min_tokens, scores):
    """((5 + n) / 6)^alpha, n the log-probabilities in the sum: EOS's is one of them, no BOS's."""
    table = torch.full((5, 5), -torch.inf)
    table[:, 4], table[:, EOS] = -0.5, -1.5
    [found] = search(
        DrawnModel([table], vocab=5),
        beam_size=2,
        n_best=2,
        min_tokens=min_tokens,
        max_tokens=min_tokens + 1,
        length_alpha=1.0,
    )
    assert {hypothesis.ids: hypothesis.score for hypothesis in found} == pytest.approx(scores)


@pytest.mark.parametrize(("alpha", "winner"), [(0.0, ()), (1.0, (4,))])
def test_the_strength_of_the_length_penalty_is_not_ignored(alpha, winner):
    """-1.0 against -0.6 - 0.5 = -1.1, which two log-probabilities share: -1.1 / (7 / 6) = -0.94."""
    table = torch.full((5, 5), -torch.inf)
    table[BOS, EOS], table[BOS, 4], table[4, EOS] = -1.0, -0.6, -0.5
    [[hypothesis]] = search(DrawnModel([table], vocab=5), length_alpha=alpha)
    assert hypothesis.ids == winner


@BOTH
@pytest.mark.parametrize("min_tokens", [0, 1, 3])
def test_fault_19_eos_at_min_length_leaves_a_result(searched, min_tokens):
    """A model that would always stop: it stops at the first chance, and the result comes back."""
    table = torch.full((7, 7), -5.0)
    table[:, EOS] = -0.01
    model = DrawnModel([table, table], vocab=7)
    for [hypothesis] in searched(model, min_tokens=min_tokens):
        assert len(hypothesis.ids) == min_tokens
        assert hypothesis.stop == "eos"


@BOTH
def test_where_min_and_max_length_meet_there_is_a_result(searched):
    for [hypothesis] in searched(draw_model(2, documents=3), min_tokens=5, max_tokens=5):
        assert len(hypothesis.ids) == 5
        assert hypothesis.stop == "max_tokens"


@BOTH
def test_fault_20_pad_and_unk_are_never_produced(searched):
    model = draw_model(3, documents=3)
    for table in model.tables:
        table[:, SPECIALS] = 0.0
    for hypotheses in searched(model, min_tokens=6):
        for hypothesis in hypotheses:
            assert not set(hypothesis.ids) & set(SPECIALS)


@BOTH
@pytest.mark.parametrize(("banned", "produced"), [(PAD, UNK), (UNK, PAD)])
def test_fault_20_pad_and_unk_are_not_confused(searched, banned, produced):
    """Only what is named is banned: to take the one for the other would ban the wrong one."""
    model = draw_model(4)
    model.tables[0][:, [PAD, UNK]] = 0.0
    [[hypothesis]] = searched(model, banned_ids=[banned], min_tokens=4, max_tokens=4)
    assert hypothesis.ids == (produced,) * 4


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_fault_21_finished_hypotheses_do_not_go_on_growing(searched, seed):
    model = draw_model(seed, documents=4, sharpness=2)
    found = searched(model, max_tokens=12)
    assert all(EOS not in last_ids.tolist() for last_ids, _ in model.calls)
    for [hypothesis] in found:
        assert EOS not in hypothesis.ids


@BOTH
def test_fault_17_rows_do_not_come_back_out_of_order(searched):
    """Documents leave the batch in an order of their own and come back in that of the call."""
    model = draw_model(5, documents=4)
    lengths = [6, 1, 4, 2]
    found = searched(model, min_tokens=lengths, max_tokens=lengths)
    assert [len(hypothesis.ids) for [hypothesis] in found] == lengths
