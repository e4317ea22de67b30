"""What `--report` shows of an evaluation: its figures, its rows, and some of them explained."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pgsum.cli import console
from pgsum.cli.explanations import check_target
from pgsum.cli.scored import Scored
from pgsum.config import DecodeConfig
from pgsum.plain_yaml import written
from pgsum.settings import own_settings

if TYPE_CHECKING:
    from pgsum.evaluation import Evaluation
    from pgsum.explain.content import Explained
    from pgsum.explain.report import Row

_STATISTICS = ("words", "novel_2grams", "coverage", "repeated_3grams", "p_gen")
"""Of all that is measured, what has a column and a histogram."""
_CHOSEN_BY = "rouge2"


def check_report(target: str) -> None:
    """Raises ConfigError where no page could be written to `target`, before any work is done."""
    hint = "name a file that ends in .html"
    check_target("--report", Path(target), endings=[".html"], hint=hint)


def write_report(target: str, evaluation: "Evaluation", scored: Scored, *, examples: int) -> None:
    """The page of the system that was asked for; where it is a model, so many examples explained.

    A third of them are the best, a third the worst, the rest drawn by the evaluation's seed.
    """
    from pgsum.explain.report import Report
    from pgsum.explain.report import examples as chosen
    from pgsum.explain.report import write_report as write
    from pgsum.metrics.report import captions, measures_rows, rows

    scores = [row[_CHOSEN_BY].f for row in evaluation.systems[evaluation.system].scores]
    places = chosen(scores, examples, seed=evaluation.seed)
    report = Report(
        title=f"{evaluation.system}: evaluation",
        figures=rows(evaluation.figures),
        signature=evaluation.signature,
        measures=measures_rows(*evaluation.measures),
        settings=_changed(scored.config.decode) if scored.explain else [],
        rows=_rows(evaluation),
        explained=_explained(evaluation, places, scored),
        notes=[*evaluation.notes, *captions(evaluation.figures)],
    )
    write(Path(target), report)
    console.note(f"written: {target}")


def _changed(decode: DecodeConfig) -> list[str]:
    """The settings that are not the defaults, as one would give them to `--set`."""
    return [
        f"{setting.key}={written(value)}"
        for setting in own_settings(DecodeConfig)
        if (value := getattr(decode, setting.name)) != setting.default
    ]


def _rows(evaluation: "Evaluation") -> "list[Row]":
    from pgsum.explain.report import Row
    from pgsum.metrics.measures import MEASURES

    result = evaluation.systems[evaluation.system]
    rows = []
    for pair, text, scores, measured in zip(
        evaluation.pairs, result.predictions, result.scores, evaluation.measured, strict=True
    ):
        ratios = measured.summary
        rows.append(
            Row(
                id=pair.id,
                prediction=text,
                references=pair.references,
                scores={metric: score.f for metric, score in scores.items()},
                statistics={
                    MEASURES[name].label: ratios[name].found / ratios[name].total
                    for name in _STATISTICS
                    if name in ratios and ratios[name].total
                },
                flags=frozenset(
                    measure.problem
                    for name, measure in MEASURES.items()
                    if measure.problem and name in ratios and ratios[name].found
                ),
            )
        )
    return rows


def _explained(
    evaluation: "Evaluation", places: Sequence[int], scored: Scored
) -> "list[Explained]":
    from pgsum.explain.content import Explained

    if scored.explain is None or not places:
        return []
    scores = evaluation.systems[evaluation.system].scores
    pairs = [evaluation.pairs[place] for place in places]
    summaries = scored.explain([pair.document for pair in pairs])
    return [
        Explained(
            pair.id,
            summary,
            pair.references,
            {metric: score.f for metric, score in scores[place].items()},
        )
        for pair, summary, place in zip(pairs, summaries, places, strict=True)
    ]
