"""The scores of additive attention without their inner table: v . tanh(key + query + w coverage).

The table would be batch x steps x source x attention. Some rows of it at a time, few enough to stay
in a processor's cache, are written over and over; backward computes them anew.

tanh(x) is taken as 2 sigmoid(2 x) - 1, which torch has on a CPU five times as fast.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from pgsum.nn.shared import Parts, Shared

# Numbers of the inner table worked on at a time: 4 MiB of float32. With fewer, calls take longer
# than what they do; with more, memory is slower than a cache.
_BLOCK = 2**20


def additive_scores(
    keys: Shared,
    query: Float[Tensor, "batch steps attention"],
    v: Float[Tensor, " attention"],
    coverage: Float[Tensor, "batch steps source"] | None = None,
    w: Float[Tensor, " attention"] | None = None,
) -> Float[Tensor, "batch steps source"]:
    """Bahdanau et al. 2015, eq. 6, the keys and the query projected already.

    With the coverage of See et al. 2017, eq. 11, if `coverage` and its `w` are given.
    """
    scores: Tensor = _AdditiveScores.apply(keys.tensor, query, v, coverage, w, keys.parts)  # type: ignore[no-untyped-call]
    return scores


class _AdditiveScores(Function):
    @staticmethod
    def forward(
        ctx: Any,
        keys: Tensor,
        query: Tensor,
        v: Tensor,
        coverage: Tensor | None,
        w: Tensor | None,
        gradient_parts: Parts,
    ) -> Tensor:
        ctx.save_for_backward(keys, query, v, coverage, w)
        ctx.gradient_parts = gradient_parts
        scores = keys.new_empty(*query.shape[:2], keys.shape[1])
        for rows, steps, sigmoid in _tables(keys, query, coverage, w):
            scores[rows, steps] = torch.mv(sigmoid.flatten(0, 2), v).view(sigmoid.shape[:3])
        return scores.mul_(2).sub_(v.sum())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Of the inner sum it is gradient v (1 - tanh^2), the last being 4 sigmoid (1 - sigmoid).

        What is summed here lacks the factor 4 v, which all of it has and gets in the end.
        """
        keys, query, v, coverage, w = ctx.saved_tensors
        by_key = ctx.gradient_parts.buffer(keys, scale=4 * v)
        by_query, by_v = torch.empty_like(query), torch.zeros_like(v)
        if coverage is not None:
            by_coverage, by_w, vw = torch.empty_like(gradient), torch.zeros_like(v), 4 * v * w
        for rows, steps, sigmoid in _tables(keys, query, coverage, w):
            g, table = gradient[rows, steps], sigmoid.flatten(0, 2)
            by_v.addmv_(table.T, g.flatten())
            slope = sigmoid.addcmul_(sigmoid, sigmoid, value=-1)
            for step in range(slope.shape[1]):
                by_key[rows].addcmul_(slope[:, step], g[:, step, :, None])
            by_query[rows, steps] = torch.matmul(g[:, :, None], slope)[:, :, 0]
            if coverage is not None:
                by_coverage[rows, steps] = torch.mv(table, vw).view_as(g)
                by_w.addmv_(table.T, (g * coverage[rows, steps]).flatten())
        found = (None, by_query.mul_(4 * v), by_v.mul_(2).sub_(gradient.sum()))
        if coverage is None:
            return *found, None, None, None
        return *found, by_coverage.mul_(gradient), by_w.mul_(4 * v), None


def _tables(
    keys: Tensor, query: Tensor, coverage: Tensor | None, w: Tensor | None
) -> Iterator[tuple[slice, slice, Tensor]]:
    """Some rows and steps, and sigmoid(2 inner sum) there, in memory that the next is written to.

    (rows, steps, source, attention). Several steps go together before several rows do: they read
    the same keys.
    """
    batch, source, attention = keys.shape
    fitting = max(1, _BLOCK // (source * attention))
    steps_at_once = min(query.shape[1], fitting)
    rows_at_once = min(batch, fitting // steps_at_once)
    memory = keys.new_empty(rows_at_once * steps_at_once, source, attention)
    twice_query, twice_w = 2 * query[:, :, None], None if w is None else 2 * w
    for rows in _slices(batch, rows_at_once):
        for steps in _slices(query.shape[1], steps_at_once):
            part = twice_query[rows, steps]
            inner = memory[: part.shape[0] * part.shape[1]].unflatten(0, part.shape[:2])
            torch.add(part, keys[rows, None], alpha=2, out=inner)
            if coverage is not None and twice_w is not None:
                inner.addcmul_(coverage[rows, steps, :, None], twice_w)
            yield rows, steps, inner.sigmoid_()


def _slices(length: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, length)) for first in range(0, length, size))
