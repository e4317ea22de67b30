"""The mixture of generating and copying, only where it is asked for.

P(w) = p_gen P_vocab(w) + (1 - p_gen) sum of attention on w.  See et al. 2017, eq. 9.
Everything is in log space; the whole mixture over the extended vocabulary is never built.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

# Of a table of scores, looked at together: some rows of so many stay in a processor's cache.
_COLUMNS = 2048


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
    parts = scores.split(_COLUMNS, dim=1)
    sums = [torch.exp_(part - largest[:, None]).sum(1) for part in parts]
    return largest + torch.stack(sums).sum(0).log()


def extended_log_probs_(
    scores: Float[Tensor, "rows vocab"],
    attention: Float[Tensor, "rows source"],
    gate: Float[Tensor, " rows"],
    source_extended_ids: Int[Tensor, "rows source"],
    first: Int[Tensor, "rows source"],
    max_source_oovs: int,
) -> tuple[Float[Tensor, "rows vocab"], Float[Tensor, "rows oovs"]]:
    """Log P of the whole vocabulary and, apart from it, of the source's OOVs.

    The vocabulary's stands where its `scores` stood, P_vocab being their softmax. Only the source's
    own words gain from copying, so only their entries are touched again. `first` is
    `first_positions(source_extended_ids)`: where a word stands several times, its shares are added.
    """
    vocab_size = scores.shape[1]
    on_word = torch.zeros_like(attention).scatter_add(1, first, attention).gather(1, first)
    log_copy = F.logsigmoid(-gate)[:, None] + on_word.log()
    vocab_log_probs = scores.add_((F.logsigmoid(gate) - log_normaliser(scores))[:, None])
    # An OOV's place in the vocabulary is that of padding, to which nothing is added.
    known = source_extended_ids < vocab_size
    in_vocab = torch.where(known, source_extended_ids, 0)
    gain = log_copy.masked_fill(~known | (in_vocab == 0), -torch.inf)
    vocab_log_probs.scatter_(
        1, in_vocab, torch.logaddexp(vocab_log_probs.gather(1, in_vocab), gain)
    )
    # The table of OOVs has one column more, cut off at the end, which takes the known words.
    as_oov = torch.where(known, max_source_oovs, source_extended_ids - vocab_size)
    oov_log_probs = attention.new_full((len(attention), max_source_oovs + 1), -torch.inf)
    oov_log_probs = oov_log_probs.scatter(1, as_oov, log_copy)
    return vocab_log_probs, oov_log_probs[:, :max_source_oovs]
