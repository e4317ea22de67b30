"""`pgsum check`."""

from collections.abc import Iterator
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsum.cli import console
from pgsum.cli.corpus import corpus_overrides, split_arguments
from pgsum.cli.options import Debug, Quiet, Threads, TrainingDevice, Verbose
from pgsum.cli.progress import progress
from pgsum.cli.train import machine_overrides
from pgsum.config import TextConfig, load_config
from pgsum.errors import PgsumError

if TYPE_CHECKING:
    from rich.table import Table

    from pgsum.check import Check, Pairs, Rows, Spread, Words
    from pgsum.training.pace import Pace

_LISTED = 3
"""Reasons of bad rows that are told."""


def check(
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="What would be learned from.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="As for pgsum train.")
    ] = None,
    no_timing: Annotated[
        bool, typer.Option("--no-timing", help="Do not time steps of the model.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    device: TrainingDevice = None,
    threads: Threads = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Look a corpus over before training on it.

    DATA is a file, a folder with train, validation and test files, docstrings, or a data set of the
    Hugging Face hub: OWNER/NAME:CONFIG@SPLIT. What training would stop at ends this, too, with exit
    code 3, once everything else has been told.
    """
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug, as_json=json)
    data, settings = split_arguments([*([data] if data else []), *(settings or [])])
    overrides = corpus_overrides(data, split="train") if data else []
    config = load_config([*overrides, *settings, *machine_overrides(device, threads)])

    from pgsum.check import check as look_over
    from pgsum.training.pace import time_steps
    from pgsum.training.plan import check_installation

    check_installation(config.trainer)
    with progress() as report:
        found = look_over(config, progress=report)
        pace = None
        if found.prepared is not None and not no_timing:
            report("timing steps of training", 0)
            pace = time_steps(config, found.prepared)
    for note in found.notes:
        console.note(note)
    if json:
        console.json_data(_as_object(found, pace))
    else:
        console.drawing(_table(found, config.text))
        for sentence in _sentences(found, pace):
            console.data(sentence)
    if found.problem is not None:
        raise found.problem


def _as_object(found: "Check", pace: "Pace | None") -> dict[str, Any]:
    return {
        "corpus": found.name,
        "trainable": found.problem is None,
        "problem": _in_words(found.problem),
        "notes": list(found.notes),
        "rows": {split: asdict(rows) for split, rows in found.rows.items()},
        "pairs": {split: asdict(pairs) for split, pairs in found.pairs.items()},
        "vocab": found.vocab,
        "words": {split: asdict(words) for split, words in found.words.items()},
        "lead": asdict(found.lead) if found.lead else None,
        "training": pace._asdict() if pace else None,
    }


def _in_words(problem: PgsumError | None) -> dict[str, str | None] | None:
    if problem is None:
        return None
    return {"message": problem.message, "where": problem.where, "hint": problem.hint}


def _table(found: "Check", text: TextConfig) -> "Table":
    """A column for each split."""
    from rich.table import Table

    splits = list(dict.fromkeys([*found.rows, *found.pairs]))
    drawn = Table(box=None, padding=(0, 2, 0, 0))
    drawn.add_column("")
    for split in splits:
        drawn.add_column(split, justify="right")
    of_rows = [_of_rows(found.rows[split]) if split in found.rows else {} for split in splits]
    of_pairs = [
        _of_pairs(found.pairs[split], text) if split in found.pairs else {} for split in splits
    ]
    of_words = [_of_words(found.words[split]) if split in found.words else {} for split in splits]
    for columns in (of_rows, of_pairs, of_words):
        for name in max(columns, key=len):
            drawn.add_row(name, *(column.get(name, "-") for column in columns))
    return drawn


def _of_rows(rows: "Rows") -> dict[str, str]:
    columns = rows.columns
    return {
        "rows": f"{rows.rows:,}",
        "document": console.one_line(columns.document) if columns else "text file",
        "summary": console.one_line(columns.summary or "-") if columns else "text file",
        "bad rows": f"{sum(rows.bad.values()):,}",
        "empty documents": f"{rows.empty_documents:,}",
        "empty summaries": f"{rows.empty_summaries:,}",
        "with several references": f"{rows.several_references:,}",
        "ids seen before": f"{rows.repeated_ids:,}",
    }


def _of_pairs(pairs: "Pairs", text: TextConfig) -> dict[str, str]:
    return {
        "pairs": f"{pairs.pairs:,}",
        "document words": _in_a_cell(pairs.document_words),
        "document tokens": _in_a_cell(pairs.document_tokens),
        "summary words": _in_a_cell(pairs.summary_words),
        "summary tokens": _in_a_cell(pairs.summary_tokens),
        f"documents cut to {text.max_source_tokens}": _share(pairs.cut_documents, pairs.pairs),
        f"summaries cut to {text.max_target_tokens}": _share(pairs.cut_summaries, pairs.pairs),
        "documents seen before": f"{pairs.repeated_documents:,}",
        **{f"documents also in {split}": f"{n:,}" for split, n in pairs.leaked.items()},
        "summary is the document": f"{pairs.summary_is_document:,}",
        "summary is longer": f"{pairs.summary_is_longer:,}",
        **{f"with {name}": f"{number:,}" for name, number in pairs.oddities.items()},
    }


def _of_words(words: "Words") -> dict[str, str]:
    return {
        "documents' OOVs": _share(words.document_oovs, words.document_tokens),
        "summaries' OOVs": _share(words.summary_oovs, words.summary_tokens),
        "of these to be copied": _share(words.copyable_oovs, words.summary_oovs),
    }


def _in_a_cell(spread: "Spread") -> str:
    return " ".join(map(str, astuple(spread)))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def _sentences(found: "Check", pace: "Pace | None") -> Iterator[str]:
    from pgsum.metrics.report import HEADINGS

    if found.pairs:
        yield "words and tokens: 5%, half, 95% and all of the texts have no more than this"
    for split, rows in found.rows.items():
        for reason, number in list(rows.bad.items())[:_LISTED]:
            yield console.one_line(f"bad rows of {split}: {number:,}: {reason}")
    if found.vocab is not None:
        yield (
            f"vocabulary: {found.vocab:,} words; OOVs are tokens outside it, to be copied those "
            "that stand in their document, of validation a sample"
        )
    if found.lead is not None:
        for name, scores in found.lead.scores.items():
            figures = ", ".join(f"{HEADINGS[metric]} {100 * f:.2f}" for metric, f in scores.items())
            yield f"{name}: {figures}, of {found.lead.pairs:,} validation pairs"
        yield found.lead.signature
    if pace is not None:
        yield _time_needed(pace)


def _time_needed(pace: "Pace") -> str:
    minutes = pace.seconds / 60
    needed = f"{minutes / 60:,.1f} hours" if minutes > 90 else f"{minutes:.0f} min"
    return (
        f"training: about {needed} without its validations: {pace.timed_steps} steps took "
        f"{pace.seconds_per_step:.2f} s each on this machine as it is now"
    )
