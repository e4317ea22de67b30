"""What is minimised: the gold words' negative log-likelihood and, with coverage, looking twice.

The vocabulary's scores of all target tokens are the largest table of a training step: 1,600 tokens
by 50,000 words are 320 MB, and as much again for their gradient. They are made in blocks, and each
block becomes its own gradient in place before the next one is made.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from pgsum.nn.pointer import mixed_log_probs

# 32 MiB of float32. With fewer the products are slower, as each block reads all of the weights;
# with more all that follows is, as a block leaves the processor's caches.
SCORES_AT_A_TIME = 2**23


class Loss(NamedTuple):
    """`total` is minimised; the rest is to look at.

    All are means over the gold words that can be produced at all: those in the vocabulary or in
    the source.
    """

    total: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    coverage: Float[Tensor, ""]
    """0 in a model that does without."""
    p_gen: Float[Tensor, ""]
    tokens: int
    """How many gold words the means are over."""


class LogProb(NamedTuple):
    """Sums over gold words."""

    objective: Float[Tensor, ""]
    """What is maximised: (1 - s) `gold` + s `even`, of a label smoothing s; has gradients."""
    gold: Float[Tensor, ""]
    """log P of the gold words; has none."""


def summed_log_prob(
    features: Float[Tensor, "tokens output"],
    weight: Float[Tensor, "vocab output"],
    bias: Float[Tensor, " vocab"],
    gold_ids: Int[Tensor, " tokens"],
    log_copy: Float[Tensor, " tokens"] | None = None,
    gate: Float[Tensor, " tokens"] | None = None,
    *,
    label_smoothing: float = 0.0,
) -> LogProb:
    """The gold words' log P, each the mixture of generating and copying it.

    A gold id beyond the vocabulary cannot be generated. Without `log_copy` and `gate` there is no
    copying, and each must be in the vocabulary. Under autocast the products are in its type; the
    softmax is in float32 at least.

    Of a `label_smoothing` (Szegedy et al. 2016, section 7) that share of each gold word goes to all
    words of the vocabulary alike. It asks this of generating alone, `even` being the mean over them
    of log P_vocab: the mixture's own would need each word's part of the attention. A gold word that
    can only be copied is not smoothed.
    """
    device = features.device.type
    autocast = torch.is_autocast_enabled(device)
    found: tuple[Tensor, Tensor] = _SummedLogProb.apply(  # type: ignore[no-untyped-call]
        features,
        weight,
        bias,
        gold_ids,
        log_copy,
        gate,
        torch.get_autocast_dtype(device) if autocast else features.dtype,
        torch.is_grad_enabled(),
        label_smoothing,
    )
    return LogProb(*found)


class _SummedLogProb(Function):
    """Because it is a sum, all gradients are known, but for one factor, when it is formed."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        gold_ids: Tensor,
        log_copy: Tensor | None,
        gate: Tensor | None,
        products: torch.dtype,
        with_gradients: bool,
        smoothing: float,
    ) -> tuple[Tensor, Tensor]:
        exact = torch.promote_types(features.dtype, torch.float32)
        inputs, low_weight = features.to(products), weight.to(products)
        total, even = bias.new_zeros((), dtype=exact), bias.new_zeros((), dtype=exact)
        if with_gradients:
            by_features = torch.empty_like(features)
            by_weight, by_bias = torch.zeros_like(weight), torch.zeros_like(bias)
            by_mixed = [torch.empty_like(mixed) for mixed in (log_copy, gate) if mixed is not None]
        size = min(len(gold_ids), max(1, SCORES_AT_A_TIME // len(weight)))
        # One table for all blocks: memory that is new each time costs as much as the softmax.
        tables = features.new_empty(size, len(weight), dtype=exact)
        for first in range(0, len(gold_ids), max(1, size)):
            some = slice(first, first + size)
            gold = gold_ids[some]
            known = gold < len(weight)
            at = torch.where(known, gold, 0)[:, None]
            table = tables[: len(gold)]
            if products == exact:
                torch.addmm(bias, inputs[some], low_weight.T, out=table)
            else:
                torch.add(inputs[some] @ low_weight.T, bias, out=table)
            table.sub_(table.amax(-1, keepdim=True))
            score = table.gather(1, at)[:, 0]
            smoothed = smoothing * known.to(exact)
            if smoothing:
                mean = table.mean(-1)
            sums = table.exp_().sum(-1)
            if smoothing:
                even += torch.where(known, mean - sums.log(), 0).sum()
            log_generate = torch.where(known, score - sums.log(), torch.finfo(exact).min)
            mixed = [t[some].to(exact) for t in (log_copy, gate) if t is not None]
            if not with_gradients:
                total += (mixed_log_probs(log_generate, *mixed) if mixed else log_generate).sum()
                continue
            log_prob, share, *others = _mixture(log_generate, mixed)
            total += log_prob
            share = torch.where(known, (1 - smoothing) * share, 0)
            # Of log softmax: 1 at the gold word, less the softmax everywhere.
            by_logits = table.mul_((-(share + smoothed) / sums)[:, None])
            by_logits.scatter_add_(1, at, share[:, None])
            if smoothing:
                by_logits += (smoothed / len(weight))[:, None]
            by_bias += by_logits.sum(0)
            low = by_logits.to(products)
            by_features[some] = low @ low_weight
            if products == exact:
                by_weight.addmm_(low.T, inputs[some])
            else:
                by_weight += low.T @ inputs[some]
            for whole, part in zip(by_mixed, others, strict=True):
                whole[some] = (1 - smoothing) * part
        if with_gradients:
            ctx.is_mixture = bool(by_mixed)
            ctx.save_for_backward(by_features, by_weight, by_bias, *by_mixed)
        objective = (1 - smoothing) * total + smoothing * even
        ctx.mark_non_differentiable(total)
        return objective, total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        by_features, by_weight, by_bias, *by_mixed = (
            found * gradient.to(found.dtype) for found in ctx.saved_tensors
        )
        if not ctx.is_mixture:
            by_mixed = [None, None]
        return by_features, by_weight, by_bias, None, *by_mixed, None, None, None


def _mixture(log_generate: Tensor, mixed: list[Tensor]) -> list[Tensor]:
    """The sum of log P, and its gradients by what it is mixed of."""
    if not mixed:
        return [log_generate.sum(), torch.ones_like(log_generate)]
    with torch.enable_grad():
        parts = [part.detach().requires_grad_() for part in (log_generate, *mixed)]
        total = mixed_log_probs(*parts).sum()
    return [total.detach(), *torch.autograd.grad(total, parts)]
