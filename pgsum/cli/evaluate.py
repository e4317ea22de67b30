"""`pgsum evaluate`."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pgsum.cli import console
from pgsum.cli.corpus import corpus_overrides
from pgsum.cli.model import choose_model, load_summarizer, run_name
from pgsum.cli.options import (
    Debug,
    Device,
    ModelPath,
    OnBad,
    Quiet,
    Settings,
    Threads,
    Verbose,
)
from pgsum.cli.progress import progress
from pgsum.config import Config, change_config, load_config, to_dict
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from pgsum.data.records import Pair
    from pgsum.evaluation import Evaluation


def evaluate(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Documents and references."),
    ] = None,
    model: ModelPath = None,
    system: Annotated[
        str | None, typer.Option(metavar="lead-K", help="Score this in place of a model.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Score what stands in a file.")
    ] = None,
    split: Annotated[
        Literal["train", "validation", "test"],
        typer.Option(metavar="train|validation|test", help="Of DATA."),
    ] = "test",
    prediction_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="In the file of predictions.")
    ] = None,
    reference_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="In it; not needed with DATA.")
    ] = None,
    rouge_tokenizer: Annotated[
        str | None, typer.Option(metavar="NAME", help="rouge155, unicode or char; else by script.")
    ] = None,
    rouge_stemmer: Annotated[str | None, typer.Option(metavar="NAME", help="nltk or none.")] = None,
    settings: Settings = None,
    no_baselines: Annotated[
        bool, typer.Option("--no-baselines", help="Without lead-1 and lead-3 beside it.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep figures and summaries there.")
    ] = None,
    on_bad: OnBad = "error",
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    device: Device = None,
    threads: Threads = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Score a model, a baseline or predictions by ROUGE.

    DATA is a file, a folder or docstrings; without it a model is scored on its own corpus.
    """
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug, json_errors=json)
    _refuse_several({"--model": model, "--system": system, "--predictions": predictions})

    from pgsum.evaluation import evaluate as score
    from pgsum.evaluation import recorded
    from pgsum.predictions import check_output_folder, write_evaluation

    started = time.monotonic()
    if out is not None:
        check_output_folder(out)
    asked = _Asked(data, split, [*(settings or []), *(["data.on_bad=skip"] * (on_bad == "skip"))])
    if predictions is not None:
        summaries = _in_file(predictions, prediction_column, reference_column, asked, on_bad)
    elif system is not None:
        summaries = _of_baseline(system, asked)
    else:
        summaries = _of_model(model, asked, device=device, threads=threads)
    with progress("scoring") as report:
        evaluation = score(
            summaries.pairs,
            {summaries.system: recorded(summaries.texts)},
            baselines=not no_baselines,
            tokenizer=rouge_tokenizer,
            stemmer=rouge_stemmer,
            progress=report,
        )
    if out is not None:
        write_evaluation(
            out,
            evaluation,
            command=sys.argv,
            config=to_dict(summaries.config),
            inputs=summaries.inputs,
            seconds=time.monotonic() - started,
        )
        console.note(f"written: {out}")
    for sentence in evaluation.notes:
        console.warning(sentence)
    _print(evaluation, as_json=json)


@dataclass(frozen=True)
class _Asked:
    """Which pairs, under which settings."""

    data: str | None
    split: str
    overrides: Sequence[str]

    def config(self, base: Config) -> Config:
        """`base` with DATA, where it was given, for its corpus."""
        if self.data is not None:
            corpus = load_config(corpus_overrides(self.data, split=self.split)).data
            base = replace(base, data=corpus)
        return change_config(base, self.overrides, sections=["data", "decode"])

    def pairs(self, config: Config) -> "list[Pair]":
        from pgsum.data.records import Pair
        from pgsum.data.sources import open_split

        rows = open_split(config.data, self.split, note=console.note)
        return [Pair(row["id"], row["document"], tuple(row["references"])) for row in rows]


@dataclass(frozen=True)
class _Summaries:
    """What is scored, and where it comes from."""

    system: str
    pairs: "Sequence[Pair]"
    texts: Sequence[str]
    config: Config
    inputs: Mapping[str, str]


def _in_file(
    predictions: Path,
    prediction_column: str | None,
    reference_column: str | None,
    asked: _Asked,
    on_bad: Literal["error", "skip"],
) -> _Summaries:
    from pgsum.predictions import match_predictions, read_predictions

    found = read_predictions(
        predictions,
        references=asked.data is None,
        prediction_column=prediction_column,
        reference_column=reference_column,
        on_bad=on_bad,
    )
    for sentence in found.notes:
        console.note(sentence)
    config = asked.config(Config())
    inputs = {"predictions": str(predictions)}
    if asked.data is None:
        return _Summaries(found.name, found.pairs, found.texts, config, inputs)
    pairs = asked.pairs(config)
    inputs |= {"data": asked.data, "split": asked.split}
    return _Summaries(found.name, pairs, match_predictions(found, pairs), config, inputs)


def _of_baseline(system: str, asked: _Asked) -> _Summaries:
    from pgsum.evaluation import named_system

    write = named_system(system)
    config = asked.config(Config())
    pairs = asked.pairs(config)
    inputs = {"data": asked.data or config.data.name, "split": asked.split}
    return _Summaries(system, pairs, write([pair.document for pair in pairs]), config, inputs)


def _of_model(
    model: str | None, asked: _Asked, *, device: str | None, threads: int | None
) -> _Summaries:
    folder = choose_model(model)
    summarizer = load_summarizer(folder, device=device, threads=threads)
    config = asked.config(summarizer.bundle.config)
    pairs = asked.pairs(config)
    with progress("summarizing") as report:
        best = summarizer.summarize(
            [pair.document for pair in pairs],
            decode=config.decode,
            progress=lambda done: report(done, len(pairs)),
        )
    texts = [summaries[0].text for summaries in best]
    inputs = {"model": str(folder), "data": asked.data or config.data.name, "split": asked.split}
    return _Summaries(run_name(folder), pairs, texts, config, inputs)


def _refuse_several(options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} exclude each other.", hint="give one of them")


def _print(evaluation: "Evaluation", *, as_json: bool) -> None:
    from pgsum.metrics.report import metrics_json, table

    if as_json:
        figures = metrics_json(
            signature=evaluation.signature, n=len(evaluation.pairs), systems=evaluation.figures
        )
        console.data(figures.rstrip("\n"))
    else:
        console.drawing(table(evaluation.figures))
        console.data(evaluation.signature)
