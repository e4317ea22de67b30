"""train(config) and resume(folder): the tables of contents of a run."""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

import pytorch_lightning as pl
import torch

from pgsum.build import build_model
from pgsum.bundle import Bundle
from pgsum.by_name import find
from pgsum.config import Config
from pgsum.data.familiarity import usual_surprise
from pgsum.data.prepare import Prepared, prepare
from pgsum.data.sources import Corpus, write_listing
from pgsum.engine import is_first
from pgsum.nn.model import PointerGenerator
from pgsum.text.surface import Surface
from pgsum.text.vocab import Vocab
from pgsum.training.callbacks import Report, Say, report_nothing
from pgsum.training.checkpoint import remove_leftovers
from pgsum.training.fit import Run, TrainResult, count_parameters
from pgsum.training.folder import locked, new_run_folder, on_its_disk, run_folder
from pgsum.training.plan import (
    check_embeddings,
    check_installation,
    read_corpus,
    read_embeddings,
)
from pgsum.training.resume import (
    HISTORY,
    SURFACE,
    VOCAB,
    check_same,
    go_on,
    history_line,
    open_run,
)
from pgsum.training.start import begin_as, begin_with, same_architecture


def say_on_stderr(line: str) -> None:
    """For callers without a console of their own."""
    print(line, file=sys.stderr, flush=True)


def train(
    config: Config,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    init: str | Path | None = None,
    say: Say = say_on_stderr,
    report: Report = report_nothing,
) -> TrainResult:
    """Train a summarizer and leave a run folder behind.

    `init` names a model to start from, as `pgsum.by_name.find` takes it: its weights, vocabulary
    and architecture. `say` is told each line that a person should see, `report` how far it has
    come. Raises ConfigError, DataError, and ModelError where there is no such model and where
    training diverges. With several processes each calls this.
    """
    started = time.time()
    if not is_first():
        say, report = _say_nothing, report_nothing
    begun_from = find(init, say=say) if init is not None else None
    start = begun_from.load() if begun_from is not None else None
    if start is not None:
        model_config = same_architecture(config.model, start)
        config = replace(config, model=model_config, text=start.config.text)
    if is_first():
        run_folder(config, out, overwrite=overwrite)  # refused now rather than in the end
    check_embeddings(config.model)  # likewise
    check_installation(config.trainer)
    corpus, prepared = _read(
        config,
        vocab=start.vocab if start else None,
        surface=start.surface if start else None,
        say=say,
        report=report,
    )
    model = build_model(config.model, len(prepared.vocab))
    if start is not None:
        begin_as(start.model, model)
    vectors = read_embeddings(config.model, prepared.vocab)
    if vectors is not None:
        begin_with(vectors, model.embedding)
    bundle = _bundle(config, prepared, model)

    def write(folder: Path) -> None:
        write_listing(corpus.listings, folder / "skipped.jsonl", dropped=corpus.dropped)
        prepared.vocab.save(folder / VOCAB)
        surface = json.dumps(prepared.surface.to_dict(), ensure_ascii=False)
        (folder / SURFACE).write_text(surface + "\n", encoding="utf-8")
        line = history_line(step=0, init=begun_from and begun_from.name)
        (folder / HISTORY).write_text(line, encoding="utf-8")

    for line in description(corpus, prepared, str(vectors or ""), bundle):
        say(line)
    with ExitStack() as stack:
        if is_first():
            run_dir = stack.enter_context(
                new_run_folder(config, out, overwrite=overwrite, write=write)
            )
        else:
            run_dir = out or Path()  # nothing is written to it
        return Run(
            run_dir,
            corpus,
            prepared,
            bundle,
            about={"word_vectors": vectors and vectors.record()},
            say=say,
            report=report,
            started=started,
        ).fit()


def resume(
    run_dir: Path,
    overrides: Sequence[str] = (),
    *,
    say: Say = say_on_stderr,
    report: Report = report_nothing,
) -> TrainResult:
    """Go on with the run in `run_dir` as if it had never stopped.

    `overrides` are the settings that are to be different, of those that may be. Raises as `train`
    does, and where what the run depends on has changed.
    """
    started = time.time()
    if not is_first():
        say, report = _say_nothing, report_nothing
    with locked(run_dir) if is_first() and run_dir.is_dir() else nullcontext():
        earlier = open_run(run_dir, overrides)
        config = earlier.config
        check_installation(config.trainer)
        corpus, prepared = _read(
            config, vocab=earlier.vocab, surface=earlier.surface, say=say, report=report
        )
        model = build_model(config.model, len(prepared.vocab))
        if earlier.checkpoint is None:
            if earlier.init is not None:
                begin_as(find(earlier.init, say=say).load().model, model)
            vectors = read_embeddings(config.model, prepared.vocab)
            if vectors is not None:
                begin_with(vectors, model.embedding)
            word_vectors = vectors and vectors.record()
        else:
            word_vectors = earlier.about["word_vectors"]
        bundle = _bundle(config, prepared, model)
        for line in description(corpus, prepared, "as begun with" if word_vectors else "", bundle):
            say(line)
        run = Run(
            run_dir,
            corpus,
            prepared,
            bundle,
            about={"word_vectors": word_vectors},
            say=say,
            report=report,
            started=started,
            earlier=earlier,
        )
        check_same(earlier, run.about)
        if is_first():
            with on_its_disk(run_dir):
                remove_leftovers(run_dir)
                run.metrics.forget_after(earlier.step)
                go_on(earlier)
        say(f"going on after step {earlier.step:,}")
        return run.fit()


def _say_nothing(line: str) -> None:
    """For all processes but the first."""


def _read(
    config: Config, *, vocab: Vocab | None, surface: Surface | None, say: Say, report: Report
) -> tuple[Corpus, Prepared]:
    """The corpus, made ready; what a training draws at random begins with the seed."""
    if config.trainer.threads is not None:
        torch.set_num_threads(config.trainer.threads)
    pl.seed_everything(config.trainer.seed, verbose=False)
    say("reading the corpus")
    corpus = read_corpus(config, report)
    say("tokenizing it (once; it is kept for the next run)")
    prepared = prepare(
        corpus,
        config.text,
        validation_pairs=config.trainer.validation_pairs,
        workers=config.data.workers,
        vocab=vocab,
        surface=surface,
    )
    return corpus, prepared


def _bundle(config: Config, prepared: Prepared, model: PointerGenerator) -> Bundle:
    usual = usual_surprise(prepared.vocab, prepared.train)
    return Bundle(config, prepared.vocab, prepared.surface, model, usual)


def description(corpus: Corpus, prepared: Prepared, word_vectors: str, bundle: Bundle) -> list[str]:
    """What is about to be trained on what, a line each."""
    trainer = bundle.config.trainer
    return [
        f"corpus: {corpus.name}, {len(prepared.train):,} training pairs, "
        f"{len(corpus.validation):,} for validation",
        *(f"note: {note}" for note in (*corpus.notes, *prepared.notes)),
        f"model: {bundle.config.model.name}, {count_parameters(bundle):,} parameters, vocabulary of"
        f" {len(bundle.vocab):,}",
        *([f"word vectors: {word_vectors}"] if word_vectors else []),
        f"training: {trainer.max_steps:,} steps of up to {trainer.batch_size} pairs, seed"
        f" {trainer.seed}",
    ]
