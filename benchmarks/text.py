"""From text to ids, documents a second; and ROUGE, pairs a second, against rouge-score itself."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import cycle, groupby, islice
from operator import itemgetter

from rouge_score.rouge_scorer import RougeScorer

from benchmarks.equality import NotEqualError
from benchmarks.measure import interleaved
from benchmarks.pairs import docstrings
from benchmarks.report import Figures, Result
from pgsum.data.prepare import encode_rows, tokenize_rows
from pgsum.metrics.rouge import METRICS, Rouge
from pgsum.text.sentences import split_sentences

WORDS = 60
PROCESSES = 2
THEIRS, OURS, OURS_PARALLEL = "rouge-score", "pgsum", f"pgsum, {PROCESSES} processes"


def measure_encoding(*, repeats: int, quick: bool) -> Result:
    """What `pgsum train` does to each pair before it trains, in one process."""
    corpus = docstrings()
    text, vocab = corpus.config.text, corpus.prepared.vocab
    rows = corpus.corpus.train[: 100 if quick else 2000]

    def call() -> None:
        encode_rows(tokenize_rows(rows, text=text), vocab=vocab, text=text)

    documents = len(rows["document"])
    characters = sum(map(len, rows["document"]))
    timings = interleaved({"pgsum": call}, repeats)
    return Result(
        name="tokenize",
        unit="document",
        details={"documents": documents, "characters": characters},
        sides={side: Figures(timing.times(1 / documents)) for side, timing in timings.items()},
    )


def measure_rouge(*, repeats: int, quick: bool) -> Result:
    """ROUGE-1, -2, -L and -Lsum with stems, once the scores proved equal.

    rouge-score is slow, so it gets fewer pairs; a process more is worth its start only for many.
    """
    few, many = (20, 40) if quick else (500, 8192)
    pairs = list(islice(cycle(excerpts(docstrings().corpus.train["document"])), many))
    predictions = [prediction for prediction, _ in pairs]
    references = [[reference] for _, reference in pairs]
    theirs = RougeScorer(METRICS, use_stemmer=True)
    ours = Rouge("rouge155", stemmer="nltk", sentences="newline")

    def score_theirs() -> list[dict[str, tuple[float, ...]]]:
        return [theirs.score(reference, prediction) for prediction, reference in pairs[:few]]

    def score_ours(*, workers: int) -> list[dict[str, tuple[float, ...]]]:
        return ours.score_all(predictions, references, workers=workers)

    if score_theirs() != score_ours(workers=1)[:few]:
        raise NotEqualError("ROUGE differs from rouge-score's.")
    timings = interleaved(
        {
            THEIRS: score_theirs,
            OURS: partial(score_ours, workers=1),
            OURS_PARALLEL: partial(score_ours, workers=PROCESSES),
        },
        repeats,
    )
    numbers = {THEIRS: few, OURS: many, OURS_PARALLEL: many}
    return Result(
        name="rouge",
        unit="pair",
        details={"pairs": numbers, "words of a text": WORDS},
        sides={side: Figures(timing.times(1 / numbers[side])) for side, timing in timings.items()},
        baseline=THEIRS,
        checks={"scores compared": few * len(METRICS)},
    )


def excerpts(documents: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Of each document that has them, its first words and the ones after, a sentence a line."""
    for document in documents:
        words = [
            (number, word)
            for number, sentence in enumerate(split_sentences(document))
            for word in sentence.split()
        ]
        if len(words) >= 2 * WORDS:
            yield _lines(words[:WORDS]), _lines(words[WORDS : 2 * WORDS])


def _lines(words: Sequence[tuple[int, str]]) -> str:
    sentences = groupby(words, key=itemgetter(0))
    return "\n".join(" ".join(word for _, word in sentence) for _, sentence in sentences)
