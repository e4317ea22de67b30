"""A corpus by its settings: the built-in one or your own files, as Hugging Face datasets.

Knows which reader takes what a split is, and what is held out. Knows no file formats and no tokens.
"""

import hashlib
import json
import os.path
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pgsum.config import DataConfig
from pgsum.data import docstrings
from pgsum.data.cache import Entry, cached
from pgsum.data.columns import NamedColumns
from pgsum.data.files import (
    DATA_OPTIONS,
    OptionNames,
    check_file,
    content_digest,
    list_folder,
    write_whole,
)
from pgsum.data.hub import REVISION, HubSplit
from pgsum.data.leaks import leaked
from pgsum.data.records import (
    Pair,
    Reading,
    Record,
    Tally,
    for_evaluation,
    for_training,
    only_pairs,
    read_files,
)
from pgsum.data.row_files import PARQUET, ROW_SUFFIXES, format_of
from pgsum.data.rows import BadRow
from pgsum.data.splits import SPLITS, Place, find_splits, not_named
from pgsum.data.text_files import (
    is_document_file,
    read_aligned,
    read_whole_files,
    text_pair,
    text_pairs,
)
from pgsum.errors import DataError

if TYPE_CHECKING:
    from datasets import Dataset

Progress = Callable[[int, int], object]
"""Called with how many are done, and of how many."""

_FORMAT = 12  # raise it whenever the same files are read differently


@dataclass(frozen=True)
class Corpus:
    """Pairs to train on, to choose the best model by and, perhaps, to report on.

    Each dataset has the columns id (string), document (string) and references (list of strings).
    `fingerprint` changes with the content; `notes` say in one sentence each what was left out, and
    `listings` are the files that name all of it but `dropped`, the ids of training pairs that
    leaked into the others, for `write_listing`.
    """

    name: str
    train: "Dataset"
    validation: "Dataset"
    test: "Dataset | None"
    fingerprint: str
    notes: tuple[str, ...]
    listings: tuple[Path, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Split:
    """Pairs of one split, with the columns of a `Corpus`'s datasets.

    `notes` say in one sentence each what was left out of the files it comes from, and `listings`
    are the files that name all of it; `skipped` is the number of bad rows among that. `fingerprint`
    changes with the content.
    """

    pairs: "Dataset"
    notes: tuple[str, ...]
    skipped: int
    fingerprint: str
    listings: tuple[Path, ...] = ()


def open_corpus(config: DataConfig, *, progress: Progress | None = None) -> Corpus:
    """All splits of the corpus that `config` names; read once, then memory-mapped from the cache.

    `progress` is called with the number of source files read and of all, where there are many.
    Raises ConfigError where no file to train on is named, DataError for what is wrong with one.
    """
    held_out = config.validate_on == "train"
    entries = _open(config, SPLITS, progress=progress, validate_on_train=held_out)
    if "train" not in entries:
        raise not_named("train", config, DATA_OPTIONS)
    train = _pairs(entries, "train", config)
    if config.max_pairs is not None and config.max_pairs < len(train):
        train = train.select(range(config.max_pairs))
    parts: list[object] = [f"{split} {entry.fingerprint}" for split, entry in entries.items()]
    parts.append(config.max_pairs)
    validation = _pairs(entries, "validation", config)
    test = _pairs(entries, "test", config) if "test" in entries else None
    unseen = [validation, *([test] if test else [])]
    if held_out and (entry := _open(config, ("validation",)).get("validation")):
        parts.append(f"unseen {entry.fingerprint}")
        unseen.append(entry.dataset("validation"))
    rows, total = leaked(train, unseen), len(train)
    dropped: tuple[str, ...] = ()
    if rows and config.leaks == "drop":
        parts.append("without leaks")
        dropped = tuple(train.select(rows)["id"])
        train = train.select(sorted(set(range(total)).difference(rows)))
    return Corpus(
        name=config.name,
        train=train,
        validation=validation,
        test=test,
        fingerprint=_sha256(parts),
        notes=(*_notes(entries), *_leaks_note(len(rows), total, config)),
        listings=_listings(entries),
        dropped=dropped,
    )


def _leaks_note(leaks: int, pairs: int, config: DataConfig) -> Iterator[str]:
    """Raises DataError where no other pairs are left."""
    if not leaks:
        return
    counted = f"{leaks:,} of {pairs:,} training documents are validation or test documents, too"
    if config.leaks == "keep":
        yield f"{counted} (data.leaks=drop leaves them out)."
        return
    if leaks == pairs:
        raise DataError(
            f"{counted}, and none is left to train on.",
            where=config.root or config.hub or config.train,
            hint="set data.leaks=keep",
        )
    yield f"{counted}: left out."


def open_split(
    config: DataConfig,
    split: str,
    *,
    progress: Progress | None = None,
    options: OptionNames = DATA_OPTIONS,
) -> Split:
    """One split of the corpus that `config` names, its documents with all their references.

    `options` are what errors call the settings; otherwise as `open_corpus`.
    """
    entries = _open(config, (split,), progress=progress, options=options)
    if split not in entries:
        raise not_named(split, config, options)
    pairs = _pairs(entries, split, config)
    entry = entries[split]
    return Split(pairs, entry.notes, entry.skipped, entry.fingerprint, _listings(entries))


def write_listing(listings: Sequence[Path], path: Path, *, dropped: Sequence[str] = ()) -> None:
    """Write what was left out of a corpus to `path`, whole: a line of JSON for each row and pair.

    Nothing is written where nothing was left out. Raises OSError where it cannot be.
    """
    leaks = "".join(
        json.dumps({"where": id_, "reason": "its document is a validation or test document, too"})
        + "\n"
        for id_ in dropped
    )
    if listings or leaks:
        rows = b"".join(listing.read_bytes() for listing in listings)
        write_whole(path, rows + leaks.encode())


def split_digests(config: DataConfig, split: str) -> dict[str, str]:
    """The SHA-256 of each file that an opened split was read from; the built-in corpus has none."""
    if config.name == "docstrings":
        return {}
    places = find_splits(config, DATA_OPTIONS)
    place = places.get(split) or places["train"]  # held out of which it was
    files, _ = _records(place, Reading(wanted="pairs"), Tally(place.name))
    return {str(file): content_digest(file) for file in files}


@dataclass(frozen=True)
class Unsorted:
    """What the file of a split holds, before anything is left out; `tally` fills as it is read."""

    split: str
    records: Iterator[Record | BadRow]
    tally: Tally


def open_unsorted(config: DataConfig) -> Iterator[Unsorted]:
    """Each split that has a file; none of the built-in corpus.

    Raises DataError where a file cannot be read.
    """
    places = {} if config.name == "docstrings" else find_splits(config, DATA_OPTIONS)
    for split, place in places.items():
        tally = Tally(place.name)
        _, records = _records(place, _reading(split, config, DATA_OPTIONS), tally)
        yield Unsorted(split, records, tally)


def _open(
    config: DataConfig,
    wanted: Iterable[str],
    *,
    progress: Progress | None = None,
    options: OptionNames = DATA_OPTIONS,
    validate_on_train: bool = False,
) -> dict[str, Entry]:
    """The cache entries of those splits wanted that there are."""
    if config.name == "docstrings":
        entry = _open_docstrings(config, progress)
        return dict.fromkeys(wanted, entry)
    places = find_splits(config, options)
    if validate_on_train:
        places.pop("validation", None)
    entries: dict[str, Entry] = {}
    for split in wanted:
        held_out = split == "validation" and split not in places
        origin = "train" if held_out else split
        if origin in places:
            entries[split] = entries.get(origin) or _open_place(
                places[origin], origin, config, options, holds_out="validation" not in places
            )
    return entries


def _pairs(entries: Mapping[str, Entry], split: str, config: DataConfig) -> "Dataset":
    entry = entries[split]
    pairs = entry.dataset(split)
    if len(pairs) == 0:
        held_out = split == "train" and entries.get("validation") is entry
        raise DataError(
            " ".join([f"There are no {split} pairs that can be used.", *entry.notes]),
            where=getattr(config, split) or config.root or config.hub or config.train,
            hint="the few there are were held out: name others with data.validation=FILE"
            if held_out and len(entry.dataset("validation")) > 0
            else None,
        )
    return pairs


def _listings(entries: Mapping[str, Entry]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(entry.listing for entry in entries.values() if entry.listing))


def _notes(entries: Mapping[str, Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for entry in entries.values() for note in entry.notes))


# --- the built-in corpus --------------------------------------------------------------------------


def _open_docstrings(config: DataConfig, progress: Progress | None) -> Entry:
    files = docstrings.find_source_files()

    def read() -> Iterator[tuple[str, Pair]]:
        splits = docstrings.harvest(files, workers=config.workers, progress=progress)
        for split, pairs in splits.items():
            for pair in pairs:
                yield split, pair

    fingerprint = _sha256([_FORMAT, docstrings.fingerprint(files)])
    return cached(fingerprint, SPLITS, read, Tally(config.name))


# --- your own files -------------------------------------------------------------------------------


def _open_place(
    place: Place, split: str, config: DataConfig, options: OptionNames, *, holds_out: bool
) -> Entry:
    reading = _reading(split, config, options)
    tally = Tally(place.name)
    if isinstance(place, HubSplit):
        tally.origin = f"commit {place.commit} of {REVISION}"
    files, records = _records(place, reading, tally)
    digests = [content_digest(file) for file in files]

    def read() -> Iterator[tuple[str, Pair]]:
        if split != "train":
            sound = for_evaluation(records, tally=tally)
        else:
            sound = for_training(records, reference=config.reference, tally=tally, options=options)
        pairs = only_pairs(sound, on_bad=config.on_bad, tally=tally, options=options)
        if split == "train" and holds_out:
            yield from hold_out(pairs, config.holdout)
        else:
            yield from ((split, pair) for pair in pairs)
        for file, digest in zip(files, digests, strict=True):
            if content_digest(file) != digest:
                raise DataError(
                    "The file was changed while it was read.",
                    where=str(file),
                    hint="run this again when nobody is writing it",
                )

    settings = asdict(replace(reading, options=DATA_OPTIONS))
    contents = [(file.name, digest) for file, digest in zip(files, digests, strict=True)]
    choices = (split, holds_out and config.holdout, config.reference, config.on_bad)
    fingerprint = _sha256([_FORMAT, place.name, tally.origin, settings, choices, contents])
    splits = ("train", "validation") if split == "train" and holds_out else (split,)
    return cached(fingerprint, splits, read, tally)


def _reading(split: str, config: DataConfig, options: OptionNames) -> Reading:
    return Reading(
        wanted="pairs" if split == "train" else "references",
        columns=NamedColumns(config.document_column, config.summary_column, config.id_column),
        encoding=config.encoding,
        max_chars=config.max_chars,
        options=options,
    )


def _records(
    place: Place, reading: Reading, tally: Tally
) -> tuple[list[Path], Iterator[Record | BadRow]]:
    """The files that a split consists of, and what they hold."""
    if isinstance(place, HubSplit):
        files = place.fetch()
        return files, read_files(files, reading, tally)
    if os.path.isdir(place):  # false, too, where it cannot be looked at
        if parts := [path for path in list_folder(place) if format_of(path) == PARQUET]:
            return parts, read_files(parts, reading, tally)
        pairs = text_pairs(place)
        files = [file for pair in pairs for file in (pair.documents, pair.summaries)]
        return files, read_whole_files(pairs, reading, tally)
    check_file(place)
    if format_of(place) in ROW_SUFFIXES:
        return [place], read_files([place], reading, tally)
    if is_document_file(place):
        pair = text_pair(place)
        return [pair.documents, pair.summaries], read_aligned(pair, reading, tally)
    raise DataError(
        "Pairs are read from .jsonl, .csv, .tsv and .parquet files, and from two text files that "
        "belong together.",
        where=str(place),
        hint="call two such files NAME.source and NAME.target, a pair on each line",
    )


def hold_out(pairs: Iterable[Pair], share: float) -> Iterator[tuple[str, Pair]]:
    """Each pair with its split: that `share` whose documents' hashes are lowest for validation.

    Neither the order of the pairs nor what else there is moves a document from one split to the
    other, but that the lowest of all is always held out, so that a small file has something to
    validate on.
    """
    lowest: list[Pair] = []  # of one document
    lowest_point = 2.0
    for pair in pairs:
        point = int.from_bytes(hashlib.sha256(pair.document.encode()).digest()[:7]) / 256**7
        if point <= lowest_point:
            if point < lowest_point:
                split = "validation" if lowest_point < share else "train"
                yield from ((split, earlier) for earlier in lowest)
                lowest, lowest_point = [], point
            lowest.append(pair)
        else:
            yield "validation" if point < share else "train", pair
    yield from (("validation", pair) for pair in lowest)


def _sha256(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode("utf-8")).hexdigest()
