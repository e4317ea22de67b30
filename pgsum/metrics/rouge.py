"""ROUGE-1, -2, -L and -Lsum of texts in any script, with the signature of how they were counted.

The reference is rouge-score 0.1.2: it scores the n-grams, and with its own sentence breaks every
score equals its own. What it leaves to the caller is decided here: words, stems, sentences, several
references. Knows strings and single examples; means and intervals are `bootstrap`'s.
"""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version
from itertools import chain
from multiprocessing import get_context
from os import cpu_count
from signal import SIG_IGN, SIGINT, signal
from typing import NamedTuple

from rouge_score.rouge_scorer import RougeScorer
from rouge_score.scoring import fmeasure

import pgsum
from pgsum.errors import ConfigError, PgsumError
from pgsum.metrics.lcs import lcs_length, union_lcs_length
from pgsum.metrics.tokens import STEMMERS, TOKENIZERS, tokens
from pgsum.text.sentences import split_sentences

METRICS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
SENTENCES = ("rule", "newline")

# Sentence breaks of PEGASUS, of PreSumm, and of See et al.'s files.
_MARKER = re.compile("<n>|<q>|</?s>")
# Below this, starting a second process takes longer than it saves.
_PAIRS_PER_WORKER = 4000
_CHUNK = 256


class Score(NamedTuple):
    """Precision, recall and F1, from 0 to 1."""

    p: float
    r: float
    f: float


Scores = dict[str, Score]
"""By metric, in the order of `METRICS`."""


class Rouge:
    """One way to count ROUGE.

    `stemmer` is `nltk` (rouge-score's Porter) with the tokenizer `rouge155` and `none` with the
    others, where not given; `char` goes with `none` only. `sentences` matters to rougeLsum:
    `newline` is a sentence a line, as rouge-score has it; `rule` also takes the markers <n>, <q>,
    <s> and </s> for line ends, and splits a text that has but one line by `split_sentences`.
    """

    def __init__(
        self,
        tokenizer: str = "rouge155",
        *,
        stemmer: str | None = None,
        sentences: str = "rule",
    ) -> None:
        self.tokenizer = _one_of(TOKENIZERS, tokenizer, "ROUGE tokenizer")
        stemmer = stemmer or ("nltk" if tokenizer == "rouge155" else "none")
        self.stemmer = _one_of(STEMMERS, stemmer, "ROUGE stemmer")
        self.sentences = _one_of(SENTENCES, sentences, "way to find sentences for ROUGE")
        if tokenizer == "char" and stemmer != "none":
            raise ConfigError(
                f"The ROUGE tokenizer char takes single characters, which the stemmer {stemmer} "
                "cannot stem.",
                hint="leave the stemmer out, or use the tokenizer unicode",
            )

    def score(self, prediction: str, references: Sequence[str]) -> Scores:
        """For each metric, the score against the reference with the highest F1, as in rouge-score.

        An empty text scores 0. ValueError if there are no references.
        """
        each = [self._score(prediction, reference) for reference in references]
        return {metric: max((s[metric] for s in each), key=lambda s: s.f) for metric in METRICS}

    def score_all(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        *,
        workers: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Scores]:
        """The score of each prediction, in order, whatever the number of processes.

        `workers` is as many as there are cores where not given, and fewer for few pairs.
        `progress` is called now and then with the pairs done and their number.
        """
        pairs = list(zip(predictions, references, strict=True))
        most = len(pairs) // _PAIRS_PER_WORKER
        workers = max(1, min(workers or cpu_count() or 1, most))
        chunks = [pairs[i : i + _CHUNK] for i in range(0, len(pairs), _CHUNK)]
        scores: list[Scores] = []
        # Spawned, not forked: the caller may hold a model and its threads. Ctrl-C is the caller's.
        pool = (
            ProcessPoolExecutor(workers, get_context("spawn"), signal, (SIGINT, SIG_IGN))
            if workers > 1
            else None
        )
        try:
            for scored in (pool.map if pool else map)(self._score_chunk, chunks):
                scores += scored
                if progress:
                    progress(len(scores), len(pairs))
        except BrokenProcessPool as error:
            raise PgsumError(
                f"A process that scored ROUGE died after {len(scores)} of {len(pairs)} pairs; "
                "it may have run out of memory.",
                hint="free some, or score with one process",
            ) from error
        finally:
            if pool:
                pool.shutdown(cancel_futures=True)
        return scores

    def lines(self, text: str) -> list[str]:
        """The sentences of `text` for rougeLsum; none of them is empty."""
        if self.sentences == "rule":
            text = _MARKER.sub("\n", text)
            if "\n" not in text.strip():
                return split_sentences(text)
        return [line for line in text.split("\n") if line]

    def tokenize(self, text: str) -> list[str]:
        """The words that are compared (what rouge-score asks of a tokenizer)."""
        return tokens(text, tokenizer=self.tokenizer, stemmer=self.stemmer)

    def signature(self, references: Sequence[Sequence[str]], *, trials: int, seed: int) -> str:
        """All that a score depends on, in one line, after sacreBLEU's habit."""
        counts = {len(several) for several in references}
        fields = {
            "n": len(references),
            "nrefs": f"{min(counts)}-{max(counts)}" if len(counts) > 1 else max(counts, default=0),
            "multi": "max",
            "tok": self.tokenizer,
            "stem": self.stemmer,
            "sent": "newline(pgsum-rule)" if self.sentences == "rule" else "newline",
            "lower": "yes",
            "unk": "kept",
            "detok": "none",
            "agg": "mean",
            "ci": f"bs{trials},seed{seed}",
            "impl": f"rouge-score {version('rouge-score')}",
            "pgsum": pgsum.__version__,
        }
        return "|".join(["ROUGE", *(f"{name}:{value}" for name, value in fields.items())])

    def _score_chunk(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[Scores]:
        return [self.score(prediction, references) for prediction, references in pairs]

    def _score(self, prediction: str, reference: str) -> Scores:
        prediction_lines, reference_lines = self.lines(prediction), self.lines(reference)
        ngrams = RougeScorer(["rouge1", "rouge2"], tokenizer=self).score(
            "\n".join(reference_lines), "\n".join(prediction_lines)
        )
        predicted = [self.tokenize(line) for line in prediction_lines]
        expected = [self.tokenize(line) for line in reference_lines]
        all_predicted, all_expected = list(chain(*predicted)), list(chain(*expected))
        lengths = len(all_predicted), len(all_expected)
        return {
            "rouge1": Score(*ngrams["rouge1"]),
            "rouge2": Score(*ngrams["rouge2"]),
            "rougeL": _lcs_score(lcs_length(all_expected, all_predicted), *lengths),
            "rougeLsum": _lcs_score(union_lcs_length(expected, predicted), *lengths),
        }


def _lcs_score(hits: int, predicted: int, expected: int) -> Score:
    precision, recall = hits / max(predicted, 1), hits / max(expected, 1)
    return Score(precision, recall, fmeasure(precision, recall))


def _one_of(known: Sequence[str], name: str, what: str) -> str:
    if name not in known:
        raise ConfigError(f"{name!r} is no {what}; there are {', '.join(known)}.")
    return name
