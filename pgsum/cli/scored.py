"""What `pgsum evaluate` scores: summaries of a file, a baseline or a model, and on which pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pgsum.cli import console
from pgsum.cli.corpus import corpus_overrides
from pgsum.cli.model import choose_model, load_summarizer, run_name
from pgsum.cli.progress import Report
from pgsum.config import Config, DecodeConfig, change_config, load_config
from pgsum.data.files import OptionNames
from pgsum.data.records import Pair

if TYPE_CHECKING:
    from pgsum.evaluation import System
    from pgsum.summarizer import Summarizer

_DOCUMENTS_AT_ONCE = 1024
"""Sorted by length together; the attention of more of them would fill the memory."""

_OPTIONS = OptionNames(
    document_column="--set data.document_column=",
    summary_column="--set data.summary_column=",
    id_column="--set data.id_column=",
    encoding="--set data.encoding=",
    on_bad="--on-bad ",
    others="--set data.",
)


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
        self.on_bad = on_bad
        self.report = report
        self._corpus = load_config(corpus_overrides(data, split=split)).data if data else None
        self._overrides = [*settings, *(["data.on_bad=skip"] if on_bad == "skip" else [])]

    def config(self, base: Config) -> Config:
        """`base` as asked for: DATA for its corpus, where that was given."""
        asked = replace(base, data=self._corpus or base.data)
        return change_config(asked, self._overrides, sections=["data", "decode"])

    def pairs(self, config: Config) -> tuple[list[Pair], int]:
        """The pairs, and the number of bad rows that were skipped."""
        from pgsum.data.sources import open_split

        reading = partial(self.report, "reading the corpus")
        found = open_split(config.data, self.split, progress=reading, options=_OPTIONS)
        for sentence in found.notes:
            console.note(sentence)
        pairs = [Pair(row["id"], row["document"], tuple(row["references"])) for row in found.pairs]
        return pairs, found.skipped


@dataclass(frozen=True)
class Scored:
    """A system, what it is called, and the pairs that it is to be scored on.

    `skipped` is the number of bad rows that were left out.
    """

    name: str
    system: "System"
    pairs: Sequence[Pair]
    skipped: int
    config: Config
    inputs: Mapping[str, str]


def in_file(
    predictions: Path, asked: Asked, prediction_column: str | None, reference_column: str | None
) -> Scored:
    """What a file holds: with its own references, or matched with the pairs of DATA."""
    from pgsum.evaluation import recorded
    from pgsum.predictions import match_predictions, read_predictions

    config = asked.config(Config())
    found = read_predictions(
        predictions,
        references=asked.data is None,
        prediction_column=prediction_column,
        reference_column=reference_column,
        encoding=config.data.encoding,
        on_bad=asked.on_bad,
    )
    for sentence in found.notes:
        console.note(sentence)
    inputs = {"predictions": str(predictions)}
    if asked.data is None:
        system = recorded(found.texts)
        return Scored(found.name, system, found.pairs, found.skipped, config, inputs)
    pairs, skipped = asked.pairs(config)
    system = recorded(match_predictions(found, pairs))
    inputs |= {"data": asked.data, "split": asked.split}
    return Scored(found.name, system, pairs, found.skipped + skipped, config, inputs)


def of_baseline(name: str, asked: Asked) -> Scored:
    """What a system without parameters writes, such as lead-3."""
    from pgsum.evaluation import named_system

    system = named_system(name)
    config = asked.config(Config())
    inputs = {"data": asked.data or config.data.name, "split": asked.split}
    return Scored(name, system, *asked.pairs(config), config, inputs)


def of_model(model: str | None, asked: Asked, *, device: str | None, threads: int | None) -> Scored:
    """What a model writes: about DATA, or else about the corpus that it was trained on."""
    folder = choose_model(model)
    summarizer = load_summarizer(folder, device=device, threads=threads)
    config = asked.config(summarizer.bundle.config)

    system = partial(_summarize_all, summarizer, decode=config.decode, report=asked.report)
    inputs = {"model": str(folder), "data": asked.data or config.data.name, "split": asked.split}
    return Scored(run_name(folder), system, *asked.pairs(config), config, inputs)


def _summarize_all(
    summarizer: "Summarizer", documents: Sequence[str], *, decode: DecodeConfig, report: Report
) -> list[str]:
    texts: list[str] = []
    for first in range(0, len(documents), _DOCUMENTS_AT_ONCE):
        best = summarizer.summarize(
            documents[first : first + _DOCUMENTS_AT_ONCE],
            decode=decode,
            progress=lambda done: report("summarizing", len(texts) + done, len(documents)),
        )
        texts.extend(summaries[0].text for summaries in best)
    return texts
