"""What there is to see of a summary, as plain data: for a file, for a page.

Keys are those of abisee/attn_vis, which shows such files too, and then our own. Numbers are rounded
once, here, so that file and page agree.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsum.metrics.rouge import Rouge
from pgsum.metrics.tokens import tokenizer_for
from pgsum.summarizer import Summary
from pgsum.text.tokenize import tokenize

_TOP = 3
"""Source positions that are named for each word."""
_MUCH = 0.1
"""Attention from which on a word is said to have used a source token."""
NO_ATTENTION = "The model has no attention: nothing says where a word came from."
_LEVELS = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", dtype=np.uint8
)
_UNREAD_SHOWN = 5_000
"""Characters of what was not read that a page shows."""


@dataclass(frozen=True)
class Explained:
    """A summary under the name of its document, beside its references if there are any."""

    name: str
    summary: Summary
    references: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    """F1 against the references, from 0 to 1, by metric."""

    @classmethod
    def scored(cls, name: str, summary: Summary, references: Sequence[str]) -> "Explained":
        """With the ROUGE of this one summary; the references' script says what its words are."""
        texts = tuple(text for text in references if text.strip())
        if not texts:
            return cls(name, summary)
        scores = Rouge(tokenizer_for(texts)).score(summary.text, texts)
        return cls(name, summary, texts, {metric: score.f for metric, score in scores.items()})


def has_attention(summary: Summary) -> bool:
    """Whether the model looked at its source while writing; not one that reads it to a vector."""
    return bool(summary.attention.any())


def has_pointer(summary: Summary) -> bool:
    """Whether the model could copy."""
    return any(p_gen < 1 for p_gen in summary.p_gen)


def top_positions(summary: Summary, word: int) -> list[tuple[int, float]]:
    """The source positions that a word looked at most, strongest first, with their weights."""
    return _strongest(summary, word)[:_TOP]


def _strongest(summary: Summary, word: int) -> list[tuple[int, float]]:
    weights = summary.attention[word].tolist()
    order = sorted(range(len(weights)), key=lambda i: -weights[i])
    return [(i, rounded(weights[i])) for i in order if weights[i] > 0]


def _used(summary: Summary, word: int) -> list[tuple[int, float]]:
    """The top positions, and what else got much, or was copied."""
    return [
        (position, weight)
        for place, (position, weight) in enumerate(_strongest(summary, word))
        if place < _TOP or weight >= _MUCH or position == summary.source_positions[word]
    ]


def coverage(summary: Summary) -> list[float]:
    """Of each source position, the attention it got in all.  See et al. 2017, eq. 10."""
    return [rounded(total) for total in summary.attention.sum(axis=0, dtype=np.float64).tolist()]


def rounded(number: float) -> float:
    """As it stands in files and pages: six decimals, more than a 32-bit float can tell."""
    return round(number, 6)


def to_object(explained: Explained) -> dict[str, Any]:
    """All of one summary, as JSON can hold it."""
    summary = explained.summary
    return {
        "article_lst": list(summary.source_tokens),
        "decoded_lst": list(summary.tokens),
        "abstract_str": "\n".join(explained.references),
        "attn_dists": [[rounded(weight) for weight in row] for row in summary.attention.tolist()],
        "p_gens": [rounded(p_gen) for p_gen in summary.p_gen],
        "summary": summary.text,
        "references": list(explained.references),
        "document": summary.document,
        "source_spans": [list(span) for span in summary.source_spans],
    } | _figures(explained)


def to_json(explained: Sequence[Explained]) -> str:
    """An object for one document, as attn_vis reads it; a list of them for several."""
    objects = [to_object(each) for each in explained]
    content = objects[0] if len(objects) == 1 else objects
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def for_page(explained: Explained) -> dict[str, Any]:
    """The same for a page: texts as pieces to lay out, attention as a picture needs it.

    Pieces are what lies before a token and the token, in turn, and at last what follows them all.
    Attention is a character for each word and position, row by row, a picture's 64 shades: its
    square root in the digits of base64. What is read as a number is in `used`.
    """
    summary = explained.summary
    end = summary.source_spans[-1][1]
    unread = summary.document[end:]
    shades = np.sqrt(summary.attention.clip(0, 1)) * (len(_LEVELS) - 1)
    return {
        "summary": _pieces(summary.text, _found(summary.text, summary.tokens)),
        "source": _pieces(summary.document[:end], summary.source_spans),
        "unread": unread[:_UNREAD_SHOWN],
        "unread_characters_left_out": max(0, len(unread) - _UNREAD_SHOWN),
        "references": [
            _pieces(text, [(token.start, token.end) for token in tokenize(text)])
            for text in explained.references
        ],
        "p_gens": [rounded(p_gen) for p_gen in summary.p_gen],
        "has_attention": has_attention(summary),
        "has_pointer": has_pointer(summary),
        "used": [_used(summary, word) for word in range(len(summary.tokens))],
        "coverage": coverage(summary),
        "attention": _LEVELS[shades.round().astype(np.uint8)].tobytes().decode(),
    } | _figures(explained)


def _figures(explained: Explained) -> dict[str, Any]:
    """What a file and a page have alike."""
    summary = explained.summary
    return {
        "id": explained.name,
        "scores": {metric: rounded(score) for metric, score in explained.scores.items()},
        "copied": list(summary.copied),
        "oov": list(summary.oov),
        "source_positions": list(summary.source_positions),
        "log_probs": [rounded(log_prob) for log_prob in summary.log_probs],
        "generated_part": [rounded(part) for part in summary.generated_part],
        "copied_part": [rounded(part) for part in summary.copied_part],
        "unread_tokens": summary.unread_tokens,
        "score": rounded(summary.score),
        "stop": summary.stop,
    }


def _pieces(text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    pieces, end = [], 0
    for start, stop in spans:
        pieces += [text[end:start], text[start:stop]]
        end = stop
    return [*pieces, text[end:]]


def _found(text: str, tokens: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where tokens stand in a text that holds them one after the other."""
    end = 0
    for token in tokens:
        start = text.index(token, end)
        end = start + len(token)
        yield start, end
