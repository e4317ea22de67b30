"""A corpus made ready for training: tokenised once in parallel, counted, turned into ids.

The one place where raw text becomes training data. Each stage lies in the cache as Arrow under a
fingerprint of all it depends on, so a second run on the same text and settings starts at once.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from pgsum.config import TextConfig
from pgsum.data import cache
from pgsum.data.example import Example, Lengths, Source, encode_example
from pgsum.data.records import Pair
from pgsum.data.sources import Corpus
from pgsum.errors import DataError
from pgsum.parallel import chunks_in_processes
from pgsum.text.surface import Surface, SurfaceCounts
from pgsum.text.tokenize import lookup_form, tokenize
from pgsum.text.vocab import Vocab

if TYPE_CHECKING:
    from datasets import Dataset

_FORMAT = "2"  # raise it whenever the same text should become other ids
_BATCH = 256
# What is usual shows soon; a larger corpus would only take longer.
_SURFACE_PAIRS = 100_000
_SURFACE_BATCH = 1024

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Prepared:
    """What training needs of a corpus.

    `train` has the columns of an `Example` and the pair's id; `validation` is a fixed sample, as
    text and as ids; `notes` say in one sentence each what was cut.
    """

    vocab: Vocab
    surface: Surface
    train: "Dataset"
    source_lengths: Lengths
    target_lengths: Lengths
    validation: tuple[Pair, ...]
    validation_examples: tuple[Example, ...]
    notes: tuple[str, ...]


def prepare(
    corpus: Corpus,
    text: TextConfig,
    *,
    validation_pairs: int,
    workers: int | None = None,
    vocab: Vocab | None = None,
    surface: Surface | None = None,
) -> Prepared:
    """Tokens, vocabulary and ids of a corpus; `vocab` and `surface` are learned where not given."""
    folder = cache.folder()
    workers = min(workers or os.cpu_count() or 1, 1 + len(corpus.train) // (4 * _BATCH))
    settings = json.dumps(asdict(text), sort_keys=True)
    key = _digest(_FORMAT, corpus.fingerprint, str(len(corpus.train)), settings)
    tokens = _map(corpus.train, tokenize_rows, folder / f"{key}-tokens.arrow", workers, text=text)
    if not len(tokens):
        raise DataError("There is no pair to train on.", hint="look at the corpus's files")
    if vocab is None:
        vocab = Vocab.build(count_forms(tokens), size=text.vocab_size, min_count=text.min_count)
    if surface is None:
        surface = learn_surface(
            corpus.train,
            vocab,
            text,
            path=folder / f"{_digest(key, vocab.fingerprint)}-surface.json",
            workers=workers,
        )
    encoded = _map(
        tokens,
        encode_rows,
        folder / f"{_digest(key, vocab.fingerprint)}-ids.arrow",
        workers,
        vocab=vocab,
        text=text,
    )
    validation = validation_sample(corpus.validation, validation_pairs)
    return Prepared(
        vocab=vocab,
        surface=surface,
        train=encoded,
        source_lengths=_lengths(encoded, "source_ids"),
        target_lengths=_lengths(encoded, "target_extended_ids"),
        validation=tuple(validation),
        validation_examples=tuple(example_of_pair(pair, vocab, text) for pair in validation),
        notes=tuple(_notes(len(corpus.train), encoded, text)),
    )


def tokenize_rows(rows: Mapping[str, Sequence[Any]], *, text: TextConfig) -> Columns:
    """Lookup forms of documents and first references, cut, and whether something was cut off.

    A document without a single token is left out.
    """
    columns: Columns = {
        "id": [],
        "source_forms": [],
        "target_forms": [],
        "source_cut": [],
        "target_cut": [],
    }
    for id_, document, references in zip(
        rows["id"], rows["document"], rows["references"], strict=True
    ):
        source, source_cut = _forms(document, text.max_source_tokens, text)
        target, target_cut = _forms(references[0], text.max_target_tokens, text)
        if source:
            values = id_, source, target, source_cut, target_cut
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value)
    return columns


def encode_rows(rows: Mapping[str, Sequence[Any]], *, vocab: Vocab, text: TextConfig) -> Columns:
    """The columns of an `Example` for rows of forms, and their ids."""
    examples = [
        encode_example(vocab, source, target, target_cut=cut)
        for source, target, cut in zip(
            rows["source_forms"], rows["target_forms"], rows["target_cut"], strict=True
        )
    ]
    return {
        "id": list(rows["id"]),
        "source_ids": [example.source.source_ids for example in examples],
        "source_extended_ids": [example.source.source_extended_ids for example in examples],
        "source_oovs": [list(example.source.source_oovs) for example in examples],
        "target_input_ids": [example.target_input_ids for example in examples],
        "target_extended_ids": [example.target_extended_ids for example in examples],
        "source_cut": list(rows["source_cut"]),
        "target_cut": list(rows["target_cut"]),
    }


def example_of_row(row: Mapping[str, Any]) -> Example:
    """The example that a row of `encode_rows` holds."""
    return Example(
        Source(row["source_ids"], row["source_extended_ids"], tuple(row["source_oovs"])),
        row["target_input_ids"],
        row["target_extended_ids"],
    )


def example_of_pair(pair: Pair, vocab: Vocab, text: TextConfig) -> Example:
    """A pair as training would see it, by its first reference."""
    source, _ = _forms(pair.document, text.max_source_tokens, text)
    target, target_cut = _forms(pair.references[0], text.max_target_tokens, text)
    return encode_example(vocab, source, target, target_cut=target_cut)


def count_forms(tokens: "Dataset") -> Counter[str]:
    """How often each form occurs, on both sides together."""
    counts: Counter[str] = Counter()
    for column in ("source_forms", "target_forms"):
        for chunk in tokens.data.column(column).chunks:
            for entry in pc.value_counts(chunk.flatten()).to_pylist():
                counts[entry["values"]] += entry["counts"]
    return counts


def learn_surface(
    pairs: "Dataset", vocab: Vocab, text: TextConfig, *, path: Path, workers: int
) -> Surface:
    """How words are written and spaced, from the raw text of the first `_SURFACE_PAIRS` pairs.

    Kept at `path`, whose name tells all that the result depends on.
    """
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError):  # cut short: learned anew
        return Surface.from_dict(json.loads(path.read_text(encoding="utf-8")))
    counts = SurfaceCounts(lowercase=text.lowercase)
    for counted in chunks_in_processes(
        partial(count_surface, pairs=pairs, text=text),
        range(min(len(pairs), _SURFACE_PAIRS)),
        chunk=_SURFACE_BATCH,
        at_most=workers,
        workers=workers,
    ):
        counts.update(counted)
    surface = counts.learned(vocab)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    with _into_cache(path):
        unfinished.write_text(json.dumps(surface.to_dict()), encoding="utf-8")
        unfinished.replace(path)
    return surface


def count_surface(places: Sequence[int], *, pairs: "Dataset", text: TextConfig) -> SurfaceCounts:
    """What the pairs at some places, one after another, show of how words are written."""
    rows = pairs[places[0] : places[-1] + 1]
    counts = SurfaceCounts(lowercase=text.lowercase)
    for document, references in zip(rows["document"], rows["references"], strict=True):
        counts.add(document, references)
    return counts


def validation_sample(pairs: "Dataset", size: int) -> list[Pair]:
    """A sample that does not depend on the order of the pairs: the lowest hashes.

    A document without a single token is not chosen.
    """
    hashes = (
        (hashlib.sha256(document.encode()).digest(), place)
        for place, document in enumerate(pairs["document"])
        if tokenize(document, max_tokens=1)
    )
    rows = pairs.select(sorted(place for _, place in nsmallest(size, hashes)))
    return [Pair(r["id"], r["document"], tuple(r["references"])) for r in rows]


def _forms(raw: str, limit: int, text: TextConfig) -> tuple[list[str], bool]:
    tokens = tokenize(raw, max_tokens=limit + 1)
    forms = [lookup_form(token.text, lowercase=text.lowercase) for token in tokens[:limit]]
    return forms, len(tokens) > limit


def _map(
    rows: "Dataset", function: Callable[..., Columns], path: Path, workers: int, **settings: object
) -> "Dataset":
    """`function` over batches of rows, in parallel, kept at `path`.

    The path names all that the result depends on, so a file that stands is used as it is.
    """
    cache.remove_damaged(path)
    with _without_bars(), _into_cache(path):
        return rows.map(
            function,
            batched=True,
            batch_size=_BATCH,
            remove_columns=rows.column_names,
            num_proc=workers if workers > 1 else None,
            cache_file_name=str(path),
            new_fingerprint=path.stem,
            fn_kwargs=settings,
        )


@contextmanager
def _into_cache(path: Path) -> Iterator[None]:
    """Raises DataError where the disk fails.

    `datasets` then closes its file, writes to it once more, and raises ValueError of that.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        met: BaseException | None = error
        while met is not None and not isinstance(met, OSError):
            met = met.__cause__ or met.__context__
        if met is None:
            raise
        raise cache.unwritable(path, met) from error


@contextmanager
def _without_bars() -> Iterator[None]:
    """What is shown is the caller's to decide, not that of `datasets`."""
    from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    were_shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if were_shown:
            enable_progress_bars()


def _lengths(rows: "Dataset", column: str) -> Lengths:
    chunks = rows.data.column(column).chunks
    return np.concatenate([pc.list_value_length(chunk).to_numpy() for chunk in chunks])


def _notes(pairs: int, encoded: "Dataset", text: TextConfig) -> Iterator[str]:
    if lost := pairs - len(encoded):
        yield f"No visible character in {lost:,} of {pairs:,} training documents: left out."
    for side, limit in (("source", text.max_source_tokens), ("target", text.max_target_tokens)):
        if cut := pc.sum(encoded.data.column(f"{side}_cut")).as_py():
            yield (
                f"{cut:,} of {len(encoded):,} training {side}s are cut to {limit} tokens"
                f" (text.max_{side}_tokens)."
            )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
