"""What is wrong with a corpus, found out before an hour is spent on it.

Reads a corpus as training would, but goes on where training would stop, and counts. Knows texts,
tokens and ids. Knows no model, and shows nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsum.baselines.lead import lead
from pgsum.config import Config, DataConfig, TextConfig
from pgsum.data.columns import Columns
from pgsum.data.prepare import Prepared, prepare
from pgsum.data.records import Pair, Repeats, is_blank
from pgsum.data.rows import BadRow
from pgsum.data.sources import Corpus, Unsorted, open_corpus, open_unsorted
from pgsum.data.splits import SPLITS
from pgsum.errors import DataError
from pgsum.metrics.rouge import Rouge
from pgsum.metrics.tokens import tokenizer_for
from pgsum.parallel import chunks_in_processes
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
    training would begin with. `notes` say in one sentence each what was left out.
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
    notes: tuple[str, ...] = ()


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
        return Check(corpus.name, rows, pairs, problem=error, notes=corpus.notes)
    return Check(
        corpus.name,
        rows,
        pairs,
        len(prepared.vocab),
        _words_by_split(prepared),
        _score_leads(prepared.validation),
        prepared,
        problem,
        corpus.notes,
    )


def _count_rows(unsorted: Unsorted) -> Rows:
    bad: Counter[str] = Counter()
    ids = Repeats()
    rows = empty_documents = empty_summaries = several = 0
    for record in unsorted.records:
        rows += 1
        if isinstance(record, BadRow):
            bad[record.reason] += 1
            continue
        pair = record.pair
        empty_documents += is_blank(pair.document)
        empty_summaries += any(map(is_blank, pair.references))
        several += len(pair.references) > 1
        ids.add(pair.id)
    return Rows(
        rows,
        dict(bad.most_common()),
        empty_documents,
        empty_summaries,
        several,
        ids.count(),
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
    earlier: dict[str, Table] = {}
    for split in SPLITS:
        pairs: Dataset | None = getattr(corpus, split)
        if pairs is None:
            continue

        def report(done: int, total: int, split: str = split) -> None:
            progress(f"looking at {split} pairs", done, total)

        tables = chunks_in_processes(
            _Examiner(pairs),
            range(len(pairs)),
            chunk=_CHUNK,
            at_most=len(pairs) // _PAIRS_PER_WORKER,
            workers=config.data.workers,
            progress=report,
        )
        facts, done = np.empty(len(pairs), _FACTS), 0
        for table in tables:
            facts[done : done + len(table)] = table
            done += len(table)
        found[split] = _sum_up(facts, earlier, config.text)
        earlier[split] = np.unique(facts["document"])
    return found


Table = np.ndarray[tuple[int], np.dtype[Any]]

# What there is to know of a pair, in 26 bytes: of a million pairs it is held at once.
_FACTS = np.dtype(
    [
        ("document", np.uint64),  # a digest that knows neither case nor blanks
        ("document_words", np.int32),
        ("summary_words", np.int32),
        ("document_tokens", np.int32),
        ("summary_tokens", np.int32),
        ("same", np.bool_),
        ("oddities", np.uint8),  # a bit for each of `ODDITIES`
    ]
)


@dataclass(frozen=True)
class _Examiner:
    """The facts of some pairs of a split, in whichever process."""

    pairs: "Dataset"

    def __call__(self, indices: Sequence[int]) -> Table:
        rows = self.pairs[indices[0] : indices[-1] + 1]
        facts = [
            _facts(document, references[0])
            for document, references in zip(rows["document"], rows["references"], strict=True)
        ]
        return np.array(facts, _FACTS)


def _facts(document: str, summary: str) -> tuple[int, ...]:
    document_words, summary_words = document.split(), summary.split()
    plain = " ".join(document_words).casefold()
    return (
        int.from_bytes(blake2b(plain.encode(), digest_size=8).digest()),
        len(document_words),
        len(summary_words),
        len(tokenize(document)),
        len(tokenize(summary)),
        plain == " ".join(summary_words).casefold(),
        sum(
            1 << bit
            for bit, oddity in enumerate(ODDITIES.values())
            if oddity.search(document) or oddity.search(summary)
        ),
    )


def _sum_up(facts: Table, earlier: Mapping[str, Table], text: TextConfig) -> Pairs:
    documents = facts["document"]
    document_tokens, summary_tokens = facts["document_tokens"], facts["summary_tokens"]
    return Pairs(
        pairs=len(facts),
        document_words=_spread(facts["document_words"]),
        summary_words=_spread(facts["summary_words"]),
        document_tokens=_spread(document_tokens),
        summary_tokens=_spread(summary_tokens),
        cut_documents=_number(document_tokens > text.max_source_tokens),
        cut_summaries=_number(summary_tokens > text.max_target_tokens),
        repeated_documents=len(facts) - len(np.unique(documents)),
        leaked={split: _number(np.isin(documents, others)) for split, others in earlier.items()},
        summary_is_document=_number(facts["same"]),
        summary_is_longer=_number(summary_tokens > document_tokens),
        oddities={
            name: _number(facts["oddities"] & (1 << bit)) for bit, name in enumerate(ODDITIES)
        },
    )


def _number(which: Table) -> int:
    return int(np.count_nonzero(which))


def _spread(numbers: Table) -> Spread:
    shares = (0.05, 0.5, 0.95, 1)
    return Spread(*map(int, np.quantile(numbers, shares, method="inverted_cdf")))


def _words_by_split(prepared: Prepared) -> dict[str, Words]:
    def columns(name: str) -> Iterator[Table]:  # a batch at a time, not all tokens there are
        for chunk in prepared.train.data.column(name).chunks:
            yield chunk.flatten().to_numpy()

    examples, vocab = prepared.validation_examples, len(prepared.vocab)
    sources = (example.source.source_ids for example in examples)
    targets = (example.target_extended_ids for example in examples)
    return {
        "train": _count_words(columns("source_ids"), columns("target_extended_ids"), vocab),
        "validation": _count_words(map(np.array, sources), map(np.array, targets), vocab),
    }


def _count_words(sources: Iterable[Table], targets: Iterable[Table], vocab: int) -> Words:
    document_tokens = document_oovs = summary_tokens = unknown = copyable = 0
    for source in sources:
        document_tokens += len(source)
        document_oovs += _number(source == UNK_ID)
    for target in targets:
        summary_tokens += _number(target != EOS_ID)
        unknown += _number(target == UNK_ID)
        copyable += _number(target >= vocab)
    return Words(document_tokens, document_oovs, summary_tokens, unknown + copyable, copyable)


def _score_leads(pairs: Sequence[Pair]) -> Lead:
    references = [pair.references for pair in pairs]
    rouge = Rouge(tokenizer_for(chain.from_iterable(references)))
    scores = {}
    for name, k in LEADS.items():
        each = [rouge.score(lead(pair.document, k), pair.references) for pair in pairs]
        scores[name] = {metric: fmean(one[metric].f for one in each) for metric in LEAD_METRICS}
    return Lead(len(pairs), scores, rouge.signature(references, trials=0, seed=0))
