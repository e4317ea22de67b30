"""What is wrong with a corpus, found out before an hour is spent on it.

Reads a corpus as training would, but goes on where training would stop, and counts. Knows texts,
tokens and ids. Knows no model, and shows nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pgsum.baselines.lead import lead
from pgsum.config import Config, DataConfig, TextConfig
from pgsum.data.columns import Columns
from pgsum.data.prepare import Prepared, prepare
from pgsum.data.records import Pair, is_blank
from pgsum.data.rows import BadRow
from pgsum.data.sources import SPLITS, Corpus, Unsorted, open_corpus, open_unsorted
from pgsum.errors import DataError
from pgsum.metrics.rouge import Rouge
from pgsum.metrics.tokens import tokenizer_for
from pgsum.parallel import map_in_processes
from pgsum.text.tokenize import tokenize
from pgsum.text.vocab import EOS_ID, UNK_ID

if TYPE_CHECKING:
    from datasets import Dataset

Progress = Callable[[str, int, int], object]
"""Called with what is done, how many of it, and of how many."""

LEADS = {"lead-1": 1, "lead-3": 3}
LEAD_METRICS = ("rouge1", "rouge2", "rougeL")
ODDITIES = {
    "replacement characters": re.compile("\ufffd"),
    "UTF-8 read as Latin-1": re.compile("[ÂÃ][\x80-\xbf]|â€|â\x80"),
    "control characters": re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"),
    "HTML entities": re.compile(r"&(?:[a-z]{2,6}|#\d{1,6}|#x[0-9a-f]{1,5});", re.IGNORECASE),
}
"""What tells that a text was read or cleaned badly."""


def _ignore(what: str, done: int, total: int) -> None:
    pass


_LEAD_PAIRS = 500
_CHUNK = 512
_PAIRS_PER_WORKER = 10_000  # with fewer, starting a second process takes longer than it saves


@dataclass(frozen=True)
class Rows:
    """What the file of a split holds, before anything is left out."""

    rows: int
    bad: Mapping[str, int]
    """Rows that cannot be used, by the reason."""
    empty_documents: int
    empty_summaries: int
    several_references: int
    repeated_ids: int
    columns: Columns | None
    """None of text files."""


@dataclass(frozen=True)
class Spread:
    """Of numbers: which 5%, half, 95% and all of them do not exceed."""

    p5: int
    p50: int
    p95: int
    p100: int


@dataclass(frozen=True)
class Pairs:
    """The pairs of a split that can be used. A summary is the first of a document's references."""

    pairs: int
    document_words: Spread
    summary_words: Spread
    document_tokens: Spread
    summary_tokens: Spread
    cut_documents: int
    """Longer than `text.max_source_tokens`."""
    cut_summaries: int
    """Longer than `text.max_target_tokens`."""
    repeated_documents: int
    """That an earlier pair of this split has, too."""
    leaked: Mapping[str, int]
    """Pairs whose document another split has, too, by that split: of those that come before."""
    summary_is_document: int
    summary_is_longer: int
    """Than its document, in tokens."""
    oddities: Mapping[str, int]
    """Pairs with each of `ODDITIES`."""


@dataclass(frozen=True)
class Words:
    """What the vocabulary that training would build leaves out of the pairs of a split, in tokens.

    Of documents and summaries as they are cut; `copyable_oovs` are the OOVs of summaries that stand
    in their documents, so that a pointer can say them. The vocabulary is counted on training pairs,
    so only others show what new text is like: with `text.min_count=2`, a training summary has no
    OOV that its document has, too, unless the vocabulary is full.
    """

    document_tokens: int
    document_oovs: int
    summary_tokens: int
    summary_oovs: int
    copyable_oovs: int


@dataclass(frozen=True)
class Lead:
    """How well the first sentences do as summaries of validation documents, F1 from 0 to 1."""

    pairs: int
    scores: Mapping[str, Mapping[str, float]]
    """By `LEADS`, then by `LEAD_METRICS`."""
    signature: str


@dataclass(frozen=True)
class Check:
    """All that was found out; the later parts are missing where the corpus has no pair to train on.

    `problem` is why training would stop with these settings, where it would; `prepared` is what
    training would begin with.
    """

    name: str
    rows: Mapping[str, Rows]
    pairs: Mapping[str, Pairs]
    vocab: int | None = None
    """Words that training would know, special tokens included."""
    words: Mapping[str, Words] = field(default_factory=dict)
    """Of all training pairs, and of a sample for validation."""
    lead: Lead | None = None
    prepared: Prepared | None = None
    problem: DataError | None = None


def check(config: Config, *, progress: Progress = _ignore) -> Check:
    """Everything there is to say of the corpus that `config` names.

    Raises DataError where a file cannot be read at all, and ConfigError where none is named.
    """
    rows = {unsorted.split: _count_rows(unsorted) for unsorted in open_unsorted(config.data)}
    corpus, problem = _open(config.data, progress)
    if corpus is None:
        return Check(config.data.name, rows, {}, problem=problem)
    pairs = _examine_splits(corpus, config, progress)
    try:
        prepared = prepare(
            corpus, config.text, validation_pairs=_LEAD_PAIRS, workers=config.data.workers
        )
    except DataError as error:
        return Check(corpus.name, rows, pairs, problem=error)
    return Check(
        corpus.name,
        rows,
        pairs,
        len(prepared.vocab),
        _words_by_split(prepared),
        _score_leads(prepared.validation),
        prepared,
        problem,
    )


def _count_rows(unsorted: Unsorted) -> Rows:
    bad: Counter[str] = Counter()
    ids: set[str] = set()
    rows = empty_documents = empty_summaries = several = repeated = 0
    for record in unsorted.records:
        rows += 1
        if isinstance(record, BadRow):
            bad[record.reason] += 1
            continue
        pair = record.pair
        empty_documents += is_blank(pair.document)
        empty_summaries += any(map(is_blank, pair.references))
        several += len(pair.references) > 1
        repeated += pair.id in ids
        ids.add(pair.id)
    return Rows(
        rows,
        dict(bad.most_common()),
        empty_documents,
        empty_summaries,
        several,
        repeated,
        unsorted.tally.columns,
    )


def _open(data: DataConfig, progress: Progress) -> tuple[Corpus | None, DataError | None]:
    """The corpus, and why training would stop at it; where it would, what is left of it."""

    def report(done: int, total: int) -> None:
        progress("reading the corpus", done, total)

    problem = None
    for tolerant in (data, replace(data, on_bad="skip", reference="first")):
        try:
            return open_corpus(tolerant, progress=report), problem
        except DataError as error:
            problem = error
    return None, problem


def _examine_splits(corpus: Corpus, config: Config, progress: Progress) -> dict[str, Pairs]:
    found: dict[str, Pairs] = {}
    earlier: dict[str, set[bytes]] = {}
    for split in SPLITS:
        pairs: Dataset | None = getattr(corpus, split)
        if pairs is None:
            continue

        def report(done: int, total: int, split: str = split) -> None:
            progress(f"looking at {split} pairs", done, total)

        facts = map_in_processes(
            _Examiner(pairs),
            range(len(pairs)),
            chunk=_CHUNK,
            at_most=len(pairs) // _PAIRS_PER_WORKER,
            workers=config.data.workers,
            progress=report,
        )
        found[split] = _sum_up(facts, earlier, config.text)
        earlier[split] = {fact.document for fact in facts}
    return found


class _Facts(NamedTuple):
    """What there is to know of one pair."""

    document: bytes
    """A digest that knows neither case nor blanks."""
    document_words: int
    summary_words: int
    document_tokens: int
    summary_tokens: int
    same: bool
    oddities: tuple[str, ...]


@dataclass(frozen=True)
class _Examiner:
    """The facts of some pairs of a split, in whichever process."""

    pairs: "Dataset"

    def __call__(self, indices: Sequence[int]) -> list[_Facts]:
        rows = self.pairs[indices[0] : indices[-1] + 1]
        return [
            _facts(document, references[0])
            for document, references in zip(rows["document"], rows["references"], strict=True)
        ]


def _facts(document: str, summary: str) -> _Facts:
    document_words, summary_words = document.split(), summary.split()
    plain = " ".join(document_words).casefold()
    return _Facts(
        document=blake2b(plain.encode(), digest_size=16).digest(),
        document_words=len(document_words),
        summary_words=len(summary_words),
        document_tokens=len(tokenize(document)),
        summary_tokens=len(tokenize(summary)),
        same=plain == " ".join(summary_words).casefold(),
        oddities=tuple(
            name
            for name, oddity in ODDITIES.items()
            if oddity.search(document) or oddity.search(summary)
        ),
    )


def _sum_up(facts: Sequence[_Facts], earlier: Mapping[str, set[bytes]], text: TextConfig) -> Pairs:
    oddities = Counter(name for fact in facts for name in fact.oddities)
    return Pairs(
        pairs=len(facts),
        document_words=_spread(fact.document_words for fact in facts),
        summary_words=_spread(fact.summary_words for fact in facts),
        document_tokens=_spread(fact.document_tokens for fact in facts),
        summary_tokens=_spread(fact.summary_tokens for fact in facts),
        cut_documents=sum(fact.document_tokens > text.max_source_tokens for fact in facts),
        cut_summaries=sum(fact.summary_tokens > text.max_target_tokens for fact in facts),
        repeated_documents=len(facts) - len({fact.document for fact in facts}),
        leaked={
            split: sum(fact.document in documents for fact in facts)
            for split, documents in earlier.items()
        },
        summary_is_document=sum(fact.same for fact in facts),
        summary_is_longer=sum(fact.summary_tokens > fact.document_tokens for fact in facts),
        oddities={name: oddities[name] for name in ODDITIES},
    )


def _spread(numbers: Iterable[int]) -> Spread:
    shares = (0.05, 0.5, 0.95, 1)
    found = np.quantile(np.fromiter(numbers, int), shares, method="inverted_cdf")
    return Spread(*map(int, found))


Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


def _words_by_split(prepared: Prepared) -> dict[str, Words]:
    def of_column(name: str) -> Ids:
        chunks = prepared.train.data.column(name).chunks
        return np.concatenate([chunk.flatten().to_numpy() for chunk in chunks])

    examples, vocab = prepared.validation_examples, len(prepared.vocab)
    sources = (example.source.source_ids for example in examples)
    targets = (example.target_extended_ids for example in examples)
    return {
        "train": _count_words(of_column("source_ids"), of_column("target_extended_ids"), vocab),
        "validation": _count_words(_joined(sources), _joined(targets), vocab),
    }


def _joined(several: Iterable[Sequence[int]]) -> Ids:
    return np.fromiter(chain.from_iterable(several), np.int64)


def _count_words(source: Ids, target: Ids, vocab: int) -> Words:
    target = target[target != EOS_ID]
    copyable = int((target >= vocab).sum())
    return Words(
        document_tokens=len(source),
        document_oovs=int((source == UNK_ID).sum()),
        summary_tokens=len(target),
        summary_oovs=int((target == UNK_ID).sum()) + copyable,
        copyable_oovs=copyable,
    )


def _score_leads(pairs: Sequence[Pair]) -> Lead:
    references = [pair.references for pair in pairs]
    rouge = Rouge(tokenizer_for(chain.from_iterable(references)))
    scores = {}
    for name, k in LEADS.items():
        each = [rouge.score(lead(pair.document, k), pair.references) for pair in pairs]
        scores[name] = {metric: fmean(one[metric].f for one in each) for metric in LEAD_METRICS}
    return Lead(len(pairs), scores, rouge.signature(references, trials=0, seed=0))
