"""The scores of additive attention without their inner table: v . tanh(key + query + w coverage).

The table would be batch x steps x source x attention. A part of a row at a time, small enough to
stay in a processor's cache, is written over and over; backward computes it anew.

tanh(x) is taken as 2 sigmoid(2 x) - 1, which torch has on a CPU five times as fast.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from pgsum.nn.shared import Parts, Shared

# Numbers of the inner table worked on at a time: a mebibyte of float32.
_BLOCK = 2**18


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
        for part in _parts(keys, query, coverage, w):
            torch.mv(part.sigmoid, v, out=scores[part.place])
        return scores.mul_(2).sub_(v.sum())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Of the inner sum it is gradient v (1 - tanh^2), the last being 4 sigmoid (1 - sigmoid).

        What is summed here lacks the factor 4 v, which all of it has and gets in the end.
        """
        keys, query, v, coverage, w = ctx.saved_tensors
        by_key = ctx.gradient_parts.buffer(keys, scale=4 * v)
        by_query, by_v = torch.zeros_like(query), torch.zeros_like(v)
        if coverage is not None:
            by_coverage, by_w, vw = torch.empty_like(gradient), torch.zeros_like(v), 4 * v * w
        for part in _parts(keys, query, coverage, w):
            row, step, positions = part.place
            g, sigmoid = gradient[part.place], part.sigmoid
            by_v.addmv_(sigmoid.T, g)
            slope = sigmoid.addcmul_(sigmoid, sigmoid, value=-1)
            by_key[row, positions].addcmul_(slope, g[:, None])
            by_query[row, step].addmv_(slope.T, g)
            if coverage is not None:
                torch.mv(slope, vw, out=by_coverage[part.place])
                by_w.addmv_(slope.T, g * coverage[part.place])
        found = (None, by_query.mul_(4 * v), by_v.mul_(2).sub_(gradient.sum()))
        if coverage is None:
            return *found, None, None, None
        return *found, by_coverage.mul_(gradient), by_w.mul_(4 * v), None


class _Part(NamedTuple):
    """Some positions of one row's source at one step, and sigmoid(2 inner sum) there."""

    place: tuple[int, int, slice]
    sigmoid: Float[Tensor, "positions attention"]
    """In memory that the next part writes over."""


def _parts(
    keys: Tensor, query: Tensor, coverage: Tensor | None, w: Tensor | None
) -> Iterator[_Part]:
    batch, source, attention = keys.shape
    size = min(source, max(1, _BLOCK // attention))
    block = keys.new_empty(size, attention)
    twice_query, twice_w = 2 * query, None if w is None else 2 * w
    for row in range(batch):
        for first in range(0, source, size):
            positions = slice(first, min(first + size, source))
            some_keys = keys[row, positions]
            for step in range(query.shape[1]):
                place = (row, step, positions)
                inner = block[: len(some_keys)]
                torch.add(twice_query[row, step], some_keys, alpha=2, out=inner)
                if coverage is not None and twice_w is not None:
                    inner.addcmul_(coverage[place][:, None], twice_w)
                yield _Part(place, inner.sigmoid_())
