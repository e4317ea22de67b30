"""The whole staircase in one object: text -> tokens -> ids -> model -> hypotheses -> text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from pgsum.bundle import Bundle, own_model
from pgsum.by_name import Model, find
from pgsum.config import DecodeConfig
from pgsum.data.batch import collate_sources
from pgsum.data.example import Source, encode_source
from pgsum.data.familiarity import Familiarity
from pgsum.decode.hypothesis import Hypothesis, Stop
from pgsum.errors import DataError
from pgsum.generate import generate
from pgsum.text.extended import ExtendedVocab
from pgsum.text.support import ids_needing_support
from pgsum.text.surface import Piece, restore
from pgsum.text.tokenize import Token, lookup_form, tokenize


@dataclass(frozen=True)
class Summary:
    """A summary with where each of its words came from.

    A word is one of the model's own; a source token is one that the model read. Of both, tuples
    have one entry each, in order.
    """

    text: str
    tokens: tuple[str, ...]
    """Each word as it reads in the text."""
    copied: tuple[bool, ...]
    """Whether more of a word's probability came from pointing than from the vocabulary."""
    source_positions: tuple[int | None, ...]
    """The index in `source_tokens` that a copied word was copied from."""
    oov: tuple[bool, ...]
    """Whether a word lies outside the vocabulary, so that it can only be copied."""
    log_probs: tuple[float, ...]
    """Of each word, given those before it."""
    generated_part: tuple[float, ...]
    copied_part: tuple[float, ...]
    """A word's probability is the sum of both: from the vocabulary, and from pointing."""
    p_gen: tuple[float, ...]
    """The probability of generating, whatever the word; 1 where a model has no pointer."""
    attention: "np.ndarray[tuple[int, int], np.dtype[np.float32]]"
    """(words, source tokens); a row sums to 1, to 0 where a model has no attention."""
    document: str
    source_tokens: tuple[str, ...]
    source_spans: tuple[tuple[int, int], ...]
    """Of each source token its start and end: `document[start:end]` is the token."""
    truncated: bool
    """Whether the document is longer than what the model read."""
    unfamiliar: bool
    """Whether the document is unlike those that the model was trained on: what it read of it is
    rarer there than `Bundle.usual_surprise`."""
    score: float
    """The search's."""
    stop: Stop
    """`max_tokens` where the summary was cut short; see `Hypothesis`."""

    def as_row(self) -> dict[str, Any]:
        """What a program is told of it: by `pgsum summarize --jsonl`, and by a server."""
        return {
            "summary": self.text,
            "tokens": self.tokens,
            "copied": self.copied,
            "source_tokens": self.source_tokens,
            "truncated": self.truncated,
            "score": self.score,
            "stop": self.stop,
        }

    @cached_property
    def unread_tokens(self) -> int:
        """How many tokens of the document follow those that the model read."""
        return len(tokenize(self.document)) - len(self.source_tokens) if self.truncated else 0

    @cached_property
    def coverage_loss(self) -> float | None:
        """How much a word, in the mean, looked at where those before it had looked; None where
        nothing was looked at.  See et al. 2017, eq. 12.
        """
        if not self.attention.any():
            return None
        attention = self.attention.astype(np.float64)
        coverage = attention.cumsum(axis=0) - attention
        return float(np.minimum(attention, coverage).sum(axis=1).mean())


@dataclass(frozen=True)
class _Read:
    """A document as the model reads it."""

    document: str
    tokens: list[Token]
    source: Source
    truncated: bool
    unfamiliar: bool


class Summarizer:
    """A trained model, ready for text.

    `Summarizer.load()("A long text.").text` is all there is to it.
    """

    def __init__(self, bundle: Bundle, *, device: str | torch.device = "cpu") -> None:
        self.bundle = bundle
        self.model = bundle.model.to(device).eval()

    @property
    def device(self) -> torch.device:
        """Where its model is: a training may move it."""
        return next(self.model.parameters()).device

    @classmethod
    def load(
        cls, path: str | Path | None = None, *, device: str | torch.device = "cpu"
    ) -> "Summarizer":
        """From a bundle, or a run folder that holds one; else the model that comes with pgsum.

        A string that is no path here may be OWNER/NAME or OWNER/NAME@REVISION of the Hugging Face
        hub: `pgsum.by_name.is_name`. Unlike a command it looks for no run: what a program gets does
        not depend on the folder that it is started in. Raises ModelError where a model is missing
        or damaged.
        """
        model = Model(own_model()) if path is None else find(path)
        return cls(model.load(), device=device)

    def __call__(self, document: str, *, decode: DecodeConfig | None = None) -> Summary:
        """The best summary of one document."""
        return self.summarize([document], decode=decode)[0][0]

    def summarize(
        self,
        documents: Sequence[str],
        *,
        decode: DecodeConfig | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Summary]]:
        """The `decode.n_best` summaries of each document, best first, in the documents' order.

        Documents of like length share a batch, which changes nothing but the time it takes.
        `progress` is told the number of documents done. Raises DataError for an empty document.
        """
        decode = decode or self.bundle.config.decode
        read = [self._read(document, number) for number, document in enumerate(documents, 1)]
        order = sorted(range(len(read)), key=lambda i: len(read[i].tokens))
        summaries: list[list[Summary]] = [[] for _ in read]
        exempt_ids = self._ids(decode.may_repeat or "")
        for first in range(0, len(order), decode.batch_size):
            chosen = order[first : first + decode.batch_size]
            batch = collate_sources([read[i].source for i in chosen]).to(self.device)
            searched = generate(
                self.model,
                batch,
                decode,
                exempt_ids=exempt_ids,
                needing_support=self._needing_support if decode.faithful else None,
            )
            for i, hypotheses in zip(chosen, searched, strict=True):
                summaries[i] = [self._write(read[i], hypothesis) for hypothesis in hypotheses]
            if progress is not None:
                progress(first + len(chosen))
        return summaries

    @cached_property
    def _needing_support(self) -> list[int]:
        return ids_needing_support(self.bundle.vocab, self.bundle.surface.casing)

    @cached_property
    def _familiarity(self) -> Familiarity:
        return Familiarity(self.bundle.vocab)

    def _ids(self, words: str) -> list[int]:
        """The ids of words, those that the vocabulary has."""
        lowercase = self.bundle.config.text.lowercase
        forms = (lookup_form(token.text, lowercase=lowercase) for token in tokenize(words))
        return [self.bundle.vocab.id_of(form) for form in forms if form in self.bundle.vocab]

    def _read(self, document: str, number: int) -> _Read:
        text = self.bundle.config.text
        tokens = tokenize(document, max_tokens=text.max_source_tokens + 1)
        if not tokens:
            raise DataError(f"Document {number} is empty: it has no visible character.")
        kept = tokens[: text.max_source_tokens]
        forms = [lookup_form(token.text, lowercase=text.lowercase) for token in kept]
        source = encode_source(self.bundle.vocab, forms)
        usual = self.bundle.usual_surprise
        return _Read(
            document,
            kept,
            source,
            truncated=len(tokens) > len(kept),
            unfamiliar=usual is not None and self._familiarity.surprise(source.source_ids) > usual,
        )

    def _write(self, read: _Read, hypothesis: Hypothesis) -> Summary:
        ids = torch.tensor(read.source.source_extended_ids)
        attention = hypothesis.attention[:, : len(ids)].float().cpu()
        extended = ExtendedVocab(self.bundle.vocab, read.source.source_oovs)
        p_gen = hypothesis.p_gen.tolist()
        pieces, parts = [], []
        for step, extended_id in enumerate(hypothesis.ids):
            on_word = attention[step] * (ids == extended_id)
            part = mixture_parts(
                float(on_word.sum()), p_gen[step], hypothesis.token_log_probs[step]
            )
            position = int(on_word.argmax()) if part.copied > part.generated else None
            pieces.append(Piece(extended.form(extended_id), position))
            parts.append(part)
        restored = restore(
            pieces, self.bundle.surface, document=read.document, source_tokens=read.tokens
        )
        return Summary(
            text=restored.text,
            tokens=restored.tokens,
            copied=tuple(piece.source is not None for piece in pieces),
            source_positions=tuple(piece.source for piece in pieces),
            oov=tuple(id_ >= len(self.bundle.vocab) for id_ in hypothesis.ids),
            log_probs=hypothesis.token_log_probs[: len(pieces)],  # without that of EOS
            generated_part=tuple(part.generated for part in parts),
            copied_part=tuple(part.copied for part in parts),
            p_gen=tuple(p_gen),
            attention=attention.numpy(),
            document=read.document,
            source_tokens=tuple(token.text for token in read.tokens),
            source_spans=tuple((token.start, token.end) for token in read.tokens),
            truncated=read.truncated,
            unfamiliar=read.unfamiliar,
            score=hypothesis.score,
            stop=hypothesis.stop,
        )


class Parts(NamedTuple):
    """The two terms that a word's probability is the sum of."""

    generated: float
    copied: float


def mixture_parts(attention_on_word: float, p_gen: float, log_prob: float) -> Parts:
    """A word's probability, parted by where it came from.  See et al. 2017, eq. 9.

    Search keeps the sum and the attention; what pointing did not give, the vocabulary did.
    """
    probability = exp(log_prob)
    copied = min((1 - p_gen) * attention_on_word, probability)
    return Parts(probability - copied, copied)
