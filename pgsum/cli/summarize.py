"""`pgsum summarize`."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsum.cli import console
from pgsum.cli.documents import Documents
from pgsum.cli.explanations import Explanations
from pgsum.cli.model import choose_model, load_summarizer, run_name
from pgsum.cli.options import (
    SKIPPED,
    Debug,
    Device,
    Encoding,
    ModelPath,
    OnBad,
    Quiet,
    Settings,
    Threads,
    Verbose,
)
from pgsum.cli.progress import progress
from pgsum.config import DecodeConfig, change_config
from pgsum.data.records import Pair
from pgsum.data.rows import BadRow
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from pgsum.summarizer import Summarizer, Summary

_BATCHES_AT_ONCE = 16
"""Read ahead, to be sorted by length; more would only keep a reader waiting."""


def summarize(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Text, JSONL, CSV, TSV; - or none for stdin."),
    ] = None,
    model: ModelPath = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the document, in rows.")
    ] = None,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print a JSON object per document.")
    ] = False,
    beam_size: Annotated[
        int | None, typer.Option(metavar="N", help="Hypotheses kept at each step; 1 is greedy.")
    ] = None,
    min_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Of a summary, at least.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Of a summary, at most.")
    ] = None,
    n_best: Annotated[
        int | None, typer.Option(metavar="N", help="Summaries of each document, numbered.")
    ] = None,
    faithful: Annotated[
        bool, typer.Option("--faithful", help="No number or name that the document lacks.")
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(metavar="FILE|-", help="Show where each word came from: .html .svg .json -"),
    ] = None,
    reference_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="In rows; to show with --explain.")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(metavar="N", help="Documents summarized together.")
    ] = None,
    settings: Settings = None,
    encoding: Encoding = None,
    on_bad: OnBad = "error",
    device: Device = None,
    threads: Threads = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Summarize files, a line for each document."""
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug, as_json=jsonl)
    documents = Documents(
        files or [],
        column=column,
        reference_column=reference_column if explain else None,
        encoding=encoding,
        on_bad=on_bad,
    )
    explanations = None if explain is None else _explanations(explain, documents, jsonl=jsonl)
    admitted = documents if explanations is None else explanations.admitted(documents)
    chosen = choose_model(model)
    summarizer = load_summarizer(chosen, device=device, threads=threads)
    flags = {
        "beam_size": beam_size,
        "min_tokens": min_tokens,
        "max_tokens": max_tokens,
        "n_best": n_best,
        "faithful": faithful or None,
        "batch_size": batch_size,
    }
    overrides = [f"decode.{name}={value}" for name, value in flags.items() if value is not None]
    decode = change_config(
        summarizer.bundle.config, [*(settings or []), *overrides], sections=["decode"]
    ).decode
    _check_beam(decode, summarizer)

    tally = _Tally()
    # On a terminal the summaries themselves show how far it has come.
    with nullcontext() if _stdout_is_terminal() else progress() as report:
        for file, document, summaries in _summarized(admitted, summarizer, decode):
            tally.add(summaries, decode)
            if explanations is not None and isinstance(document, Pair):
                name = document.id if len(documents.files) == 1 else _name(file, document.id)
                explanations.add(name, summaries[0], document.references)
            if jsonl:
                console.json_data(_as_object(document, summaries))
            elif explanations is None or not explanations.on_terminal:
                label = f"{console.one_line(file)}\t" if len(documents.files) > 1 else ""
                for rank, text in enumerate([s.text for s in summaries] or [""], 1):
                    ranked = f"{label}{rank}\t" if decode.n_best > 1 else label
                    console.data(ranked + console.one_line(text.strip()))
            if report is not None:
                report("summarizing", tally.documents)
    if explanations is not None:
        explanations.write(model=run_name(chosen))
    for sentence in tally.sentences(summarizer.bundle.config.text.max_source_tokens):
        console.warning(sentence)
    if tally.skipped:
        raise typer.Exit(SKIPPED)


def _check_beam(decode: DecodeConfig, summarizer: "Summarizer") -> None:
    """A beam wider than the vocabulary is a slip, unless the model was trained with it."""
    words, usual = len(summarizer.bundle.vocab), summarizer.bundle.config.decode.beam_size
    if decode.beam_size > max(words, usual):
        raise ConfigError(
            f"decode.beam_size is {decode.beam_size}, more than the model's {words} words.",
            where="decode.beam_size",
            hint=f"decode.beam_size={usual} is what the model was validated with",
        )


def _explanations(target: str, documents: Documents, *, jsonl: bool) -> Explanations:
    explanations = Explanations(target, inputs=documents.files)
    if jsonl and explanations.on_terminal:
        raise ConfigError("--jsonl and --explain - exclude each other.", hint="give one of them")
    return explanations


def _name(file: str, id_: str) -> str:
    return file if id_ == file else f"{file}: {id_}"


@dataclass
class _Tally:
    """What a reader of the summaries should know of the documents."""

    documents: int = 0
    skipped: int = 0
    cut: int = 0
    short: int = 0

    def add(self, summaries: "Sequence[Summary]", decode: DecodeConfig) -> None:
        self.documents += 1
        if not summaries:
            self.skipped += 1
            return
        self.cut += summaries[0].truncated
        self.short += len(summaries[0].source_tokens) < decode.min_tokens

    def sentences(self, max_source_tokens: int) -> Iterator[str]:
        of_all = f"of {self.documents:,} {'document' if self.documents == 1 else 'documents'}"
        if self.skipped:
            yield f"{self.skipped:,} {of_all} skipped, being empty or unusable."
        if self.cut:
            yield f"{self.cut:,} {of_all} cut to the {max_source_tokens:,} tokens the model reads."
        if self.short:
            yield f"{self.short:,} {of_all} shorter than decode.min_tokens, lowered for them."


def _summarized(
    documents: Iterable[tuple[str, Pair | BadRow]],
    summarizer: "Summarizer",
    decode: DecodeConfig,
) -> "Iterator[tuple[str, Pair | BadRow, Sequence[Summary]]]":
    """Each document with its file and summaries, in order; a bad row has none."""
    stream = iter(documents)
    while chunk := list(islice(stream, _BATCHES_AT_ONCE * decode.batch_size)):
        texts = [document.document for _, document in chunk if isinstance(document, Pair)]
        summaries = iter(summarizer.summarize(texts, decode=decode) if texts else [])
        for file, document in chunk:
            yield file, document, next(summaries) if isinstance(document, Pair) else []


def _as_object(document: Pair | BadRow, summaries: "Sequence[Summary]") -> dict[str, Any]:
    if isinstance(document, BadRow):
        reason = "empty" if document.is_empty else document.reason
        return {"id": str(document.number), "error": reason}
    best, *others = [
        {
            "summary": summary.text,
            "tokens": summary.tokens,
            "copied": summary.copied,
            "source_tokens": summary.source_tokens,
            "truncated": summary.truncated,
            "score": summary.score,
            "stop": summary.stop,
        }
        for summary in summaries
    ]
    return {"id": document.id, **best} | ({"others": others} if others else {})


def _stdout_is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()
