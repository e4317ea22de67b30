"""The mixture of generating and copying, only where it is asked for.

P(w) = p_gen P_vocab(w) + (1 - p_gen) sum of attention on w.  See et al. 2017, eq. 9.
Everything is in log space; training never builds the mixture over the extended vocabulary.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

# Scores that are looked at together: so many stay in a processor's cache.
_BLOCK = 2**17


def copy_log_probs(
    log_attention: Float[Tensor, "tokens source"],
    source_extended_ids: Int[Tensor, "tokens source"],
    gold_extended_ids: Int[Tensor, " tokens"],
) -> Float[Tensor, " tokens"]:
    """Log of the attention on all places of the gold word; the least finite number without any."""
    least = torch.finfo(log_attention.dtype).min
    on_gold = source_extended_ids == gold_extended_ids[:, None]
    return torch.where(on_gold, log_attention, least).logsumexp(-1)


def mixed_log_probs(
    log_generate: Float[Tensor, " tokens"],
    log_copy: Float[Tensor, " tokens"],
    gate: Float[Tensor, " tokens"],
) -> Float[Tensor, " tokens"]:
    """Log P of words with these log-probabilities of being generated and of being copied.

    The least finite number stands for none, so that there is no log of 0 and no NaN in the
    gradient.
    """
    return torch.logaddexp(F.logsigmoid(gate) + log_generate, F.logsigmoid(-gate) + log_copy)


def first_positions(ids: Int[Tensor, "batch source"]) -> Int[Tensor, "batch source"]:
    """Of each position, the first one in its row that holds the same id."""
    ordered, order = ids.sort(dim=1, stable=True)
    places = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    begins = F.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True)
    run = torch.where(begins, places, 0).cummax(dim=1).values
    return torch.empty_like(order).scatter(1, order, order.gather(1, run))


def log_normaliser(scores: Float[Tensor, "rows vocab"]) -> Float[Tensor, " rows"]:
    """The log of the softmax's denominator, without a second table of the scores' size."""
    largest = scores.amax(1)
    parts = scores.split(max(1, _BLOCK // len(scores)), dim=1)
    sums = [torch.exp_(part - largest[:, None]).sum(1) for part in parts]
    return largest + torch.stack(sums).sum(0).log()


def only_supported_(
    table: Float[Tensor, "rows extended_vocab"],
    needing_support: Int[Tensor, " ids"],
    source_extended_ids: Int[Tensor, "documents source"],
    source_mask: Bool[Tensor, "documents source"],
) -> Float[Tensor, "rows extended_vocab"]:
    """Writes minus infinity over the scores of words that need support and that a row's document
    does not have.

    The softmax that follows renormalises what is left. Several rows may read one document.
    """
    words = torch.where(source_mask, source_extended_ids, source_extended_ids[:, :1])
    scores = table.unflatten(0, (len(words), -1))
    words = words[:, None].expand(-1, scores.shape[1], -1)
    in_source = scores.gather(2, words)
    table.index_fill_(1, needing_support, -torch.inf)
    scores.scatter_(2, words, in_source)
    return table


def extended_log_probs_(
    table: Float[Tensor, "rows extended_vocab"],
    attention: Float[Tensor, "rows source"],
    gate: Float[Tensor, " rows"],
    source_extended_ids: Int[Tensor, "documents source"],
    first: Int[Tensor, "documents source"],
    vocab_size: int,
) -> Float[Tensor, "rows extended_vocab"]:
    """Log P of the extended vocabulary, written over the scores of which P_vocab is the softmax.

    They stand in the first `vocab_size` columns. Several rows may read one document; `first` are
    the `first_positions` of its words. Only these gain from copying, so only their entries are
    touched again; where a word stands several times, its shares are added.
    """
    scores, oovs = table[:, :vocab_size], table[:, vocab_size:]
    scores.add_((F.logsigmoid(gate) - log_normaliser(scores))[:, None])
    oovs.fill_(-torch.inf)
    by_document = (len(source_extended_ids), -1)
    attention = attention.unflatten(0, by_document)
    first = first[:, None].expand_as(attention)
    on_word = torch.zeros_like(attention).scatter_add(2, first, attention).gather(2, first)
    log_copy = F.logsigmoid(-gate).unflatten(0, by_document)[:, :, None] + on_word.log()
    words = source_extended_ids[:, None].expand_as(attention)
    log_probs = table.unflatten(0, by_document)
    log_probs.scatter_(2, words, torch.logaddexp(log_probs.gather(2, words), log_copy))
    return table
