import pytest
import torch

from pgsum.decode.scoring import LengthPenalty, length_penalty


def test_the_penalty_is_that_of_wu_et_al():
    assert length_penalty(1, 0.7) == 1.0
    assert length_penalty(7, 1.0) == 2.0
    assert length_penalty(19, 0.5) == 2.0
    assert length_penalty(50, 0.0) == 1.0


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0, 3.0])
def test_no_descendant_scores_above_the_bound(alpha):
    penalty = LengthPenalty(alpha, max_tokens=[9, 12])
    live = torch.tensor([-2.0, -0.5])
    bound = penalty.best_attainable(live, torch.tensor([0, 1]))
    for lost in (0.0, 0.1, 4.0):
        for length in range(1, 10):
            assert (penalty.score((live - lost)[:, None], length)[:, 0] <= bound).all()
    attained = [penalty.score(live[:, None], most)[i, 0] for i, most in enumerate((9, 12))]
    assert torch.equal(torch.stack(attained), bound)


@pytest.mark.parametrize("alpha", [-0.1, float("nan")])
def test_a_negative_strength_is_refused(alpha):
    with pytest.raises(ValueError, match=r"length_alpha .* must be 0 or more"):
        LengthPenalty(alpha, max_tokens=[3])
