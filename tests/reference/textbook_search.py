"""Search as a textbook has it: one document, plain lists, to the end; and no search at all.

`next_log_probs` says how likely each id is after a prefix. Both take the settings of the search
that they are compared with.
"""

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Settings:
    min_tokens: int
    max_tokens: int
    eos_id: int
    banned_ids: Collection[int] = ()
    length_alpha: float = 0.0
    no_repeat_ngram: int = 0
    exempt_ids: Collection[int] = ()

    def allows(self, prefix: Sequence[int], candidate: int) -> bool:
        if candidate in self.banned_ids:
            return False
        if candidate == self.eos_id:
            return len(prefix) >= self.min_tokens
        if self.no_repeat_ngram == 0 or candidate in self.exempt_ids:
            return True
        size = self.no_repeat_ngram
        ids = [*prefix, candidate]
        ngrams = [tuple(ids[start : start + size]) for start in range(len(ids) - size + 1)]
        return not ngrams or ngrams[-1] not in ngrams[:-1]

    def score(self, log_prob: float, length: int) -> float:
        return log_prob / ((5 + length) / 6) ** self.length_alpha


@dataclass(frozen=True)
class Found:
    ids: tuple[int, ...]
    log_prob: float
    score: float
    stop: str


NextLogProbs = Callable[[Sequence[int]], list[float]]


def _extensions(
    next_log_probs: NextLogProbs, live: Sequence[tuple[tuple[int, ...], float]], settings: Settings
) -> list[tuple[float, int, int]]:
    """(negative log-probability, beam, id) of all that may follow; EOS where nothing may."""
    allowed = []
    forced = []
    for beam, (prefix, log_prob) in enumerate(live):
        for candidate, token_log_prob in enumerate(next_log_probs(prefix)):
            extension = (-(log_prob + token_log_prob), beam, candidate)
            if candidate == settings.eos_id:
                forced.append(extension)
            if token_log_prob > -inf and settings.allows(prefix, candidate):
                allowed.append(extension)
    return allowed or forced


def textbook_beam_search(
    next_log_probs: NextLogProbs, settings: Settings, *, beam_size: int
) -> list[Found]:
    """All that ended, best first. Never stops before `max_tokens` while anything lives.

    What ends is never pushed out of the beam again: one less is looked for from then on.
    """
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    ended: list[Found] = []
    for length in range(1, settings.max_tokens + 1):
        following = []
        ranked = sorted(_extensions(next_log_probs, live, settings))
        for negative, beam, candidate in ranked[: beam_size - len(ended)]:
            prefix = live[beam][0]
            if candidate != settings.eos_id:
                following.append(((*prefix, candidate), -negative))
            else:
                stop = "eos" if len(prefix) >= settings.min_tokens else "blocked"
                ended.append(Found(prefix, -negative, settings.score(-negative, length), stop))
        live = following
    ended += [
        Found(ids, log_prob, settings.score(log_prob, settings.max_tokens), "max_tokens")
        for ids, log_prob in live
    ]
    return sorted(ended, key=lambda found: -found.score)


def enumerate_all(next_log_probs: NextLogProbs, settings: Settings) -> dict[tuple[int, ...], Found]:
    """Every sequence there is, by its ids: what a beam finds that nothing falls out of."""
    everything = textbook_beam_search(next_log_probs, settings, beam_size=sys.maxsize)
    return {found.ids: found for found in everything}


def most_sequences(words: int, max_tokens: int) -> int:
    """How many there can be: each may end after any number of words, the longest must."""
    return sum(words**length for length in range(max_tokens + 1))
