"""What `pgsum evaluate` scores: summaries of a file, a baseline or a model, and on which pairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pgsum.cli import console
from pgsum.cli.corpus import corpus_overrides
from pgsum.cli.model import choose_model, load_summarizer, run_name
from pgsum.cli.processes import Processes, in_chunks
from pgsum.cli.progress import Report
from pgsum.config import Config, DataConfig, DecodeConfig, change_config, load_config
from pgsum.data.files import OptionNames
from pgsum.data.records import Pair
from pgsum.errors import ConfigError

if TYPE_CHECKING:
    from pgsum.evaluation import Measured
    from pgsum.summarizer import Summarizer, Summary
    from pgsum.systems import System, Trace, Written

_OPTIONS = OptionNames(
    document_column="--set data.document_column=",
    summary_column="--set data.summary_column=",
    id_column="--set data.id_column=",
    encoding="--set data.encoding=",
    on_bad="--on-bad ",
    others="--set data.",
)


@dataclass(frozen=True)
class Found:
    """The pairs to score on, the number of bad rows left out of them, and where they came from.

    `listings` name all that was left out.
    """

    pairs: list[Pair]
    skipped: int
    inputs: dict[str, Any]
    listings: tuple[Path, ...]


class Asked:
    """Which pairs are asked for, under which settings, and who is told how far reading them is.

    Raises DataError where there is no such `data`, before anything slow is begun.
    """

    def __init__(
        self,
        data: str | None,
        split: str,
        settings: Sequence[str],
        on_bad: Literal["error", "skip"],
        report: Report,
    ) -> None:
        self.data = data
        self.split = split
        self.report = report
        self._corpus = load_config(corpus_overrides(data, split=split)).data if data else None
        self._overrides = [*settings, *(["data.on_bad=skip"] if on_bad == "skip" else [])]

    def config(self, base: Config, *, sections: Sequence[str]) -> Config:
        """`base` as asked for, of these sections: DATA for its corpus, where that was given."""
        asked = replace(base, data=self._corpus or base.data)
        return change_config(asked, self._overrides, sections=sections)

    def pairs(self, config: Config) -> Found:
        from pgsum.data.sources import open_split, split_digests

        reading = partial(self.report, "reading the corpus")
        found = open_split(config.data, self.split, progress=reading, options=_OPTIONS)
        for sentence in found.notes:
            console.note(sentence)
        pairs = [Pair(row["id"], row["document"], tuple(row["references"])) for row in found.pairs]
        inputs = {
            "data": self.data or config.data.name,
            "split": self.split,
            "fingerprint": found.fingerprint,
            "files": split_digests(config.data, self.split),
        }
        return Found(pairs, found.skipped, inputs, found.listings)


@dataclass(frozen=True)
class Scored:
    """Systems, the one asked for first, and the pairs that they are to be scored on.

    `measured` is what is known of the summaries already. `skipped` is the number of bad rows that
    were left out; `inputs` name what was read, with checksums.
    """

    systems: Mapping[str, "System"]
    pairs: Sequence[Pair]
    skipped: int
    config: Config
    inputs: Mapping[str, Any]
    listings: tuple[Path, ...] = ()
    measured: "Sequence[Measured | None] | None" = field(default=None)
    explain: "Callable[[Sequence[str]], list[Summary]] | None" = field(default=None)
    """A model's summaries of documents once more, with where their words came from."""


def in_file(
    predictions: Path,
    asked: Asked,
    prediction_column: str | None,
    reference_column: str | None,
    *,
    baselines: bool,
) -> Scored:
    """What a file holds: with its own references, or matched with the pairs of DATA.

    With its own, `baselines` that it recorded are scored again, too.
    """
    from pgsum.data.files import content_digest
    from pgsum.predictions import match_predictions, read_predictions
    from pgsum.systems import recorded

    config = asked.config(Config(), sections=["data"])
    if asked.data is None:
        _refuse_corpus_settings(config.data)
    read = read_predictions(
        predictions,
        references=asked.data is None,
        prediction_column=prediction_column,
        reference_column=reference_column,
        encoding=config.data.encoding,
        on_bad=config.data.on_bad,
    )
    for sentence in read.notes:
        console.note(sentence)
    inputs = {
        "predictions": str(predictions),
        "predictions_sha256": content_digest(predictions),
    }
    if asked.data is None:
        systems = {read.name: recorded(read.written)}
        if baselines:
            systems |= {name: recorded(texts) for name, texts in read.baselines.items()}
        return Scored(systems, read.pairs, read.skipped, config, inputs, measured=read.measured)
    found = asked.pairs(config)
    order = match_predictions(read, found.pairs)
    systems = {read.name: recorded([read.written[place] for place in order])}
    return Scored(
        systems,
        found.pairs,
        read.skipped + found.skipped,
        config,
        inputs | found.inputs,
        found.listings,
    )


def _refuse_corpus_settings(data: DataConfig) -> None:
    if replace(data, encoding=None, on_bad="error") != DataConfig():
        raise ConfigError(
            "Without DATA no setting of it has an effect but data.encoding and data.on_bad.",
            hint="leave the others out, or name DATA",
        )


def of_baseline(name: str, asked: Asked) -> Scored:
    """What a system without parameters writes, such as lead-3."""
    from pgsum.systems import Baseline

    baseline = Baseline(name)
    config = asked.config(Config(), sections=["data"])
    found = asked.pairs(config)
    return Scored(
        {name: baseline}, found.pairs, found.skipped, config, found.inputs, found.listings
    )


def of_model(model: str | None, asked: Asked, processes: Processes) -> Scored:
    """What a model writes: about DATA, or else about the corpus that it was trained on."""
    from pgsum.bundle import sha256
    from pgsum.systems import own_name

    chosen = choose_model(model)
    summarizer = load_summarizer(chosen, device=processes.loads_to, threads=processes.threads)
    config = asked.config(summarizer.bundle.config, sections=["data", "decode"])
    found = asked.pairs(config)
    system = partial(
        _summarize_all,
        summarizer,
        references=[pair.references for pair in found.pairs],
        decode=config.decode,
        processes=processes,
        report=asked.report,
    )
    inputs = {
        "model": chosen.name,
        "model_sha256": sha256(chosen.folder / "model.safetensors"),
        "vocabulary_sha256": sha256(chosen.folder / "vocab.json"),
    }
    return Scored(
        {own_name(run_name(chosen), "model"): system},
        found.pairs,
        found.skipped,
        config,
        inputs | found.inputs,
        found.listings,
        explain=partial(_best, summarizer, decode=config.decode),
    )


def _best(
    summarizer: "Summarizer", documents: Sequence[str], *, decode: DecodeConfig
) -> "list[Summary]":
    return [summaries[0] for summaries in summarizer.summarize(documents, decode=decode)]


def _summarize_all(
    summarizer: "Summarizer",
    documents: Sequence[str],
    *,
    references: Sequence[Sequence[str]],
    decode: DecodeConfig,
    processes: Processes,
    report: Report,
) -> "list[Written]":
    """The best summaries; references are only looked at once those are written."""
    from pgsum.systems import Trace, Written

    def write(places: Sequence[int]) -> "list[Written]":
        first = places[0]
        best = summarizer.summarize(
            [documents[place] for place in places],
            decode=decode,
            progress=lambda done: report("summarizing", first + done, len(documents)),
        )
        return [
            Written(summary.text, _trace(summary, references[place], summarizer))
            for place, (summary, *_) in zip(places, best, strict=True)
        ]

    chunks = in_chunks(range(len(documents)), batch_size=decode.batch_size)
    return [
        # As JSON gives it back where another process has written it.
        Written(text, Trace.of(trace))
        for text, trace in processes.share(chunks, write, summarizer=summarizer)
    ]


def _trace(summary: "Summary", references: Sequence[str], summarizer: "Summarizer") -> "Trace":
    from pgsum.metrics.copying import oovs_produced
    from pgsum.metrics.measures import added
    from pgsum.systems import Trace

    vocab, lowercase = summarizer.bundle.vocab, summarizer.bundle.config.text.lowercase
    outside = [
        oovs_produced(summary.text, reference, vocab, lowercase=lowercase)
        for reference in references
    ]
    words = len(summary.tokens)
    return Trace(
        score=summary.score,
        stop=summary.stop,
        truncated=summary.truncated,
        unread_tokens=summary.unread_tokens,
        read_chars=summary.source_spans[-1][1],
        words=words,
        copied=sum(summary.copied),
        oovs=sum(summary.oov),
        p_gen=sum(summary.p_gen) / max(words, 1),
        copy_mass=sum(summary.copied_part) / max(words, 1),
        coverage_loss=summary.coverage_loss,
        reference_oovs=added(outside),
    )
