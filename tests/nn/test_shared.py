import pytest
import torch
from torch import Tensor

from pgsum.nn.additive import additive_scores
from pgsum.nn.shared import Shared

BATCH, SOURCE, FEATURE, STEPS = 2, 5, 3, 4


def draw() -> list[Tensor]:
    """The tensor, queries, weights and v."""
    torch.manual_seed(0)
    sizes = ((BATCH, SOURCE, FEATURE), (BATCH, STEPS, FEATURE), (BATCH, STEPS, SOURCE), (FEATURE,))
    return [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes]


def read_in_steps(tensor: Tensor, queries: Tensor, weights: Tensor, v: Tensor) -> Tensor:
    """Read in three ways at each step, and once as a whole; squared, so that no two steps agree."""
    shared = Shared(tensor)
    total = shared.tensor.sin().sum()
    for step in range(STEPS):
        query, weight = queries[:, step : step + 1], weights[:, step : step + 1]
        total = total + shared.dot(query).square().sum() + shared.mix(weight).square().sum()
        total = total + additive_scores(shared, query, v).square().sum()
    return total


def read_plainly(tensor: Tensor, queries: Tensor, weights: Tensor, v: Tensor) -> Tensor:
    inner = tensor[:, None] + queries[:, :, None]
    return (
        tensor.sin().sum()
        + (queries @ tensor.mT).square().sum()
        + (weights @ tensor).square().sum()
        + (inner.tanh() @ v).square().sum()
    )


def test_gradients_of_all_steps_are_those_of_plain_products():
    inputs = draw()
    found, expected = read_in_steps(*inputs), read_plainly(*inputs)
    torch.testing.assert_close(found, expected)
    gradients = (torch.autograd.grad(total, inputs) for total in (found, expected))
    torch.testing.assert_close(*gradients)


def test_a_second_backward_finds_the_same():
    """Nothing of the first is left over, and nothing of it is changed."""
    inputs = draw()
    total = read_in_steps(*inputs)
    first = torch.autograd.grad(total, inputs, retain_graph=True)
    copies = [gradient.clone() for gradient in first]
    second = torch.autograd.grad(total, inputs)
    torch.testing.assert_close(first, second)
    torch.testing.assert_close(list(first), copies)


def test_a_pass_that_asks_for_other_gradients_leaves_nothing_to_the_next():
    inputs = draw()
    total = read_in_steps(*inputs)
    expected = torch.autograd.grad(read_plainly(*inputs), inputs[0])
    torch.autograd.grad(total, inputs[1:], retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(total, inputs[0]), expected)


def test_who_needs_no_gradient_gets_none():
    tensor, queries, weights, _ = draw()
    fixed = Shared(tensor.detach())
    total = fixed.dot(queries).sum() + fixed.mix(weights).sum()
    found = torch.autograd.grad(total, [queries, weights])
    torch.testing.assert_close(found[0], tensor.sum(1, keepdim=True).expand_as(queries).detach())
    total = Shared(tensor).dot(queries.detach()).sum()
    (found_tensor,) = torch.autograd.grad(total, tensor)
    torch.testing.assert_close(
        found_tensor, queries.detach().sum(1, keepdim=True).expand_as(tensor)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_under_autocast_products_have_the_precision_of_the_tensor(dtype):
    """Also backward, whatever the precision of what it is read with."""
    tensor, queries, weights, _ = (one.detach().float().requires_grad_() for one in draw())
    with torch.autocast("cpu", torch.bfloat16):
        shared = Shared(tensor.to(dtype))
        products = [shared.dot(queries), shared.mix(weights)]
    assert {product.dtype for product in products} == {dtype}
    found = torch.autograd.grad(sum(product.float().sum() for product in products), [tensor])
    expected = torch.autograd.grad((queries @ tensor.mT).sum() + (weights @ tensor).sum(), [tensor])
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.05)


def test_a_source_that_nobody_reads_gets_no_gradient():
    tensor = draw()[0]
    (found,) = torch.autograd.grad(Shared(tensor).tensor.sum() * 0, tensor)
    assert found.count_nonzero() == 0
