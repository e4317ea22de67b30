"""The runs of the ladder: found, scored on all validation pairs, and measured.

Knows run folders and figures. Knows nothing of the page that they are shown on.
"""

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from commands import shown_command

import pgsum
from pgsum import Summarizer
from pgsum.bundle import sha256
from pgsum.config import Config, from_dict, to_dict
from pgsum.data.records import Pair
from pgsum.data.sources import Corpus, open_corpus
from pgsum.errors import DataError
from pgsum.evaluation import evaluate
from pgsum.metrics.bootstrap import bootstrap_intervals
from pgsum.metrics.copying import Ratio, duplicate_ngrams, oovs_produced
from pgsum.results import write_evaluation
from pgsum.systems import Baseline, recorded
from pgsum.text.vocab import Vocab

TRIALS, SEED = 1000, 12345  # of the bootstrap, as in `pgsum evaluate`
ROUGE = ("rouge1", "rouge2", "rougeL")
EVALUATION = ("metrics.json", "predictions.jsonl", "run.json")


@dataclass(frozen=True)
class Run:
    """One training, as its folder tells of it."""

    folder: Path
    record: Mapping[str, Any]
    config: Config

    @property
    def seed(self) -> int:
        return int(self.record["seed"])

    @property
    def cpu_minutes(self) -> float:
        return float(self.record["steps_cpu_seconds"]) / 60

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.load(self.folder / "vocab.json")

    @property
    def command(self) -> str:
        """As it was given, with RUNS and DIR in place of folders of one machine."""
        return shown_command(self.record["command"], out=f"RUNS/{self.folder.name}")

    def curve(self) -> list[tuple[float, float]]:
        """Minutes of CPU and ROUGE-1 at each validation; steps are taken to cost alike."""
        lines = (self.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        minutes_a_step = self.cpu_minutes / self.record["steps"]
        return [
            (line["step"] * minutes_a_step, line["val_rouge1"])
            for line in map(json.loads, lines)
            if "val_rouge1" in line
        ]


@dataclass(frozen=True)
class Measured:
    """One figure, the ratio of two sums: `found` and `total` are those of each document."""

    found: np.ndarray
    total: np.ndarray

    @property
    def figure(self) -> float:
        """In percent; 0 of nothing."""
        return 100 * float(self.found.sum()) / max(float(self.total.sum()), 1.0)

    @property
    def parts(self) -> np.ndarray:
        """What each document adds: their mean is the figure, and an interval of their mean is one
        of the figure.  The delta method: the ratio, linear around the means of its two sums.
        """
        mean_total = max(float(self.total.mean()), 1 / len(self.total))
        return self.figure + (100 * self.found - self.figure * self.total) / mean_total

    @property
    def interval(self) -> tuple[float, float]:
        return interval(self.parts)


Figures = dict[str, Measured]
"""By measure."""


def interval(parts: np.ndarray) -> tuple[float, float]:
    """Of 95%, of the mean over other documents of the same kind."""
    rng = np.random.default_rng(SEED)
    low, high = bootstrap_intervals(parts[:, None], trials=TRIALS, rng=rng)[0].tolist()
    return low, high


def find_runs(folder: Path, names: Iterable[str]) -> dict[str, list[Run]]:
    """The finished runs of each name that has one, in the order of their seeds.

    DataError where there is none, or where they cannot be compared.
    """
    runs: dict[str, list[Run]] = {}
    for name in names:
        records = sorted(folder.glob(f"{name}-[0-9]*/run.json"))
        if found := [_read_run(record.parent) for record in records]:
            runs[name] = sorted(found, key=lambda run: run.seed)
    if not runs:
        raise DataError(
            "The folder holds no run of the ladder, such as seq2seq-1.",
            where=str(folder),
            hint="docs/ladder.md has the commands that make them",
        )
    every = [run for several in runs.values() for run in several]
    _check_alike("corpora", {run.folder.name: run.record["corpus"]["fingerprint"] for run in every})
    _check_alike("vocabularies", {run.folder.name: run.record["vocabulary"] for run in every})
    _check_alike("settings of text", {run.folder.name: run.config.text for run in every})
    _check_alike("settings of search", {run.folder.name: run.config.decode for run in every})
    return runs


def _read_run(folder: Path) -> Run:
    settings = json.loads((folder / "model/config.json").read_text(encoding="utf-8"))
    sections = {section: settings[section] for section in to_dict(Config())}
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return Run(folder, record, from_dict(sections))


def _check_alike(what: str, values: Mapping[str, object]) -> None:
    first, *others = values
    if other := next((name for name in others if values[name] != values[first]), None):
        raise DataError(
            f"{first} and {other} cannot be compared: they have different {what}.",
            hint="train one of them anew",
        )


def open_validation(run: Run, data: Path) -> tuple[list[Pair], Corpus]:
    """The validation pairs in `data`; DataError where the run was trained on something else."""
    corpus = open_corpus(replace(run.config.data, root=str(data)))
    if corpus.fingerprint != run.record["corpus"]["fingerprint"]:
        raise DataError(
            f"{run.folder.name} was trained on another corpus.",
            where=str(data),
            hint="name with --data the folder that it was trained on",
        )
    rows = corpus.validation
    return [Pair(row["id"], row["document"], tuple(row["references"])) for row in rows], corpus


def figures_of_run(run: Run, pairs: Sequence[Pair], corpus: Corpus) -> Figures:
    """All measures of a run, from the folder of its evaluation."""
    folder = _evaluated(run, pairs, corpus)
    lines = (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    scores = [{metric: row[metric]["f"] / 100 for metric in ROUGE} for row in rows]
    return _figures([row["prediction"] for row in rows], scores, pairs, run)


def figures_of_lead(pairs: Sequence[Pair], run: Run) -> tuple[Figures, str]:
    """The same of each document's first sentence, and the signature of all ROUGE figures."""
    evaluation = evaluate(
        pairs,
        {"lead-1": Baseline("lead-1")},
        baselines=False,
        trials=TRIALS,
        seed=SEED,
        workers=1,
    )
    lead = evaluation.systems["lead-1"]
    scores = [{metric: each[metric].f for metric in ROUGE} for each in lead.scores]
    return _figures(lead.predictions, scores, pairs, run), evaluation.signature


def _evaluated(run: Run, pairs: Sequence[Pair], corpus: Corpus) -> Path:
    """The folder of the run's evaluation, made where there is none of this model and corpus."""
    folder = run.folder / "evaluation"
    made_from = {
        "model": sha256(run.folder / "model/MANIFEST.json"),
        "corpus": corpus.fingerprint,
        "split": "validation",
        "pgsum": pgsum.__version__,
    }
    if all((folder / name).is_file() for name in EVALUATION):
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        if record["inputs"] == made_from:
            return folder
    for name in EVALUATION:
        (folder / name).unlink(missing_ok=True)
    started = time.monotonic()
    print(f"{run.folder.name}: summarizing {len(pairs):,} documents", file=sys.stderr, flush=True)
    summaries = Summarizer.load(run.folder).summarize([pair.document for pair in pairs])
    system = recorded([several[0].text for several in summaries])
    write_evaluation(
        folder,
        evaluate(pairs, {run.folder.name: system}, trials=TRIALS, seed=SEED, workers=1),
        command=sys.argv,
        config=to_dict(run.config),
        inputs=made_from,
        seconds=time.monotonic() - started,
    )
    return folder


def _figures(
    texts: Sequence[str], scores: Sequence[Mapping[str, float]], pairs: Sequence[Pair], run: Run
) -> Figures:
    """Of what one system wrote; which words are outside the vocabulary is asked of `run`."""
    lowercase = run.config.text.lowercase
    counts: dict[str, list[Ratio]] = {
        "oovs": [
            oovs_produced(text, pair.references[0], run.vocab, lowercase=lowercase)
            for text, pair in zip(texts, pairs, strict=True)
        ],
        "words": [duplicate_ngrams(text, 1) for text in texts],
        "bigrams": [duplicate_ngrams(text, 2) for text in texts],
    }
    means = {
        metric: Measured(np.array([each[metric] for each in scores]), np.ones(len(texts)))
        for metric in ROUGE
    }
    return means | {
        measure: Measured(*np.array(shares, dtype=float).T) for measure, shares in counts.items()
    }
