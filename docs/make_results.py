"""Make docs/results.md from the records in docs/results/, and keep records of runs there.

    python docs/make_results.py keep RUN SCORES [SCORES ...] --as NAME [--examples N]
    python docs/make_results.py

RUN is a folder of `pgsum train`, each SCORES one that `pgsum evaluate --out` wrote: of the run's
model, or of a baseline (--system) on the same pairs. NAME is a corpus, such as aeslc, or begins
with one: aeslc-leaks. What is explained stands in docs/results.template.md, what others published
in docs/result_corpora.py; the same records give the same bytes.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any

from blocks import beside_names, table
from result_corpora import CORPORA
from result_records import Record, Scores, keep, read_records

from pgsum.config import Config
from pgsum.errors import PgsumError
from pgsum.metrics.report import HEADINGS

HERE = Path(__file__).parent
SECTION = re.compile(r"<!-- corpus: (\w+) -->\n(.*?)<!-- end -->\n", re.DOTALL)
LEADS = re.compile(r"(lead|first)-\d+")
BASELINES = re.compile(r"(lead|first|random)-\d+|textrank|oracle")  # in the tables, in this order
OVERVIEW = ("rouge1", "rouge2", "rougeL")

Figures = Mapping[str, Mapping[str, float]]


def overview(records: Sequence[Record]) -> str:
    """A row for each evaluation of each model, beside the bar that it has to pass."""
    rows = []
    for record in records:
        for scores in record.of_model:
            own = scores.metrics["systems"][scores.system]
            bar = against_bar(record, scores)
            rows.append(
                [
                    record.corpus,
                    scored_on(scores),
                    f"`{record.name}`",
                    *(cell(own[metric]) for metric in OVERVIEW),
                    *((f"{bar[1]:.2f} ({bar[0]})", f"{bar[2]:+.2f}") if bar else ("", "")),
                    f"{record.train['parameters']:,}",
                    f"{cpu_minutes(record):.0f}",
                    published_briefly(record.corpus, scores.split),
                ]
            )
    headings = [HEADINGS[metric] for metric in OVERVIEW]
    more = ["bar, R-1", "above it", "parameters", "CPU minutes", "published, R-1/2/L"]
    return table(["corpus", "scored on", "run", *headings, *more], rows)


def section(records: Sequence[Record]) -> str:
    """All that was measured on one corpus."""
    about = CORPORA[records[0].corpus]
    parts = [f"Origin: {about.origin}. Licence: {about.licence}."]
    for record in records:
        parts += of_record(record)
    parts += leaks(records)
    if about.published:
        rows = [
            [each.system, " / ".join(each.rouge), each.split, each.source, each.tool]
            for each in about.published
        ]
        parts += ["### Published", table(["system", "R-1 / 2 / L", "on", "source", "ROUGE"], rows)]
    return "\n\n".join(parts)


def of_record(record: Record) -> Iterator[str]:
    """One training: how it was made, its figures beside the baselines', and examples."""
    yield f"### The run `{record.name}`"
    commands = [*record.train["commands"], *(scores.record["command"] for scores in record.scores)]
    yield "\n".join(["```sh", *dict.fromkeys(commands), "```"])
    yield how_trained(record)
    for scores in record.of_model:
        systems = record.systems_beside(scores)
        model = {f"`{record.name}`": systems.pop(scores.system)}
        rows = {**model, **{name: systems[name] for name in in_order(systems)}}
        yield f"On {scored_on(scores)}:"
        yield table(
            ["", *HEADINGS.values()],
            [
                [name, *(cell(by_metric[metric]) for metric in HEADINGS)]
                for name, by_metric in rows.items()
            ],
        )
        if bar := against_bar(record, scores):
            name, points, above = bar
            side = "above" if above > 0 else "below"
            yield f"R-1 is {abs(above):.2f} {side} the bar, {points:.2f} of {name}."
        if scores.split == "validation" and record.config.data.validate_on == "corpus":
            yield "These pairs chose the weights, too: figures are a little above a test's."
        yield f"`{scores.metrics['signature']}`"
    if record.examples is not None:
        yield from shown_examples(record.examples)


def how_trained(record: Record) -> str:
    """What it cost, and what it was trained with."""
    train = record.train
    hardware = train["hardware"]
    cores = f"{hardware['cores']} cores ({hardware['cpu']})" if hardware else "unknown cores"
    threads = "1 thread" if train["threads"] == 1 else f"{train['threads']} threads"
    begun = train["times_begun"]
    whole = (
        f"{train['seconds'] / 60:.1f} minutes from start to end, with validation"
        if begun == 1
        else f"begun anew {begun - 1} times"
    )
    ended = "" if train["stopped"] == "finished" else ", when it no longer got better"
    versions = train["versions"]
    vectors = train["word_vectors"]
    known = f"word vectors for {vectors['found']:,} words; " if vectors else ""
    return (
        f"Seed {train['seed']}; {train['parameters']:,} parameters; {known}"
        f"{train['corpus']['training_pairs']:,} training pairs; {train['steps']:,} steps{ended}, "
        f"{cpu_minutes(record):.1f} CPU minutes; {whole}; {threads} of {cores}; pgsum "
        f"{versions['pgsum']}, torch {versions['torch']}, Python {versions['python']}."
    )


def leaks(records: Sequence[Record]) -> Iterator[str]:
    """Trainings that differ in nothing but in whether documents of other splits were learned."""
    kept = [record for record in records if record.config.data.leaks == "keep"]
    dropped = [record for record in records if record.config.data.leaks == "drop"]
    rows = [
        [
            scored_on(one),
            *(f"{record.train['corpus']['training_pairs']:,}" for record in (before, after)),
            *(
                " / ".join(
                    f"{scores.metrics['systems'][scores.system][metric]['f']:.2f}"
                    for metric in OVERVIEW
                )
                for scores in (one, other)
            ),
        ]
        for before in kept
        for after in dropped
        if but_for_leaks(before.config) == but_for_leaks(after.config)
        for one in before.of_model
        for other in after.of_model
        if one.pairs == other.pairs
    ]
    if rows:
        yield "### Training documents that are held-out documents, too"
        heading = ["scored on", "pairs with them", "without", "R-1 / 2 / L with them", "without"]
        yield table(heading, rows)


def but_for_leaks(config: Config) -> Config:
    """What two trainings must have in common for a leak to be the difference."""
    return replace(config, name=None, data=replace(config.data, leaks="keep", root=None))


def shown_examples(examples: Mapping[str, Any]) -> Iterator[str]:
    """Good, middling and bad ones, each with its id and scores."""
    yield "### Examples"
    yield (
        f"Drawn by lot from the best, the middle and the worst tenth of `{examples['scores']}` by "
        "R-1 + R-2 + R-L; documents are cut."
    )
    for kind in ("good", "middling", "bad"):
        yield f"{kind.capitalize()}:"
        for example in examples[kind]:
            several = len(example["references"]) > 1
            references = {
                f"reference {number}" if several else "reference": text
                for number, text in enumerate(example["references"], start=1)
            }
            rouge = " / ".join(f"{points:.2f}" for points in example["rouge"])
            yield beside_names(
                {
                    "id": f"{example['id']}, R-1 / 2 / L {rouge}",
                    "document": example["document"],
                    **references,
                    "summary": example["summary"],
                }
            )


def against_bar(record: Record, scores: Scores) -> tuple[str, float, float] | None:
    """The strongest lead-k or first-k row by R-1, its R-1, and how far above that the model is.

    In points; None where no such row was kept.
    """
    systems = record.systems_beside(scores)
    own = systems.pop(scores.system)["rouge1"]["f"]
    leads = {name: row["rouge1"]["f"] for name, row in systems.items() if LEADS.fullmatch(name)}
    if not leads:
        return None
    bar = max(leads, key=lambda name: (leads[name], name))
    return bar, leads[bar], own - leads[bar]


def in_order(systems: Mapping[str, Figures]) -> list[str]:
    """Baselines by kind, those of a kind by their number; `document` is no summary."""

    def place(name: str) -> tuple[int, int]:
        kind, _, number = name.partition("-")
        return ("lead", "first", "random", "textrank", "oracle").index(kind), int(number or 0)

    return sorted(filter(BASELINES.fullmatch, systems), key=place)


def scored_on(scores: Scores) -> str:
    """Which pairs, and how many."""
    return f"{scores.split}, {scores.metrics['n']:,} pairs"


def published_briefly(corpus: str, split: str) -> str:
    """What others have on this split."""
    found = [each for each in CORPORA[corpus].published if each.split == split]
    return "; ".join(f"{' / '.join(each.rouge)}" for each in found)


def cpu_minutes(record: Record) -> float:
    """Of the steps alone, over all times that it was begun."""
    return float(record.train["steps_cpu_seconds"]) / 60


def cell(figure: Mapping[str, float]) -> str:
    """A figure with its interval, in points."""
    return f"{figure['f']:.2f} [{figure['low']:.2f}, {figure['high']:.2f}]"


def page(records: Sequence[Record], template: str) -> str:
    """The page as `template` lays it out; corpora without a record are named in one line."""
    by_corpus = {
        corpus: [record for record in records if record.corpus == corpus] for corpus in CORPORA
    }
    missing = [corpus for corpus, several in by_corpus.items() if not several]
    ordered = [record for several in by_corpus.values() for record in several]

    def shown(found: re.Match[str]) -> str:
        corpus, text = found.groups()
        return str(text) if by_corpus[corpus] else ""

    text = Template(SECTION.sub(shown, template)).substitute(
        overview=overview(ordered) if ordered else "No run has been kept yet.",
        missing=f"Left out, for want of a run: {', '.join(missing)}." if missing else "",
        **{corpus: section(several) for corpus, several in by_corpus.items() if several},
    )
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Keep a record, or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=Path, default=HERE / "results", metavar="DIR")
    parser.add_argument("--out", type=Path, default=HERE / "results.md", metavar="FILE")
    verbs = parser.add_subparsers(dest="verb")
    keeping = verbs.add_parser("keep", help="copy what the page needs of a run")
    keeping.add_argument("run", type=Path, help="a folder of pgsum train")
    keeping.add_argument("scores", type=Path, nargs="+", help="folders of pgsum evaluate --out")
    keeping.add_argument("--as", dest="name", required=True, help="CORPUS or CORPUS-WORD")
    keeping.add_argument("--examples", type=int, metavar="N", help="good, middling, bad: N of each")
    given = parser.parse_args(arguments)
    if given.verb == "keep":
        kept = keep(
            given.run, given.scores, name=given.name, into=given.records, examples=given.examples
        )
        print(kept)
        return
    template = (HERE / "results.template.md").read_text(encoding="utf-8")
    text = page(read_records(given.records), template)
    given.out.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    try:
        main()
    except PgsumError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
