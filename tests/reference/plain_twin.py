"""The pointer-generator as one would write it in PyTorch without a thought for speed.

Batched, masked, a loop over the target's steps, and the whole distribution at each step, of which
training takes the log of one entry. Search goes through one document at a time, its hypotheses side
by side. It borrows a model's layers and settings and none of its code; there is no dropout. What is
quicker than this is measured against it, and must come to the same.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import torch
from reference.textbook_search import Found, Settings
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from pgsum.config import DecodeConfig
from pgsum.data.batch import Batch, SourceBatch
from pgsum.generate import NEVER_PRODUCED, length_limits
from pgsum.nn.attention import GeneralRelevance
from pgsum.nn.model import PointerGenerator
from pgsum.text.vocab import BOS_ID, EOS_ID


class ReadSource(NamedTuple):
    """What every step looks at."""

    states: Tensor
    """(rows, source, encoder)"""
    keys: Tensor
    """(rows, source, key)"""
    mask: Tensor
    extended_ids: Tensor
    oovs: int

    def repeated(self, rows: int) -> "ReadSource":
        """That of one document, once for each of its hypotheses."""
        return ReadSource(*(part.expand(rows, *part.shape[1:]) for part in self[:-1]), self.oovs)


class State(NamedTuple):
    """What one step hands to the next, a row for each source or hypothesis."""

    hidden: Tensor
    cell: Tensor
    context: Tensor
    coverage: Tensor


class Step(NamedTuple):
    p_final: Tensor
    """(rows, extended_vocab)"""
    attention: Tensor
    state: State


def read(model: PointerGenerator, source: SourceBatch) -> tuple[ReadSource, State]:
    """See et al. 2017, section 2.1; the keys are projected once."""
    lengths = source.source_mask.sum(1).cpu()
    states = model.embedding(source.source_ids)
    for layer in model.encoder.layers:
        packed = pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
        packed, (hidden, cell) = layer.rnn(packed)
        states, _ = pad_packed_sequence(packed, batch_first=True)
    state = State(
        hidden=model.decoder.bridge.hidden[0](torch.cat([*hidden], dim=-1)).relu(),
        cell=model.decoder.bridge.cell[0](torch.cat([*cell], dim=-1)).relu(),
        context=torch.zeros_like(states[:, 0]),
        coverage=torch.zeros_like(states[:, :, 0]),
    )
    keys = model.decoder.attention.relevance.key(states)
    return ReadSource(
        states, keys, source.source_mask, source.source_extended_ids, source.max_source_oovs
    ), state


def relevance(model: PointerGenerator, query: Tensor, keys: Tensor, coverage: Tensor) -> Tensor:
    """Luong et al. 2015, eq. 8; Bahdanau et al. 2015, eq. 6, with See et al. 2017, eq. 11."""
    by = model.decoder.attention.relevance
    if isinstance(by, GeneralRelevance):
        scores = (keys @ query[:, :, None])[:, :, 0]
        return scores if by.coverage is None else scores + by.coverage * coverage
    inner = keys + by.query(query)[:, None]
    if by.coverage is not None:
        inner = inner + by.coverage(coverage[:, :, None])
    return by.v(torch.tanh(inner))[:, :, 0]


def step(model: PointerGenerator, last_ids: Tensor, source: ReadSource, state: State) -> Step:
    """The distribution of what follows `last_ids`, ids of the fixed vocabulary."""
    decoder = model.decoder
    x = model.embedding(last_ids)
    if decoder.input is not None:
        x = decoder.input(torch.cat([x, state.context], dim=-1))
    _, (hidden, cell) = decoder.rnn(x[:, None], (state.hidden[None], state.cell[None]))
    hidden, cell = hidden[0], cell[0]
    query = torch.cat([cell, hidden], dim=-1) if decoder.query_with_cell else hidden
    scores = relevance(model, query, source.keys, state.coverage)
    attention = scores.masked_fill(~source.mask, -torch.inf).softmax(-1)
    context = (attention[:, None] @ source.states)[:, 0]
    features = decoder.output(torch.cat([hidden, context], dim=-1))
    if decoder.output_activation:
        features = features.tanh()
    p_final = model.projection(features).softmax(-1)
    if decoder.gate is not None:  # See et al. 2017, eq. 9
        p_gen = decoder.gate(torch.cat([context, query, x], dim=-1)).sigmoid()
        generated = F.pad(p_gen * p_final, (0, source.oovs))
        p_final = generated.scatter_add(1, source.extended_ids, (1 - p_gen) * attention)
    return Step(p_final, attention, State(hidden, cell, context, state.coverage + attention))


def loss(model: PointerGenerator, batch: Batch) -> Tensor:
    """What is minimised: means over the gold words that can be said. See et al. 2017, eq. 13."""
    source, state = read(model, batch.source)
    gold = batch.target_extended_ids
    learned = batch.target_mask & (gold != model.unk_id)
    if not model.pointer:
        gold = torch.where(gold < model.vocab_size, gold, model.unk_id)
    p_gold, repeated = [], []
    for t in range(gold.shape[1]):
        found = step(model, batch.target_input_ids[:, t], source, state)
        p_gold.append(found.p_final.gather(1, gold[:, t, None])[:, 0])
        repeated.append(torch.minimum(found.attention, state.coverage).sum(1))
        state = found.state
    nll = -torch.stack(p_gold, dim=1)[learned].log().mean()
    if not model.decoder.coverage:
        return nll
    return nll + model.coverage_weight * torch.stack(repeated, dim=1)[learned].mean()


def settings_for(
    config: DecodeConfig, source_tokens: int, exempt_ids: Collection[int] = ()
) -> Settings:
    """Those of `config` for a source of so many tokens."""
    min_tokens, max_tokens = length_limits(config, source_tokens)
    return Settings(
        min_tokens=min_tokens,
        max_tokens=max_tokens,
        eos_id=EOS_ID,
        banned_ids=NEVER_PRODUCED,
        length_alpha=config.length_alpha,
        no_repeat_ngram=config.no_repeat_ngram,
        exempt_ids=exempt_ids,
    )


def repeats(prefix: Sequence[int], settings: Settings) -> list[int]:
    """Ids that would complete an n-gram that `prefix` already holds."""
    size = settings.no_repeat_ngram
    if size == 0 or len(prefix) < size:
        return []
    begun = tuple(prefix[len(prefix) - size + 1 :])
    ngrams = [tuple(prefix[start : start + size]) for start in range(len(prefix) - size + 1)]
    completing = {ngram[-1] for ngram in ngrams if ngram[:-1] == begun}
    return list(completing.difference(settings.exempt_ids))


@torch.no_grad()
def beam_search(
    model: PointerGenerator, document: SourceBatch, settings: Settings, *, beam_size: int
) -> list[Found]:
    """All that ended, best first, for a batch of one; the rules of `textbook_beam_search`.

    Among equals that are taken the order is its own; which of equals are taken is `topk`'s to say.
    """
    source, state = read(model, document)
    device = document.source_ids.device
    prefixes: list[tuple[int, ...]] = [()]
    log_probs = torch.zeros_like(state.hidden[:, 0])
    last_ids = torch.tensor([BOS_ID], device=device)
    ended: list[Found] = []
    for length in range(1, settings.max_tokens + 1):
        found = step(model, last_ids, source.repeated(len(prefixes)), state)
        totals = log_probs[:, None] + found.p_final.log()
        ends = totals[:, settings.eos_id].clone()
        totals[:, list(settings.banned_ids)] = -torch.inf
        if length <= settings.min_tokens:
            totals[:, settings.eos_id] = -torch.inf
        for row, prefix in enumerate(prefixes):
            totals[row, repeats(prefix, settings)] = -torch.inf
        if totals.max() == -torch.inf:
            totals[:, settings.eos_id] = ends
        best, places = totals.flatten().topk(beam_size - len(ended))
        ranked = sorted(zip((-best).tolist(), places.tolist(), strict=True))
        parents, following, live = [], [], []
        for negative, place in ranked:
            row, word = divmod(place, totals.shape[1])
            if negative == torch.inf:
                continue
            if word != settings.eos_id:
                parents.append(row)
                following.append((*prefixes[row], word))
                live.append(-negative)
            else:
                stop = "eos" if length > settings.min_tokens else "blocked"
                score = settings.score(-negative, length)
                ended.append(Found(prefixes[row], -negative, score, stop))
        if not following:
            break
        prefixes, log_probs = following, log_probs.new_tensor(live)
        state = State(*(part[parents] for part in found.state))
        words = [prefix[-1] for prefix in prefixes]
        last_ids = torch.tensor(
            [word if word < model.vocab_size else model.unk_id for word in words], device=device
        )
    else:
        ended += [
            Found(ids, log_prob, settings.score(log_prob, settings.max_tokens), "max_tokens")
            for ids, log_prob in zip(prefixes, log_probs.tolist(), strict=True)
        ]
    return sorted(ended, key=lambda hypothesis: -hypothesis.score)
