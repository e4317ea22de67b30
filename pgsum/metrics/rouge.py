"""ROUGE-1, -2, -L and -Lsum of texts in any script, with the signature of how they were counted.

The reference is rouge-score 0.1.2: it scores the n-grams, and with its own sentence breaks every
score equals its own. What it leaves to the caller is decided here: words, stems, sentences, several
references. Knows strings and single examples; means and intervals are `bootstrap`'s.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import chain
from statistics import fmean
from typing import NamedTuple

from rouge_score.rouge_scorer import RougeScorer
from rouge_score.scoring import fmeasure

import pgsum
from pgsum.errors import ConfigError
from pgsum.metrics.lcs import lcs_length, union_lcs_length
from pgsum.metrics.stemming import STEMMERS
from pgsum.metrics.tokens import TOKENIZERS, summary_sentences, text_lines, tokens
from pgsum.parallel import map_in_processes

METRICS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
SENTENCES = ("rule", "newline")
MULTI = ("max", "mean", "jackknife")

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
    `newline` is a sentence a line, as rouge-score has it; `rule` is that of `summary_sentences`.
    `multi` says what becomes of the scores against several references: for each metric

    - `max`: that with the highest F1, as in rouge-score;
    - `mean`: their mean;
    - `jackknife`: the mean, over leaving out each reference once, of the best of the others, as in
      ROUGE-1.5.5 (Lin 2004, section 2.1): so a person who wrote one of the references, and is
      scored by the others, can be compared with a system.

    ConfigError where these do not go together, or the tokenizer's package is missing.
    """

    def __init__(
        self,
        tokenizer: str = "rouge155",
        *,
        stemmer: str | None = None,
        sentences: str = "rule",
        multi: str = "max",
    ) -> None:
        self.tokenizer = _one_of(TOKENIZERS, tokenizer, "ROUGE tokenizer")
        stemmer = stemmer or ("nltk" if tokenizer == "rouge155" else "none")
        self.stemmer = _one_of(STEMMERS, stemmer, "ROUGE stemmer")
        self.sentences = _one_of(SENTENCES, sentences, "way to find sentences for ROUGE")
        self.multi = _one_of(MULTI, multi, "way to score against several references")
        if tokenizer == "char" and stemmer != "none":
            raise ConfigError(
                f"The ROUGE tokenizer char takes single characters, which the stemmer {stemmer} "
                "cannot stem.",
                hint="leave the stemmer out, or use the tokenizer unicode",
            )
        self.tokenize("")  # a missing package is told of before anything slow

    def score(self, prediction: str, references: Sequence[str]) -> Scores:
        """The score against all `references`, by `multi`; an empty text scores 0.

        ValueError if there are no references.
        """
        return self.combine(self.score_references(prediction, references))

    def score_references(self, prediction: str, references: Sequence[str]) -> list[Scores]:
        """The score against each of `references` alone."""
        return [self._score(prediction, reference) for reference in references]

    def combine(self, each: Sequence[Scores]) -> Scores:
        """One score of those against each reference; ValueError if there are none."""
        if not each:
            raise ValueError("The list of references is empty.")
        return {metric: self._combine([scores[metric] for scores in each]) for metric in METRICS}

    def score_all(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        *,
        workers: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Scores]:
        """`score` of each prediction; the rest is as in `score_all_references`."""
        each = self.score_all_references(
            predictions, references, workers=workers, progress=progress
        )
        return [self.combine(scores) for scores in each]

    def score_all_references(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        *,
        workers: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[list[Scores]]:
        """`score_references` of each prediction, in order, whatever the number of processes.

        `workers` is as many as there are cores where not given, and fewer for few pairs.
        `progress` is called now and then with the pairs done and their number.
        """
        pairs = list(zip(predictions, references, strict=True))
        return map_in_processes(
            self._score_chunk,
            pairs,
            chunk=_CHUNK,
            at_most=len(pairs) // _PAIRS_PER_WORKER,
            workers=workers,
            progress=progress,
        )

    def lines(self, text: str) -> list[str]:
        """The sentences of `text` for rougeLsum; none of them is empty."""
        return summary_sentences(text) if self.sentences == "rule" else text_lines(text)

    def tokenize(self, text: str) -> list[str]:
        """The words that are compared."""
        return tokens(text, tokenizer=self.tokenizer, stemmer=self.stemmer)

    def signature(self, references: Sequence[Sequence[str]], *, trials: int, seed: int) -> str:
        """All that a score depends on, in one line, after sacreBLEU's habit."""
        counts = {len(several) for several in references}
        fields = {
            "n": len(references),
            "nrefs": f"{min(counts)}-{max(counts)}" if len(counts) > 1 else max(counts, default=0),
            "multi": self.multi,
            "tok": f"jieba-{version('jieba')}" if self.tokenizer == "jieba" else self.tokenizer,
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

    def _score_chunk(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[list[Scores]]:
        return [self.score_references(*pair) for pair in pairs]

    def _combine(self, scores: Sequence[Score]) -> Score:
        if self.multi == "mean":
            return _mean(scores)
        if self.multi == "max" or len(scores) == 1:
            return _best(scores)
        return _mean([_best([*scores[:i], *scores[i + 1 :]]) for i in range(len(scores))])

    def _score(self, prediction: str, reference: str) -> Scores:
        predicted = [self.tokenize(line) for line in self.lines(prediction)]
        expected = [self.tokenize(line) for line in self.lines(reference)]
        all_predicted, all_expected = list(chain(*predicted)), list(chain(*expected))
        lengths = len(all_predicted), len(all_expected)
        ngrams = _NGRAMS.score(all_expected, all_predicted)
        return {
            "rouge1": Score(*ngrams["rouge1"]),
            "rouge2": Score(*ngrams["rouge2"]),
            "rougeL": _lcs_score(lcs_length(all_expected, all_predicted), *lengths),
            "rougeLsum": _lcs_score(union_lcs_length(expected, predicted), *lengths),
        }


class _Words:
    """To rouge-score a tokenizer, of texts that are words already."""

    def tokenize(self, words: list[str]) -> list[str]:
        return words


_NGRAMS = RougeScorer(["rouge1", "rouge2"], tokenizer=_Words())


def _best(scores: Sequence[Score]) -> Score:
    return max(scores, key=lambda score: score.f)


def _mean(scores: Sequence[Score]) -> Score:
    return Score(*(fmean(values) for values in zip(*scores, strict=True)))


def _lcs_score(hits: int, predicted: int, expected: int) -> Score:
    precision, recall = hits / max(predicted, 1), hits / max(expected, 1)
    return Score(precision, recall, fmeasure(precision, recall))


def _one_of(known: Sequence[str], name: str, what: str) -> str:
    if name not in known:
        raise ConfigError(f"{name!r} is no {what}; there are {', '.join(known)}.")
    return name
