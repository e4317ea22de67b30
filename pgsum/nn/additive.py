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
        source = keys.shape[1]
        scores = keys.new_empty(*query.shape[:2], source)
        for rows, step, sigmoid in _tables(keys, query, coverage, w):
            scores[rows, step] = torch.mv(sigmoid.flatten(0, 1), v).view(-1, source)
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
        for rows, step, sigmoid in _tables(keys, query, coverage, w):
            g, table = gradient[rows, step], sigmoid.flatten(0, 1)
            by_v.addmv_(table.T, g.flatten())
            slope = sigmoid.addcmul_(sigmoid, sigmoid, value=-1)
            by_key[rows].addcmul_(slope, g[..., None])
            by_query[rows, step] = torch.bmm(g[:, None], slope)[:, 0]
            if coverage is not None:
                by_coverage[rows, step] = torch.mv(table, vw).view_as(g)
                by_w.addmv_(table.T, (g * coverage[rows, step]).flatten())
        found = (None, by_query.mul_(4 * v), by_v.mul_(2).sub_(gradient.sum()))
        if coverage is None:
            return *found, None, None, None
        return *found, by_coverage.mul_(gradient), by_w.mul_(4 * v), None


def _tables(
    keys: Tensor, query: Tensor, coverage: Tensor | None, w: Tensor | None
) -> Iterator[tuple[slice, int, Tensor]]:
    """Some rows, a step, and sigmoid(2 inner sum) there, in memory that the next is written to."""
    batch, source, attention = keys.shape
    # Keys that several steps read stay in the cache from one to the next.
    at_once = min(batch, max(1, _BLOCK // (query.shape[1] * source * attention)))
    memory = keys.new_empty(at_once, source, attention)
    twice_query, twice_w = 2 * query, None if w is None else 2 * w
    for first in range(0, batch, at_once):
        rows = slice(first, min(first + at_once, batch))
        inner = memory[: rows.stop - first]
        for step in range(query.shape[1]):
            torch.add(twice_query[rows, step][:, None], keys[rows], alpha=2, out=inner)
            if coverage is not None and twice_w is not None:
                inner.addcmul_(coverage[rows, step][..., None], twice_w)
            yield rows, step, inner.sigmoid_()
