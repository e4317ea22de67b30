"""`pgsum summarize`."""

import os.path
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pgsum.cli import console
from pgsum.cli.documents import STDIN, Documents, expand
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
from pgsum.cli.processes import in_chunks, processes_asked
from pgsum.cli.progress import progress
from pgsum.config import DecodeConfig, change_config
from pgsum.data.records import Pair
from pgsum.data.rows import BadRow
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from pgsum.summarizer import Summarizer, Summary


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
    processes, others = processes_asked(settings or [], device=device, threads=threads)
    if processes.several:
        _check_shareable(files or [], explain)
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
    summarizer = load_summarizer(chosen, device=processes.loads_to, threads=threads)
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
        summarizer.bundle.config, [*others, *overrides], sections=["decode"]
    ).decode
    _check_beam(decode, summarizer)

    def tell(chunk: Sequence[tuple[str, Pair | BadRow]]) -> list[_Told]:
        texts = [document.document for _, document in chunk if isinstance(document, Pair)]
        written = iter(summarizer.summarize(texts, decode=decode) if texts else [])
        told = []
        for file, document in chunk:
            summaries = next(written) if isinstance(document, Pair) else []
            if explanations is not None and isinstance(document, Pair):
                name = document.id if len(documents.files) == 1 else _name(file, document.id)
                explanations.add(name, summaries[0], document.references)
            told.append(_told(file, document, summaries, decode, as_object=jsonl))
        return told

    tally = _Tally()
    # On a terminal the summaries themselves show how far it has come.
    with nullcontext() if _stdout_is_terminal() else progress() as report:
        chunks = in_chunks(admitted, batch_size=decode.batch_size)
        shared = processes.share(
            chunks,
            tell,
            summarizer=summarizer,
            progress=None if report is None else partial(report, "summarizing"),
        )
        for told in (_Told(*fields) for fields in shared):
            tally.add(told)
            if jsonl:
                console.json_data(told.content)
            elif explanations is None or not explanations.on_terminal:
                label = f"{console.one_line(told.file)}\t" if len(documents.files) > 1 else ""
                for rank, text in enumerate(told.content or [""], 1):
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


def _check_shareable(files: Sequence[str], explain: str | None) -> None:
    """Raises ConfigError for what one process alone can do."""
    if explain is not None:
        raise ConfigError(
            "--explain is for one process, and several are asked for.",
            where="--explain",
            hint="leave out trainer.devices and trainer.nodes, or --explain",
        )
    for file in expand(files) or [STDIN]:
        once = os.path.exists(file) and not (os.path.isfile(file) or os.path.isdir(file))
        if file == STDIN or once:
            raise ConfigError(
                "Several processes cannot share what can be read only once, as standard input is.",
                where=file,
                hint="name a file, or leave out trainer.devices and trainer.nodes",
            )


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


class _Told(NamedTuple):
    """What becomes of a document, in JSON's types: another process may tell it.

    `content` is the object that stands for it, or the texts of its summaries, best first.
    """

    file: str
    content: Any
    skipped: bool
    cut: bool
    short: bool
    unfamiliar: bool


def _told(
    file: str,
    document: Pair | BadRow,
    summaries: "Sequence[Summary]",
    decode: DecodeConfig,
    *,
    as_object: bool,
) -> _Told:
    """Of a document and its summaries, best first; a bad row has none."""
    return _Told(
        file,
        _as_object(document, summaries) if as_object else [summary.text for summary in summaries],
        skipped=not summaries,
        cut=any(summary.truncated for summary in summaries[:1]),
        short=any(len(summary.source_tokens) < decode.min_tokens for summary in summaries[:1]),
        unfamiliar=any(summary.unfamiliar for summary in summaries[:1]),
    )


@dataclass
class _Tally:
    """What a reader of the summaries should know of the documents."""

    documents: int = 0
    skipped: int = 0
    cut: int = 0
    short: int = 0
    unfamiliar: int = 0

    def add(self, told: _Told) -> None:
        self.documents += 1
        self.skipped += told.skipped
        self.cut += told.cut
        self.short += told.short
        self.unfamiliar += told.unfamiliar

    def sentences(self, max_source_tokens: int) -> Iterator[str]:
        of_all = f"of {self.documents:,} {'document' if self.documents == 1 else 'documents'}"
        if self.skipped:
            yield f"{self.skipped:,} {of_all} skipped, being empty or unusable."
        if self.cut:
            yield f"{self.cut:,} {of_all} cut to the {max_source_tokens:,} tokens the model reads."
        if self.short:
            yield f"{self.short:,} {of_all} shorter than decode.min_tokens, lowered for them."
        if self.unfamiliar:
            yield (
                f"{self.unfamiliar:,} {of_all} {'is' if self.unfamiliar == 1 else 'are'} unlike "
                "those the model was trained on (their words are rare there): expect little of the "
                "summary, or train a model on text of your own: pgsum train DATA"
            )


def _as_object(document: Pair | BadRow, summaries: "Sequence[Summary]") -> dict[str, Any]:
    if isinstance(document, BadRow):
        reason = "empty" if document.is_empty else document.reason
        return {"id": str(document.number), "error": reason}
    best, *others = [summary.as_row() for summary in summaries]
    return {"id": document.id, **best} | ({"others": others} if others else {})


def _stdout_is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()
