"""A comparison for a terminal, for a page, for a paper and for a program; nothing is counted here.

Names of systems come from files: each form escapes what it would take for its own signs.
"""

import json
import re
from collections.abc import Callable, Sequence

from rich.table import Table
from rich.text import Text

from pgsum.metrics.comparison import (
    BOOTSTRAP_TRIALS,
    RANDOMIZATION_TRIALS,
    Comparison,
    Difference,
)
from pgsum.metrics.report import HEADINGS, measures_content, measures_rows, measures_table

_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>|#]")
_LATEX = re.compile(r"[\\&%$#_{}~^|<>]")
_LATEX_WORDS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
_NOT_TRUTH = (
    "ROUGE counts words shared with references: more of them is neither more truth nor better "
    "style, and another seed of the same training may differ by as much."
)
_NO_TEST = "How systems wrote is counted only: no test says what of its differences is chance."
_HEADING = ("system", "metric", "F1", "difference", "95% interval", "p")


def table(comparison: Comparison) -> Table:
    """Means, and below them the difference, its interval and p; at most 80 columns wide."""
    drawn = Table(box=None, padding=(0, 1, 0, 0))
    for column in ("system", *HEADINGS.values()):
        drawn.add_column(column, overflow="fold")
    for name, means in comparison.means.items():
        by_metric = {difference.metric: difference for difference in comparison.of(name)}
        cells = [_cell(means[metric], by_metric.get(metric)) for metric in HEADINGS]
        # Text, so that brackets are not taken for markup.
        drawn.add_row(Text(name), *map(Text, cells))
    return drawn


def measures(comparison: Comparison) -> Table:
    """How each system wrote, beside the references."""
    return measures_table(comparison.measures, comparison.references)


def sentences(comparison: Comparison) -> list[str]:
    """What may be said of each comparison, what the figures are, and what they are not."""
    return [
        *(_verdict(comparison.of(name)) for name in list(comparison.means)[1:]),
        _method(comparison),
        _NO_TEST,
        _NOT_TRUTH,
    ]


def line(comparison: Comparison) -> str:
    """All of it in one line, to be pasted into a paper."""
    found = [
        f"{name} against {differences[0].against}: "
        + ", ".join(f"{HEADINGS[d.metric]} {_in_words(d)}" for d in differences)
        for name in list(comparison.means)[1:]
        if (differences := comparison.of(name))
    ]
    return f"{'; '.join(found)}. {_method(comparison)} {comparison.signature}"


def markdown(comparison: Comparison) -> str:
    """Tables of GitHub's kind: a row for each system and metric, then one for each measure; and
    what they do not say.
    """
    return "\n".join(
        [
            *_markdown_table([_HEADING, *_rows(comparison, _escape_markdown)]),
            "",
            *_markdown_table(_measures_rows(comparison, _escape_markdown)),
            "",
            _NO_TEST,
            "",
            _NOT_TRUTH,
        ]
    )


def latex(comparison: Comparison) -> str:
    """Two of `tabular` that need no package, the latter of measures; what their figures do not say
    is a comment below.
    """
    heading = [_escape_latex(cell) for cell in _HEADING]
    found = _measures_rows(comparison, _escape_latex)
    return "\n".join(
        [
            *_tabular("llrrrr", [heading, *_rows(comparison, _escape_latex)]),
            "",
            *_tabular("l" + "r" * (len(found[0]) - 1), found),
            f"% {_NO_TEST}",
            f"% {_NOT_TRUTH}",
        ]
    )


def comparison_json(comparison: Comparison) -> str:
    """Everything, for a program; the same comparison gives the same bytes."""
    content = {
        "signature": comparison.signature,
        "n": comparison.n,
        "seed": comparison.seed,
        "bootstrap_trials": BOOTSTRAP_TRIALS,
        "randomization_trials": RANDOMIZATION_TRIALS,
        "systems": {
            name: {metric: round(mean, 4) for metric, mean in means.items()}
            for name, means in comparison.means.items()
        },
        "comparisons": [
            {
                "system": d.system,
                "against": d.against,
                "metric": d.metric,
                "difference": round(d.value, 4),
                "low": round(d.low, 4),
                "high": round(d.high, 4),
                "p": round(d.p, 6),
                "p_holm": round(d.p_holm, 6),
                "distinguishable": d.distinguishable,
            }
            for d in comparison.differences
        ],
        "measures": measures_content(comparison.measures),
        "references": measures_content({"": comparison.references})[""],
        "line": line(comparison),
        "caution": _NOT_TRUTH,
    }
    return json.dumps(content, indent=2)


def _cell(mean: float, difference: Difference | None) -> str:
    if difference is None:
        return f"{mean:.2f}"
    interval = f"[{difference.low:+z.2f}, {difference.high:+z.2f}]"
    return f"{mean:.2f}\n{difference.value:+z.2f}\n{interval}\n{_p(difference)}"


def _verdict(differences: Sequence[Difference]) -> str:
    """Which metrics tell the two apart."""
    groups: dict[str, list[str]] = {"higher": [], "lower": [], "not distinguishable": []}
    for d in differences:
        kind = (
            ("higher" if d.value > 0 else "lower") if d.distinguishable else "not distinguishable"
        )
        groups[kind].append(HEADINGS[d.metric])
    found = "; ".join(f"{kind} by {', '.join(names)}" for kind, names in groups.items() if names)
    return f"{differences[0].system} against {differences[0].against}: {found}."


def _method(comparison: Comparison) -> str:
    correction = ", p after Holm for several systems" if comparison.several else ""
    return (
        "Differences of mean F1 in points, 95% intervals by paired bootstrap "
        f"({BOOTSTRAP_TRIALS:,} samples), p by approximate randomization "
        f"({RANDOMIZATION_TRIALS:,} trials), two-sided{correction}, seed {comparison.seed}."
    )


def _in_words(d: Difference) -> str:
    doubt = "" if d.distinguishable else ", not distinguishable"
    return f"{d.value:+z.2f} [{d.low:+z.2f}, {d.high:+z.2f}] ({_p(d)}{doubt})"


def _rows(comparison: Comparison, escape: Callable[[str], str]) -> Sequence[Sequence[str]]:
    (first, means), *_ = comparison.means.items()
    alone = [
        (escape(first), heading, f"{means[metric]:.2f}", "", "", "")
        for metric, heading in HEADINGS.items()
    ]
    compared = [
        (
            escape(name),
            HEADINGS[d.metric],
            f"{comparison.means[name][d.metric]:.2f}",
            f"{d.value:+z.2f}",
            f"[{d.low:+z.2f}, {d.high:+z.2f}]",
            f"{d.p_holm:.4f}" + ("" if d.distinguishable else ", not distinguishable"),
        )
        for name in comparison.means
        for d in comparison.of(name)
    ]
    return alone + compared


def _measures_rows(comparison: Comparison, escape: Callable[[str], str]) -> list[list[str]]:
    found = measures_rows(comparison.measures, comparison.references)
    return [[escape(cell) for cell in row] for row in found]


def _markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    heading, *body = rows
    return [f"| {' | '.join(row)} |" for row in (heading, ["---"] * len(heading), *body)]


def _tabular(columns: str, rows: Sequence[Sequence[str]]) -> list[str]:
    heading, *body = (rf"{' & '.join(row)} \\" for row in rows)
    return [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\hline",
        heading,
        r"\hline",
        *body,
        r"\hline",
        r"\end{tabular}",
    ]


def _p(d: Difference) -> str:
    return f"p = {d.p_holm:.4f}"


def _escape_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", text)


def _escape_latex(text: str) -> str:
    return _LATEX.sub(lambda sign: _LATEX_WORDS.get(sign[0], f"\\{sign[0]}"), text)
