"""A summary made by hand, of which every number is known."""

import numpy as np

from pgsum.summarizer import Summary
from pgsum.text.tokenize import tokenize

DOCUMENT = "Ada met Bob in Oslo.\r\nBob gave Ada the book 👩‍👧, and Ada read the book."
MADE = (
    # word, position it was copied from, outside the vocabulary, p_gen, log-probability
    ("Ada", 0, True, 0.125, -0.5),
    ("reads", None, False, 0.875, -1.25),
    ("the", 16, False, 0.25, -0.25),
    ("book", 17, False, 0.0625, -0.125),
)


def make_summary(
    document: str = DOCUMENT,
    *,
    words: tuple[tuple[str, int | None, bool, float, float], ...] = MADE,
    max_source_tokens: int = 400,
    attention: bool = True,
    pointer: bool = True,
) -> Summary:
    """A summary whose words look at their sources, and a little at all else.

    A word that is copied has nine tenths of its attention and of its probability there.
    """
    tokens = tokenize(document)
    read = tokens[:max_source_tokens]
    rows = np.full((len(words), len(read)), 0.1 / max(1, len(read) - 1), np.float32)
    for row, (_, position, *_) in zip(rows, words, strict=True):
        row[min(len(read) - 1, 5 if position is None else position)] = 0.9
    probabilities = np.exp([log_prob for *_, log_prob in words])
    copied = [0.9 if position is not None and pointer else 0.0 for _, position, *_ in words]
    return Summary(
        text=" ".join(word for word, *_ in words),
        tokens=tuple(word for word, *_ in words),
        copied=tuple(bool(share) for share in copied),
        source_positions=tuple(position if pointer else None for _, position, *_ in words),
        oov=tuple(oov for _, _, oov, *_ in words),
        log_probs=tuple(log_prob for *_, log_prob in words),
        generated_part=tuple(
            float(p * (1 - c)) for p, c in zip(probabilities, copied, strict=True)
        ),
        copied_part=tuple(float(p * c) for p, c in zip(probabilities, copied, strict=True)),
        p_gen=tuple(p_gen if pointer else 1.0 for *_, p_gen, _ in words),
        attention=rows if attention else np.zeros_like(rows),
        document=document,
        source_tokens=tuple(token.text for token in read),
        source_spans=tuple((token.start, token.end) for token in read),
        truncated=len(read) < len(tokens),
        unfamiliar=False,
        score=-0.5,
        stop="eos",
    )
