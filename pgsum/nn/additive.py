"""The scores of additive attention without their inner table: v . tanh(key + query + w coverage).

The table would be batch x steps x source x attention. A part of a row at a time, small enough to
stay in a processor's cache, is written over and over; backward computes the tanh anew.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from pgsum.nn.shared import Parts, Shared

# Numbers of the inner table worked on at a time: half a mebibyte of float32.
_BLOCK = 2**17


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


class _Part(NamedTuple):
    """Some positions of one row's source, at one step."""

    row: int
    step: int
    positions: slice


def _parts(batch: int, steps: int, source: int, size: int) -> Iterator[_Part]:
    for row in range(batch):
        for first in range(0, source, size):
            for step in range(steps):
                yield _Part(row, step, slice(first, min(first + size, source)))


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
        batch, steps, attention = query.shape
        scores = keys.new_empty(batch, steps, keys.shape[1])
        size = max(1, _BLOCK // attention)
        block = keys.new_empty(size, attention)
        for part in _parts(batch, steps, keys.shape[1], size):
            t = _tanh(block, part, keys, query, coverage, w)
            torch.mv(t, v, out=scores[part])
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """With t the tanh, the inner sum's gradient is gradient v (1 - t^2).

        What is summed here lacks the factor v, which all of it has and gets in the end.
        """
        keys, query, v, coverage, w = ctx.saved_tensors
        batch, steps, attention = query.shape
        by_key = ctx.gradient_parts.buffer(keys, scale=v)
        by_query, by_v = torch.zeros_like(query), torch.zeros_like(v)
        if coverage is not None:
            by_coverage, by_w, vw = torch.empty_like(gradient), torch.zeros_like(v), v * w
        size = max(1, _BLOCK // attention)
        block, one = keys.new_empty(size, attention), keys.new_ones(())
        for part in _parts(batch, steps, keys.shape[1], size):
            g, of_row = gradient[part], by_query[part.row, part.step]
            t = _tanh(block, part, keys, query, coverage, w)
            by_v.addmv_(t.T, g)
            slope = torch.addcmul(one, t, t, value=-1, out=t)
            by_key[part.row, part.positions].addcmul_(slope, g[:, None])
            of_row.addmv_(slope.T, g)
            if coverage is not None:
                torch.mv(slope, vw, out=by_coverage[part])
                by_w.addmv_(slope.T, g * coverage[part])
        found = (None, by_query.mul_(v), by_v)
        if coverage is None:
            return *found, None, None, None
        return *found, by_coverage.mul_(gradient), by_w.mul_(v), None


def _tanh(
    block: Tensor,
    part: _Part,
    keys: Tensor,
    query: Tensor,
    coverage: Tensor | None,
    w: Tensor | None,
) -> Tensor:
    """That of one part of the inner sum, written into `block`."""
    row, step, positions = part
    some = keys[row, positions]
    inner = torch.add(some, query[row, step], out=block[: len(some)])
    if coverage is not None and w is not None:
        inner.addcmul_(coverage[part][:, None], w)
    return inner.tanh_()
