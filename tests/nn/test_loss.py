import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from pgsum.nn import loss
from pgsum.nn.loss import summed_log_prob

TOKENS, OUTPUT, VOCAB = 5, 3, 6
GOLD = torch.tensor([5, 0, 3, 3, 7])  # the last is a source's OOV
IN_VOCAB = torch.tensor([5, 0, 3, 3, 1])


def draw(dtype: torch.dtype = torch.float64, *, scale: float = 1.0) -> list[Tensor]:
    """Features, weight, bias, log_copy and gate; one gold word cannot be copied."""
    torch.manual_seed(0)
    sizes = ((TOKENS, OUTPUT), (VOCAB, OUTPUT), (VOCAB,), (TOKENS,), (TOKENS,))
    features, weight, bias, log_copy, gate = (
        scale * torch.randn(size, dtype=torch.float64) for size in sizes
    )
    log_copy = F.logsigmoid(log_copy)
    log_copy[1] = torch.finfo(torch.float32).min
    return [t.to(dtype).requires_grad_() for t in (features, weight, bias, log_copy, gate)]


def by_hand(
    features: Tensor, weight: Tensor, bias: Tensor, log_copy: Tensor, gate: Tensor
) -> Tensor:
    total = torch.zeros((), dtype=features.dtype)
    for token, gold in enumerate(GOLD.tolist()):
        p_vocab = (weight @ features[token] + bias).softmax(-1)
        generated = p_vocab[gold] if gold < VOCAB else 0.0
        p_gen = gate[token].sigmoid()
        total = total + (p_gen * generated + (1 - p_gen) * log_copy[token].exp()).log()
    return total


@pytest.fixture(params=[1, 2, 100], ids=lambda tokens: f"blocks of {tokens}")
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "SCORES_AT_A_TIME", request.param * VOCAB)


@pytest.mark.usefixtures("_blocks")
def test_the_mixture_and_its_gradients_equal_the_formula_word_by_word():
    features, weight, bias, log_copy, gate = inputs = draw()
    found = summed_log_prob(features, weight, bias, GOLD, log_copy, gate).objective
    expected = by_hand(*inputs)
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(
        torch.autograd.grad(3 * found, inputs),
        torch.autograd.grad(3 * expected, inputs),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.usefixtures("_blocks")
def test_without_copying_it_is_the_log_softmax():
    inputs = features, weight, bias = draw()[:3]
    found = summed_log_prob(features, weight, bias, IN_VOCAB).objective
    expected = -F.cross_entropy(F.linear(features, weight, bias), IN_VOCAB, reduction="sum")
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(
        torch.autograd.grad(found, inputs), torch.autograd.grad(expected, inputs), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_gradients_are_right():
    def function(*inputs: Tensor) -> Tensor:
        return summed_log_prob(*inputs[:3], GOLD, *inputs[3:]).objective

    assert torch.autograd.gradcheck(function, draw())


def test_scores_too_large_for_an_exponential_leave_all_finite():
    inputs = draw(torch.float32, scale=200.0)
    found = summed_log_prob(*inputs[:3], GOLD, *inputs[3:]).objective
    assert found.isfinite()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(found, inputs))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_it_is_the_same_number(mode):
    inputs = draw()
    for mixed, gold in ((inputs[3:], GOLD), ([], IN_VOCAB)):
        with_gradients = summed_log_prob(*inputs[:3], gold, *mixed).objective
        with mode():
            without = summed_log_prob(*inputs[:3], gold, *mixed).objective
        assert without.item() == pytest.approx(with_gradients.item(), rel=1e-12)


def test_a_word_that_can_be_neither_generated_nor_copied_moves_no_score():
    features, weight, bias, _, gate = draw()
    log_copy = torch.full((TOKENS,), torch.finfo(torch.float32).min, dtype=torch.float64)
    found = summed_log_prob(
        features, weight, bias, torch.full((TOKENS,), VOCAB), log_copy, gate
    ).objective
    assert torch.autograd.grad(found, bias)[0].count_nonzero() == 0


def test_no_words_at_all_add_up_to_0():
    features, weight, bias, log_copy, gate = draw()
    none = GOLD[:0]
    found = summed_log_prob(features[:0], weight, bias, none, log_copy[:0], gate[:0]).objective
    assert found.item() == 0
    assert torch.autograd.grad(found, weight)[0].count_nonzero() == 0


def test_under_autocast_the_products_are_in_bfloat16_and_the_softmax_is_exact():
    """Scores of three digits; their softmax is still taken in float32."""
    features, weight, bias = draw(torch.float32)[:3]
    with torch.autocast("cpu", torch.bfloat16):
        found = summed_log_prob(features, weight, bias, IN_VOCAB).objective
    scores = F.linear(features.bfloat16(), weight.bfloat16()).float() + bias
    expected = scores.double().log_softmax(-1)[torch.arange(TOKENS), IN_VOCAB].sum()
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    found.backward()
    assert weight.grad.dtype == torch.float32
    exact = torch.autograd.grad(
        -F.cross_entropy(F.linear(features, weight, bias), IN_VOCAB, reduction="sum"), weight
    )[0]
    torch.testing.assert_close(weight.grad, exact, rtol=0.05, atol=0.02)


@pytest.mark.usefixtures("_blocks")
def test_smoothing_is_that_of_torch_where_nothing_is_copied():
    inputs = features, weight, bias = draw()[:3]
    found = summed_log_prob(features, weight, bias, IN_VOCAB, label_smoothing=0.2)
    logits = F.linear(features, weight, bias)
    expected = -F.cross_entropy(logits, IN_VOCAB, reduction="sum", label_smoothing=0.2)
    torch.testing.assert_close(found.objective, expected)
    torch.testing.assert_close(found.gold, -F.cross_entropy(logits, IN_VOCAB, reduction="sum"))
    for ours, theirs in zip(
        torch.autograd.grad(found.objective, inputs),
        torch.autograd.grad(expected, inputs),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.usefixtures("_blocks")
def test_smoothing_asks_of_generating_alone_and_not_of_a_word_that_can_only_be_copied():
    features, weight, bias, *_ = inputs = draw()
    found = summed_log_prob(*inputs[:3], GOLD, *inputs[3:], label_smoothing=0.2)
    log_vocab = F.linear(features, weight, bias).log_softmax(-1)
    even = log_vocab[GOLD < VOCAB].mean(-1).sum()
    expected = 0.8 * by_hand(*inputs) + 0.2 * even
    torch.testing.assert_close(found.objective, expected)
    torch.testing.assert_close(found.gold, by_hand(*inputs))
    assert not found.gold.requires_grad
    for ours, theirs in zip(
        torch.autograd.grad(found.objective, inputs),
        torch.autograd.grad(expected, inputs),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)
