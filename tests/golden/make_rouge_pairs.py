"""Writes rouge_pairs.jsonl: 500 pairs of every kind, with the scores that rouge-score 0.1.2 gives.

    python tests/golden/make_rouge_pairs.py

The file is frozen, so that a new version of rouge-score, of NLTK or of the rules for sentences
cannot move a score unseen. A row has the kind, both texts, and for each way to find sentences the
precision, recall and F1 of each metric in a row. For `rule` rouge-score is given the sentences a
line each.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

from rouge_score.rouge_scorer import RougeScorer

from pgsum.metrics.rouge import METRICS, Rouge

PAIRS = Path(__file__).with_name("rouge_pairs.jsonl")

ENGLISH = (
    "the a of to in and he she it was were is has had said says police officer officers killed"
    " killing city cities running runner ran happily happiness relational conditional theories"
    " studies studied 1,000 3.5 U.S. isn't mother-in-law UPPER Case children mice better"
)
UNICODE = (
    "café cafe\u0301 naïve Zürich Straße İstanbul ﬁnal 今天发布iPhone 明天召回iPhone Привет мир"
    " हिन्दी ภาษา 😀 ½ x² ٣ 東京 ラーメン \u200b\u00a0 \u2028 ’quoted’ —"
)
BREAKS = {"line": "\n", "crlf": "\r\n", "markers": " <n> ", "see": " </s> <s> ", "rule": " "}


def pairs() -> Iterator[tuple[str, str, str]]:
    """Kind, prediction and reference."""
    random = Random(20171130)
    english, others = ENGLISH.split(" "), UNICODE.split(" ")
    for text in ("", " ", "\n", "...", "\r\n \r\n"):
        for other in ("", "police killed the gunman", "\n"):
            yield "empty", text, other
            yield "empty", other, text
    for _ in range(40):
        yield "one word", random.choice(english), random.choice([*english, "police officer"])
    for _ in range(80):
        yield "unicode", _words(random, others + english, 12), _words(random, others, 12)
    for _ in range(30):
        text = _sentences(random, "\n")
        yield "identical", text, text
    for _ in range(20):
        yield "repeated", _words(random, english[:3], 40), _words(random, english[:4], 30)
    for kind, end in BREAKS.items():
        for _ in range(60):
            yield kind, _sentences(random, end), _sentences(random, end)


def scores(prediction: str, reference: str) -> list[float]:
    """What rouge-score gives."""
    found = RougeScorer(METRICS, use_stemmer=True).score(reference, prediction)
    return [float(value) for metric in METRICS for value in found[metric]]


def row(kind: str, prediction: str, reference: str) -> dict[str, object]:
    by_line = ["\n".join(Rouge().lines(text)) for text in (prediction, reference)]
    return {
        "kind": kind,
        "prediction": prediction,
        "reference": reference,
        "newline": scores(prediction, reference),
        "rule": scores(*by_line),
    }


def _words(random: Random, known: list[str], most: int) -> str:
    return " ".join(random.choices(known, k=random.randint(1, most)))


def _sentences(random: Random, end: str) -> str:
    known = ENGLISH.split(" ")
    count = random.randint(1, 5)
    sentences = [_words(random, known, 14).capitalize() + "." for _ in range(count)]
    return end.join(sentences) + end * random.randint(0, 1)


if __name__ == "__main__":
    rows = [json.dumps(row(*pair), ensure_ascii=True) for pair in pairs()]
    PAIRS.write_text("\n".join(rows) + "\n", encoding="ascii")
