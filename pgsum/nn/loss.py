"""What is minimised: the gold words' negative log-likelihood and, with coverage, looking twice."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F


class Loss(NamedTuple):
    """`total` is minimised; the rest is to look at. All are means over real target tokens."""

    total: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    """Of the words that can be produced at all: in the vocabulary or in the source."""
    coverage: Float[Tensor, ""]
    unreachable: Float[Tensor, ""]
    """Share of the gold words that can not."""
    p_gen: Float[Tensor, ""]
    tokens: int


def gold_vocab_log_probs(
    features: Float[Tensor, "tokens output"],
    weight: Float[Tensor, "vocab output"],
    bias: Float[Tensor, " vocab"],
    gold_ids: Int[Tensor, " tokens"],
) -> Float[Tensor, " tokens"]:
    """Log P_vocab of the gold words alone."""
    logits = F.linear(features, weight, bias)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return -F.cross_entropy(logits, gold_ids, reduction="none")


def masked_mean(
    values: Float[Tensor, "batch target"], mask: Bool[Tensor, "batch target"]
) -> Float[Tensor, ""]:
    """Mean over the real tokens of the whole batch."""
    return values.masked_fill(~mask, 0.0).sum() / mask.sum()
