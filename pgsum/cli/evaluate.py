"""`pgsum evaluate`."""

import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pgsum.cli import console
from pgsum.cli.options import (
    SKIPPED,
    Debug,
    Device,
    ModelPath,
    OnBad,
    Quiet,
    Settings,
    Threads,
    Verbose,
)
from pgsum.cli.processes import processes_asked
from pgsum.cli.progress import progress
from pgsum.cli.reported import check_report, write_report
from pgsum.cli.scored import Asked, in_file, of_baseline, of_model
from pgsum.config import to_dict
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from pgsum.evaluation import Evaluation

_EXAMPLES = 20


def evaluate(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="File, folder, OWNER/NAME (hub), docstrings; else a model's own.",
        ),
    ] = None,
    model: ModelPath = None,
    system: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="{lead,first,random}-K, textrank, oracle, document"),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows of predictions, and references.")
    ] = None,
    split: Annotated[
        Literal["train", "validation", "test"] | None,
        typer.Option(metavar="NAME", help="train, validation or test.  [default: test]"),
    ] = None,
    prediction_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="In FILE, of what is scored.")
    ] = None,
    reference_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="In FILE, where there is no DATA.")
    ] = None,
    rouge_tokenizer: Annotated[
        str | None, typer.Option(metavar="NAME", help="rouge155, unicode, char or jieba.")
    ] = None,
    rouge_stemmer: Annotated[
        str | None, typer.Option(metavar="NAME", help="nltk, rouge155 or none.")
    ] = None,
    multi_ref: Annotated[
        Literal["max", "mean", "jackknife"],
        typer.Option(metavar="HOW", help="max, mean or jackknife."),
    ] = "max",
    settings: Settings = None,
    no_baselines: Annotated[bool, typer.Option("--no-baselines", help="The system alone.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep figures and summaries in a new folder.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="FILE.html", help="Show all of it as a page.")
    ] = None,
    examples: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="So many explained there.  [default: 20]"),
    ] = None,
    on_bad: OnBad = "error",
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    device: Device = None,
    threads: Threads = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Score a model, a baseline or predictions by ROUGE; measure how they write."""
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug, as_json=json)
    _refuse_several({"--model": model, "--system": system, "--predictions": predictions})
    in_place_of_a_model = "--system" if system else "--predictions" if predictions else None
    _refuse_idle(
        {
            "--prediction-column": prediction_column,
            "--reference-column": reference_column,
        },
        "without --predictions",
        when=predictions is None,
    )
    _refuse_idle({"--reference-column": reference_column}, "with DATA", when=data is not None)
    _refuse_idle({"--split": split}, "without DATA", when=bool(predictions and not data))
    _refuse_idle({"--examples": examples}, "without --report", when=report is None)
    processes, others = processes_asked(settings or [], device=device, threads=threads)
    several = processes.several or None
    _refuse_idle(
        {"--examples": examples, "--device": device, "--set trainer.*": several},
        f"with {in_place_of_a_model}: there is no model",
        when=in_place_of_a_model is not None,
    )

    from pgsum.evaluation import evaluate as score
    from pgsum.results import make_output_folder, write_evaluation

    started = time.monotonic()
    if out is not None and processes.is_first:
        make_output_folder(out)
    if report is not None:
        check_report(report)
    with progress() as told:
        asked = Asked(data, split or "test", others, on_bad, told)
        if predictions is not None:
            found = in_file(
                predictions, asked, prediction_column, reference_column, baselines=not no_baselines
            )
        elif system is not None:
            found = of_baseline(system, asked)
        else:
            found = of_model(model, asked, processes)
        evaluation = score(
            found.pairs,
            found.systems,
            baselines=not no_baselines,
            tokenizer=rouge_tokenizer,
            stemmer=rouge_stemmer,
            multi=multi_ref,
            measured=found.measured,
            workers=threads,
            where=found.inputs.get("data") or found.inputs["predictions"],
            progress=partial(told, "scoring"),
        )
    if out is not None:
        write_evaluation(
            out,
            evaluation,
            command=sys.argv,
            config=to_dict(found.config),
            inputs=found.inputs,
            listings=found.listings,
            seconds=time.monotonic() - started,
        )
        console.note(f"written: {out}")
    if report is not None:
        write_report(
            report, evaluation, found, examples=_EXAMPLES if examples is None else examples
        )
    for sentence in evaluation.notes:
        console.warning(sentence)
    if found.skipped:
        rows = "bad row is" if found.skipped == 1 else "bad rows are"
        console.warning(f"{found.skipped:,} {rows} left out of these figures.")
    _print(evaluation, as_json=json)
    if found.skipped:
        raise typer.Exit(SKIPPED)


def _refuse_several(options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} exclude each other.", hint="give one of them")


def _refuse_idle(options: Mapping[str, object], why: str, *, when: bool) -> None:
    """Raises ConfigError where one of the options is given when it changes nothing."""
    for name, value in options.items():
        if when and value is not None:
            raise ConfigError(f"{name} has no effect {why}.", hint="leave it out")


def _print(evaluation: "Evaluation", *, as_json: bool) -> None:
    from pgsum.metrics.report import captions, measures_table, table
    from pgsum.results import metrics_of

    if as_json:
        console.data(metrics_of(evaluation).rstrip("\n"))
        return
    console.drawing(table(evaluation.figures))
    console.data(evaluation.signature)
    console.data("")
    console.drawing(measures_table(*evaluation.measures))
    for sentence in captions(evaluation.figures):
        console.data(sentence)
