"""The mixture of generating and copying, only where it is asked for.

P(w) = p_gen P_vocab(w) + (1 - p_gen) sum of attention on w.  See et al. 2017, eq. 9.
Everything is in log space; the whole mixture over the extended vocabulary is never built.
"""

from typing import NamedTuple

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


class SourceWords(NamedTuple):
    """Where the word of each source position stands in the tables of log P."""

    first: Int[Tensor, "rows source"]
    """The first position that holds the same word."""
    in_vocab: Int[Tensor, "rows source"]
    """Its column in the vocabulary; of an OOV that of padding."""
    gains: Bool[Tensor, "rows source"]
    """Whether copying adds to that column: not to padding's."""
    in_oovs: Int[Tensor, "rows source"]
    """Its column among the OOVs; of all other words one beyond the last."""

    def select(self, rows: Int[Tensor, " selected"]) -> "SourceWords":
        return SourceWords(*(table[rows] for table in self))


def source_words(
    source_extended_ids: Int[Tensor, "rows source"], *, vocab_size: int, max_source_oovs: int
) -> SourceWords:
    """Found once, as the source's words stay where they are."""
    known = source_extended_ids < vocab_size
    in_vocab = torch.where(known, source_extended_ids, 0)
    return SourceWords(
        first=first_positions(source_extended_ids),
        in_vocab=in_vocab,
        gains=in_vocab != 0,
        in_oovs=torch.where(known, max_source_oovs, source_extended_ids - vocab_size),
    )


def log_normaliser(scores: Float[Tensor, "rows vocab"]) -> Float[Tensor, " rows"]:
    """The log of the softmax's denominator, without a second table of the scores' size."""
    largest = scores.amax(1)
    parts = scores.split(max(1, _BLOCK // len(scores)), dim=1)
    sums = [torch.exp_(part - largest[:, None]).sum(1) for part in parts]
    return largest + torch.stack(sums).sum(0).log()


def extended_log_probs_(
    scores: Float[Tensor, "rows vocab"],
    attention: Float[Tensor, "rows source"],
    gate: Float[Tensor, " rows"],
    words: SourceWords,
    max_source_oovs: int,
) -> tuple[Float[Tensor, "rows vocab"], Float[Tensor, "rows oovs"]]:
    """Log P of the whole vocabulary and, apart from it, of the source's OOVs.

    The vocabulary's stands where its `scores` stood, P_vocab being their softmax. Only the source's
    own words gain from copying, so only their entries are touched again; where a word stands
    several times, its shares are added.
    """
    on_word = torch.zeros_like(attention).scatter_add(1, words.first, attention)
    log_copy = F.logsigmoid(-gate)[:, None] + on_word.gather(1, words.first).log()
    vocab_log_probs = scores.add_((F.logsigmoid(gate) - log_normaliser(scores))[:, None])
    gain = torch.where(words.gains, log_copy, -torch.inf)
    both = torch.logaddexp(vocab_log_probs.gather(1, words.in_vocab), gain)
    vocab_log_probs.scatter_(1, words.in_vocab, both)
    # One column more, cut off at the end, takes the words that are no OOVs.
    oov_log_probs = attention.new_full((len(attention), max_source_oovs + 1), -torch.inf)
    oov_log_probs.scatter_(1, words.in_oovs, log_copy)
    return vocab_log_probs, oov_log_probs[:, :max_source_oovs]
