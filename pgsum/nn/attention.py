"""Attention as one general thing, and the relevance functions it may use: dot, general, additive.

weights = softmax(relevance(query, keys)); context = weights @ values.
Nothing is remembered between calls: the keys are projected once per source and handed back in.
Several queries may read one source at once, be they the steps of a target or the rows of a beam.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from pgsum.nn.additive import additive_scores
from pgsum.nn.shared import Shared


class AttentionOutput(NamedTuple):
    """What was read, and how much from where; padding has a weight of exactly 0."""

    context: Float[Tensor, "batch steps encoder"]
    attention: Float[Tensor, "batch steps source"]
    log_attention: Float[Tensor, "batch steps source"]


def masked_log_softmax(
    scores: Float[Tensor, "batch steps source"], mask: Bool[Tensor, "batch source"]
) -> Float[Tensor, "batch steps source"]:
    """Log-softmax over real tokens, in float32 at least; on padding the least finite number.

    The mask is applied before the softmax, so nothing is renormalised; the least finite number
    rather than minus infinity, so that no gradient is ever NaN.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    least = torch.finfo(scores.dtype).min
    return torch.where(mask[:, None], scores, least).log_softmax(-1).clamp(min=least)


class DotRelevance(nn.Module):
    """query . key, for states of equal size.  Luong et al. 2015, eq. 8 (dot).

    `scaled`: over the root of that size.  Vaswani et al. 2017, eq. 1.
    """

    def __init__(self, size: int, *, scaled: bool = False, coverage: bool = False) -> None:
        super().__init__()
        self.scale = size**-0.5 if scaled else 1.0
        # A product has no place for coverage inside it: it is added to the score, scaled.
        self.coverage = nn.Parameter(torch.zeros(1)) if coverage else None

    def project_keys(self, states: Float[Tensor, "batch source encoder"]) -> Shared:
        """(batch, source, query)."""
        return Shared(states)

    def forward(
        self,
        query: Float[Tensor, "batch steps query"],
        keys: Shared,
        coverage: Float[Tensor, "batch steps source"] | None,
    ) -> Float[Tensor, "batch steps source"]:
        scores = keys.dot(query * self.scale)
        if coverage is not None and self.coverage is not None:
            scores = scores + self.coverage * coverage
        return scores


class GeneralRelevance(DotRelevance):
    """query . W . key.  Luong et al. 2015, eq. 8 (general)."""

    def __init__(self, query_size: int, encoder_size: int, *, coverage: bool = False) -> None:
        super().__init__(query_size, coverage=coverage)
        self.key = nn.Linear(encoder_size, query_size, bias=False)

    def project_keys(self, states: Float[Tensor, "batch source encoder"]) -> Shared:
        """(batch, source, query)."""
        return super().project_keys(self.key(states))


class AdditiveRelevance(nn.Module):
    """v . tanh(W_h key + W_s query + w_c coverage + b).

    Bahdanau et al. 2015, eq. 6, with the coverage of See et al. 2017, eq. 11.
    """

    def __init__(
        self,
        query_size: int,
        encoder_size: int,
        attention_size: int,
        *,
        coverage: bool = False,
    ) -> None:
        super().__init__()
        self.key = nn.Linear(encoder_size, attention_size, bias=False)
        self.query = nn.Linear(query_size, attention_size)
        self.coverage = nn.Linear(1, attention_size, bias=False) if coverage else None
        self.v = nn.Linear(attention_size, 1, bias=False)

    def project_keys(self, states: Float[Tensor, "batch source encoder"]) -> Shared:
        """(batch, source, attention), in float32 at least: it is not for a matrix product."""
        keys: Tensor = self.key(states)
        return Shared(keys.to(torch.promote_types(keys.dtype, torch.float32)))

    def forward(
        self,
        query: Float[Tensor, "batch steps query"],
        keys: Shared,
        coverage: Float[Tensor, "batch steps source"] | None,
    ) -> Float[Tensor, "batch steps source"]:
        projected = self.query(query).to(keys.tensor.dtype)
        if coverage is None or self.coverage is None:
            return additive_scores(keys, projected, self.v.weight[0])
        w = self.coverage.weight[:, 0]
        return additive_scores(keys, projected, self.v.weight[0], coverage, w)


class Attention(nn.Module):
    """Where to look, by `relevance`, and what is read there."""

    def __init__(self, relevance: DotRelevance | AdditiveRelevance) -> None:
        super().__init__()
        self.relevance = relevance

    def project_keys(self, states: Float[Tensor, "batch source encoder"]) -> Shared:
        """What the queries are compared with, (batch, source, key), once per source."""
        return self.relevance.project_keys(states)

    def forward(
        self,
        query: Float[Tensor, "batch steps query"],
        keys: Shared,
        values: Shared,
        mask: Bool[Tensor, "batch source"],
        coverage: Float[Tensor, "batch steps source"] | None = None,
    ) -> AttentionOutput:
        """What each query reads; `coverage` is that of each."""
        log_attention = masked_log_softmax(self.relevance(query, keys, coverage), mask)
        attention = log_attention.exp()
        return AttentionOutput(values.mix(attention), attention, log_attention)
