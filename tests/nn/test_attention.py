import math

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import pad

from pgsum.nn import additive
from pgsum.nn.attention import (
    AdditiveRelevance,
    Attention,
    AttentionOutput,
    DotRelevance,
    GeneralRelevance,
    masked_log_softmax,
)
from pgsum.nn.shared import Shared

BATCH, STEPS, SOURCE = 2, 3, 7
QUERY, ENCODER, ATTENTION = 5, 4, 6
LENGTHS = torch.tensor([7, 2])
MASK = torch.arange(SOURCE) < LENGTHS[:, None]


@pytest.fixture(params=[1, SOURCE * ATTENTION, 2**20], autouse=True, ids=lambda n: f"blocks of {n}")
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Additive scores are made for some rows at a time, which changes nothing."""
    monkeypatch.setattr(additive, "_BLOCK", request.param)


def make(form: str, *, coverage: bool = True, dtype: torch.dtype = torch.float64) -> Attention:
    torch.manual_seed(0)
    relevance = {
        "dot": lambda: DotRelevance(ENCODER, coverage=coverage),
        "scaled_dot": lambda: DotRelevance(ENCODER, scaled=True, coverage=coverage),
        "general": lambda: GeneralRelevance(QUERY, ENCODER, coverage=coverage),
        "additive": lambda: AdditiveRelevance(QUERY, ENCODER, ATTENTION, coverage=coverage),
    }
    attention = Attention(relevance[form]())
    for parameter in attention.parameters():
        nn.init.uniform_(parameter, -1, 1)
    return attention.to(dtype)


def draw(form: str, steps: int = STEPS, *, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, states (9s on padding) and coverage."""
    torch.manual_seed(1)
    size = ENCODER if form in ("dot", "scaled_dot") else QUERY
    query = scale * torch.randn(BATCH, steps, size, dtype=torch.float64)
    states = torch.randn(BATCH, SOURCE, ENCODER, dtype=torch.float64)
    coverage = torch.rand(BATCH, steps, SOURCE, dtype=torch.float64)
    return query, states.masked_fill(~MASK[..., None], 9.0), coverage


FORMS = pytest.mark.parametrize("form", ["dot", "scaled_dot", "general", "additive"])


def score_by_hand(
    form: str, attention: Attention, query: Tensor, state: Tensor, covered: Tensor
) -> Tensor:
    by = attention.relevance
    if form != "additive":
        product = {
            "dot": lambda: sum(q * s for q, s in zip(query, state, strict=True)),
            "scaled_dot": lambda: query @ state / math.sqrt(ENCODER),
            "general": lambda: query @ by.key.weight @ state,
        }
        return product[form]() + by.coverage[0] * covered
    inner = by.query.weight @ query + by.query.bias + by.key.weight @ state
    return by.v.weight[0] @ (inner + by.coverage.weight[:, 0] * covered).tanh()


@FORMS
def test_it_equals_the_formula_position_by_position(form):
    attention = make(form)
    query, states, coverage = draw(form)
    found = attention(query, attention.project_keys(states), Shared(states), MASK, coverage)
    for row, step in torch.cartesian_prod(torch.arange(BATCH), torch.arange(STEPS)).tolist():
        scores = [
            score_by_hand(form, attention, query[row, step], states[row, i], coverage[row, step, i])
            for i in range(int(LENGTHS[row]))
        ]
        weights = torch.stack(scores).exp() / torch.stack(scores).exp().sum()
        real = MASK[row]
        torch.testing.assert_close(found.attention[row, step, real], weights)
        torch.testing.assert_close(found.log_attention[row, step, real], weights.log())
        torch.testing.assert_close(found.context[row, step], weights @ states[row, real])


@FORMS
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_weights_sum_to_1_over_real_tokens_and_are_exactly_0_on_padding(form, scale):
    attention = make(form)
    query, states, coverage = draw(form, scale=scale)
    found = attention(query, attention.project_keys(states), Shared(states), MASK, coverage)
    assert (found.attention.masked_select(~MASK[:, None]) == 0).all()
    torch.testing.assert_close(found.attention.sum(-1), torch.ones(BATCH, STEPS).double())
    assert found.log_attention.isfinite().all()


@FORMS
def test_more_padding_changes_nothing(form):
    attention = make(form)
    query, states, coverage = draw(form)
    narrow = attention(query, attention.project_keys(states), Shared(states), MASK, coverage)
    wide_states = torch.cat([states, torch.full((BATCH, 4, ENCODER), 9.0).double()], dim=1)
    wide = attention(
        query,
        attention.project_keys(wide_states),
        Shared(wide_states),
        pad(MASK, (0, 4)),
        pad(coverage, (0, 4), value=9.0),
    )
    torch.testing.assert_close(wide.context, narrow.context)
    torch.testing.assert_close(wide.attention[..., :SOURCE], narrow.attention)
    assert (wide.attention[..., SOURCE:] == 0).all()


@FORMS
def test_steps_at_once_equal_steps_one_by_one(form):
    attention = make(form, coverage=False)
    query, states, _ = draw(form)
    keys = attention.project_keys(states)
    together = attention(query, keys, Shared(states), MASK)
    for step in range(STEPS):
        alone = attention(query[:, step : step + 1], keys, Shared(states), MASK)
        for all_steps, one in zip(together, alone, strict=True):
            torch.testing.assert_close(all_steps[:, step : step + 1], one)


class Reading(nn.Module):
    """Attention with its keys projected on the spot."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, query: Tensor, states: Tensor, coverage: Tensor) -> AttentionOutput:
        keys = self.attention.project_keys(states)
        return self.attention(query, keys, Shared(states), MASK, coverage)


@FORMS
def test_gradients_are_right(form):
    """With respect to queries, states, coverage and every weight, padding included."""
    reading = Reading(make(form))
    names, weights = zip(*reading.named_parameters(), strict=True)

    def function(query, states, coverage, *weights):
        parameters = dict(zip(names, weights, strict=True))
        found = functional_call(reading, parameters, (query, states, coverage))
        return found.context, found.attention, found.log_attention.masked_fill(~MASK[:, None], 0)

    inputs = [t.detach().clone().requires_grad_() for t in (*draw(form, steps=1), *weights)]
    assert torch.autograd.gradcheck(function, inputs)


@FORMS
def test_coverage_that_was_not_asked_for_has_no_weight(form):
    attention = make(form, coverage=False)
    assert attention.relevance.coverage is None
    query, states, coverage = draw(form)
    keys = attention.project_keys(states)
    without = attention(query, keys, Shared(states), MASK)
    assert torch.equal(
        attention(query, keys, Shared(states), MASK, coverage).attention, without.attention
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_masked_softmax_is_exact_at_the_ends_of_each_range(dtype):
    """Scores as large as the type holds, on real tokens and on padding alike."""
    largest = torch.finfo(dtype).max / 2
    scores = torch.tensor([[[-largest, largest, largest, largest]]], dtype=dtype)
    mask = torch.tensor([[True, True, True, False]])
    log_attention = masked_log_softmax(scores, mask)
    assert log_attention.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert log_attention.isfinite().all()
    assert log_attention.exp().tolist() == [[pytest.approx([0.0, 0.5, 0.5, 0.0])]]
    assert log_attention.exp()[0, 0, 3] == 0


def test_masked_softmax_of_padding_has_no_gradient():
    scores = torch.full((1, 1, 3), 60_000.0, requires_grad=True)
    log_attention = masked_log_softmax(scores, torch.tensor([[True, True, False]]))
    log_attention[0, 0, 0].backward()
    assert scores.grad.tolist() == [[[0.5, -0.5, 0.0]]]
