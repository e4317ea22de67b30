"""A tensor that each step of a decoder reads again, and its gradient, formed once.

Autograd would form a gradient as large as the source at every step and add it to the one before:
for a target of a hundred tokens that is most of what a backward pass moves. Here a step only notes
the two factors of its part, or adds to the one buffer there is; the whole is formed when the last
step is done.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Shared:
    """Keys or values of a batch of sources, read by products, in their own precision.

    `tensor` is there to be read in other ways, too: autograd adds what comes from those.
    """

    tensor: Float[Tensor, "batch source feature"]

    def __init__(self, tensor: Float[Tensor, "batch source feature"]) -> None:
        self.parts = Parts()
        self.tensor = _lend(tensor, self.parts)

    def __getitem__(self, rows: Int[Tensor, " selected"]) -> "Shared":
        return Shared(self.tensor[rows])

    def dot(
        self, queries: Float[Tensor, "batch steps feature"]
    ) -> Float[Tensor, "batch steps source"]:
        """Of each step and position, query . tensor[i]."""
        products: Tensor = _Dot.apply(queries.to(self.tensor.dtype), self.tensor, self.parts)  # type: ignore[no-untyped-call]
        return products

    def mix(
        self, weights: Float[Tensor, "batch steps source"]
    ) -> Float[Tensor, "batch steps feature"]:
        """Sum over positions of weight[i] * tensor[i], for each step."""
        mixed: Tensor = _Mix.apply(weights.to(self.tensor.dtype), self.tensor, self.parts)  # type: ignore[no-untyped-call]
        return mixed


class Parts:
    """What the steps have so far found of one tensor's gradient."""

    def __init__(self) -> None:
        self._by_source: list[Float[Tensor, "batch steps source"]] = []
        self._by_feature: list[Float[Tensor, "batch steps feature"]] = []
        self._whole: Float[Tensor, "batch source feature"] | None = None
        self._scale: Float[Tensor, " feature"] | None = None
        self._backward_pass = -1

    def note(
        self,
        by_source: Float[Tensor, "batch steps source"],
        by_feature: Float[Tensor, "batch steps feature"],
    ) -> None:
        """The outer products of the two, over source and feature, summed over the steps."""
        self._forget_other_passes()
        self._by_source.append(by_source)
        self._by_feature.append(by_feature)

    def buffer(
        self, like: Float[Tensor, "batch source feature"], *, scale: Float[Tensor, " feature"]
    ) -> Float[Tensor, "batch source feature"]:
        """To be added to in place; what stands there is multiplied by `scale` in the end, which is
        therefore the same for all who add.
        """
        self._forget_other_passes()
        if self._whole is None:
            self._whole, self._scale = torch.zeros_like(like), scale
        return self._whole

    def _forget_other_passes(self) -> None:
        """What a backward pass left that was asked for other gradients and never took this one."""
        current = torch._C._current_graph_task_id()
        if current != self._backward_pass:
            self._backward_pass, self._whole = current, None
            self._by_source.clear()
            self._by_feature.clear()

    def take(self) -> Float[Tensor, "batch source feature"] | None:
        """The sum of all parts, which are then forgotten; None if there are none."""
        total, self._whole = self._whole, None
        if total is not None and self._scale is not None:
            total.mul_(self._scale)
        if self._by_source:
            by_source, by_feature = torch.cat(self._by_source, 1), torch.cat(self._by_feature, 1)
            self._by_source.clear()
            self._by_feature.clear()
            by_source = by_source.transpose(1, 2)
            product = torch.bmm(by_source, by_feature)
            total = product if total is None else total.add_(product)
        return total


def _lend(tensor: Tensor, parts: Parts) -> Tensor:
    lent: Tensor = _Lend.apply(tensor, parts)  # type: ignore[no-untyped-call]
    return lent


class _Lend(Function):
    """Comes before all readers, so that its backward comes after all of theirs."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, parts: Parts) -> Tensor:
        ctx.parts = parts
        ctx.set_materialize_grads(False)
        return tensor.view_as(tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor | None) -> tuple[Tensor | None, None]:
        parts = ctx.parts.take()
        if gradient is None or parts is None:
            return parts if gradient is None else gradient, None
        return gradient + parts, None


class _Dot(Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, tensor: Tensor, parts: Parts) -> Tensor:
        ctx.save_for_backward(queries, tensor)
        ctx.parts = parts
        with torch.autocast(tensor.device.type, enabled=False):
            return torch.bmm(queries, tensor.transpose(1, 2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        queries, tensor = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ctx.parts.note(gradient, queries)
        return torch.bmm(gradient, tensor) if ctx.needs_input_grad[0] else None, None, None


class _Mix(Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, tensor: Tensor, parts: Parts) -> Tensor:
        ctx.save_for_backward(weights, tensor)
        ctx.parts = parts
        with torch.autocast(tensor.device.type, enabled=False):
            return torch.bmm(weights, tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        weights, tensor = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ctx.parts.note(weights, gradient)
        products = torch.bmm(gradient, tensor.transpose(1, 2))
        return products if ctx.needs_input_grad[0] else None, None, None
