"""What is minimised: the gold words' negative log-likelihood and, with coverage, looking twice."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F


class Loss(NamedTuple):
    """`total` is minimised; the rest is to look at.

    All but `unreachable` are means over the gold words that can be produced at all: those in the
    vocabulary or in the source.
    """

    total: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    coverage: Float[Tensor, ""]
    """0 in a model that does without."""
    unreachable: Float[Tensor, ""]
    """Share of the gold words that cannot be produced."""
    p_gen: Float[Tensor, ""]
    tokens: int
    """How many gold words the means are over."""


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
