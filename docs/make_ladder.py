"""Make docs/ladder.md and its pictures from the runs of the ladder, and from nothing else.

    python docs/make_ladder.py RUNS --data DIR

RUNS holds seq2seq-1, seq2seq-2, additive-1, ...: a folder RUNS/NAME-N for each
`pgsum train experiment=ladder_NAME data.root=DIR trainer.seed=N --out RUNS/NAME-N`. Each is scored
on all validation pairs of DIR, once: figures and summaries stay in its folder evaluation/, which is
written anew where they are not that model's. What is explained stands in docs/ladder.template.md;
what depends on a number is said here, so that the same runs give the same bytes.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np
import torch
from blocks import beside_names, table
from draw_curves import draw_curves
from ladder_runs import (
    Figures,
    Run,
    figures_of_lead,
    figures_of_run,
    find_runs,
    interval,
    open_validation,
)

from pgsum import Summarizer
from pgsum.config import load_config, to_dict
from pgsum.data.records import Pair
from pgsum.errors import PgsumError
from pgsum.explain.content import Explained
from pgsum.explain.heatmap import heatmap
from pgsum.metrics.copying import Ratio, duplicate_ngrams, oovs_produced
from pgsum.plain_yaml import written
from pgsum.text.tokenize import tokenize

HERE = Path(__file__).parent
SECTION = re.compile(r"<!-- rung: (\w+) -->\n(.*?)<!-- end -->\n", re.DOTALL)
SHOWN_TOKENS = 40  # of the document in the pictures, at most
UNSAID = ("name", "seed", "max_steps", "validate_every", "attention_size")  # no idea, or its size

MEASURES = {
    "rouge1": "R-1",
    "rouge2": "R-2",
    "rougeL": "R-L",
    "oovs": "target OOVs produced",
    "words": "repeated words",
    "bigrams": "repeated bigrams",
}


@dataclass(frozen=True)
class Claim:
    """What a paper has to say of a rung's figure beside another's: it is higher, or lower."""

    over: str
    measure: str
    says: str
    higher: bool = True


@dataclass(frozen=True)
class Rung:
    """One idea: the rung that it is added to, and what is claimed of it."""

    below: str | None
    claims: tuple[Claim, ...] = ()


RUNGS = {
    "seq2seq": Rung(None),
    "bidirectional": Rung(
        "seq2seq",
        (Claim("seq2seq", "rouge1", "Schuster and Paliwal 1997 found both directions better"),),
    ),
    "dot": Rung(
        "bidirectional",
        (
            Claim(
                "bidirectional",
                "rouge1",
                "Luong et al. 2015 (table 1) found attention better than a fixed vector",
            ),
        ),
    ),
    "scaled_dot": Rung(
        "dot",
        (
            Claim(
                "dot",
                "rouge1",
                "Vaswani et al. 2017 (section 3.2.1) expect it better where states are large",
            ),
        ),
    ),
    "general": Rung(
        "dot",
        (
            Claim(
                "dot",
                "rouge1",
                "Luong et al. 2015 (table 4) found it worse where the whole source is looked at",
                higher=False,
            ),
        ),
    ),
    "additive": Rung(
        "dot",
        (
            Claim(
                "bidirectional",
                "rouge1",
                "Bahdanau et al. 2015 (table 1) found attention better than a fixed vector",
            ),
            Claim(
                "dot",
                "rouge1",
                "Vaswani et al. 2017 (section 3.2.1) call it better where states are large",
            ),
        ),
    ),
    "pointer": Rung(
        "additive",
        (
            Claim("additive", "rouge1", "See et al. 2017 (table 1) found it better"),
            Claim("additive", "oovs", "See et al. 2017 (section 2.2) made it to say such words"),
        ),
    ),
    "coverage": Rung(
        "pointer",
        (
            Claim("pointer", "rouge1", "See et al. 2017 (table 1) found it better"),
            Claim(
                "pointer",
                "bigrams",
                "See et al. 2017 (figure 4) found that it ends repetition",
                higher=False,
            ),
        ),
    ),
    "conv": Rung(
        "pointer",
        (Claim("pointer", "rouge1", "Gehring et al. 2017 found it better than recurrence"),),
    ),
    "transformer": Rung(
        "pointer",
        (Claim("pointer", "rouge1", "Vaswani et al. 2017 (table 2) found it better than both"),),
    ),
}

WHY: dict[str, str] = {
    "scaled_dot": (
        "Perhaps since the reason for the division is missing: an LSTM's states lie between -1 "
        "and 1, and begin near 0, so their products begin small, and a softmax of small numbers"
        " is even. Divided by 16 they are smaller still. As the picture shows, after ten "
        "minutes attention is still spread over all words: what is read is their mean. Its "
        "curve still rises."
    ),
    "general": (
        "Perhaps since here the two sides are not of a kind: half of `h_i` comes from reading "
        "backwards, `s_t` knows one direction only, and without `W` both must come to speak the"
        " same language by themselves. Luong et al. had stacked forward LSTMs on both sides, "
        "and days of training."
    ),
    "coverage": (
        "There is little to end: a synopsis is one line of seven words, and the pointer repeats"
        " few already. See et al. summarize in several sentences, where it was worth three "
        "points; and a step costs more with coverage, so ten minutes hold fewer."
    ),
    "conv": (
        "It is not worse either, on two thirds of the steps. Gehring et al. compared models "
        "trained to the end, on far more pairs."
    ),
    "transformer": (
        "Its curve still rises when the ten minutes end. A Transformer must learn where words "
        "stand and that neighbours matter, which the others are built to know; 22,766 pairs and"
        " four passes are little for that. Vaswani et al. trained on millions of pairs, for "
        "half a day and more on eight GPUs."
    ),
}
"""By rung, by hand: why a figure is not what its paper says. The page asks where one is missing."""


class Page:
    """All that is said from the figures of the runs."""

    def __init__(
        self,
        runs: Mapping[str, Sequence[Run]],
        figures: Mapping[str, Sequence[Figures]],
        lead: Figures,
        pairs: Sequence[Pair],
    ) -> None:
        self.runs = runs
        self.first = {name: several[0] for name, several in runs.items()}
        self.of_seeds = figures
        self.figures = {name: several[0] for name, several in figures.items()}
        self.lead = lead
        self.pairs = pairs
        self.shared = next(iter(self.first.values()))  # whose text settings and vocabulary all have

    def scores(self) -> str:
        return table(
            ["", *MEASURES.values()],
            [
                [name, *(_with_interval(figures, measure) for measure in MEASURES)]
                for name, figures in {"lead-1": self.lead, **self.figures}.items()
            ],
        )

    def over_seeds(self) -> str:
        rows = [
            [
                name,
                ", ".join(str(run.seed) for run in self.runs[name]),
                *(_over_seeds(several, measure) for measure in MEASURES),
            ]
            for name, several in self.of_seeds.items()
            if len(several) > 1
        ]
        return table(["", "seeds", *MEASURES.values()], rows) if rows else "All have one seed."

    def costs(self) -> str:
        rows = []
        for name, run in self.first.items():
            record = run.record
            ended = "" if record["stopped"] == "finished" else f" ({record['stopped']})"
            a_thousand = 1000 * record["steps_cpu_seconds"] / record["target_tokens"]
            row = f"{record['parameters']:,}", f"{record['steps']:,}{ended}"
            rows.append([name, *row, f"{run.cpu_minutes:.1f}", f"{a_thousand:.2f}"])
        heading = ["", "parameters", "steps", "CPU minutes", "CPU s per 1,000 target tokens"]
        return table(heading, rows)

    def missing(self) -> str:
        names = [name for name in RUNGS if name not in self.runs]
        return f"Left out, for want of a run: {', '.join(names)}." if names else ""

    def words(self) -> str:
        """How many words there are to copy, and how many repeats the references have."""
        references = [pair.references[0] for pair in self.pairs]
        words = sum(len(tokenize(reference)) for reference in references)
        outside, all_outside = _sum(self.in_document(pair) for pair in self.pairs)
        repeated, bigrams = (
            _sum(duplicate_ngrams(reference, n) for reference in references) for n in (1, 2)
        )
        return (
            f"Of the {words:,} words of the references {all_outside:,} "
            f"({_percent(Ratio(all_outside, words))}) lie outside the vocabulary of "
            f"{len(self.shared.vocab):,}. Of these, {_percent(Ratio(outside, all_outside))} stand "
            "in what is read of the document: no pointer can do better. References repeat "
            f"{_percent(repeated)} of their own words and {_percent(bigrams)} of their bigrams."
        )

    def in_document(self, pair: Pair) -> Ratio:
        """Of the reference's words outside the vocabulary, those that can be copied."""
        text = self.shared.config.text
        read = tokenize(pair.document, max_tokens=text.max_source_tokens)
        return oovs_produced(
            pair.document[: read[-1].end],
            pair.references[0],
            self.shared.vocab,
            lowercase=text.lowercase,
        )

    def corpus(self) -> str:
        record = self.shared.record["corpus"]
        chosen = min(self.shared.config.trainer.validation_pairs, len(self.pairs))
        return (
            f"{record['training_pairs']:,} pairs to train on. There is no test file: figures are of"
            f" all {len(self.pairs):,} validation pairs, {chosen:,} of which also chose the weights"
            " (of the validations of a training, the one with the highest ROUGE-1 is kept), and so "
            "are a little above what a test would give. The corpus has the fingerprint "
            f"`{record['fingerprint']}`."
        )

    def versions(self) -> str:
        every = {
            ", ".join(f"{name} {version}" for name, version in run.record["versions"].items())
            for several in self.runs.values()
            for run in several
        }
        return "; others with ".join(sorted(every))

    def commands(self) -> str:
        trained = [run.command for several in self.runs.values() for run in several]
        return "\n".join(["```sh", *trained, "python docs/make_ladder.py RUNS --data DIR", "```"])

    def came_of(self, name: str) -> Iterator[str]:
        """What is said of a rung once it has been explained, a paragraph each."""
        yield f"Settings: {self.settings(name)}."
        if RUNGS[name].below is None:
            own, lead = (figures["rouge1"].figure for figures in (self.figures[name], self.lead))
            side = "above" if own > lead else "below"
            yield f"R-1: {own:.2f}, {abs(own - lead):.2f} {side} lead-1."
        all_hold = True
        for claim in RUNGS[name].claims:
            if claim.over in self.figures:
                compared, holds = self.verdict(name, claim)
                all_hold &= holds
                yield compared
        if not all_hold:
            yield WHY.get(name, f'(Why? To be said in `WHY["{name}"]` of docs/make_ladder.py.)')

    def settings(self, name: str) -> str:
        """What differs from the next rung below that is there, else from what all share."""
        below = RUNGS[name].below
        while below is not None and below not in self.first:
            below = RUNGS[below].below
        own = to_dict(self.first[name].config)
        other = to_dict(self.first[below].config if below else load_config(["experiment=ladder"]))
        changes = [
            f"`{section}.{key}={written(value)}`"
            for section in ("model", "optim", "trainer")
            for key, value in own[section].items()
            if value not in (other[section][key], None) and key not in UNSAID
        ]
        start = f"those of {below}" if below else "those that all rungs share"
        return f"{start}, and {', '.join(changes)}" if changes else start

    def verdict(self, name: str, claim: Claim) -> tuple[str, bool]:
        """A comparison in words, and whether the figures are as claimed.

        They are if the whole interval of the difference is, and if the difference is larger than
        what seeds make.
        """
        own, other = (self.figures[rung][claim.measure] for rung in (name, claim.over))
        difference = own.figure - other.figure
        low, high = interval(own.parts - other.parts)
        by_seed = self.by_seed((name, claim.over), claim.measure)
        apart = own.interval[0] > other.interval[1] or own.interval[1] < other.interval[0]
        label = MEASURES[claim.measure]
        percent = "" if claim.measure.startswith("rouge") else "%"
        compared = (
            f"{label[0].upper()}{label[1:]}: {own.figure:.2f}{percent} against "
            f"{other.figure:.2f}{percent} of {claim.over}. The difference is {difference:+.2f} "
            f"[{low:+.2f}, {high:+.2f}] over the same documents; the intervals of the two "
            f"{'do not overlap' if apart else 'overlap'}. {claim.says}"
        )
        if low <= 0 <= high:
            fault = "the interval of the difference holds 0"
        elif abs(difference) <= by_seed:
            fault = f"another seed alone makes a difference of up to {by_seed:.2f}"
        elif (difference > 0) != claim.higher:
            fault = f"it is {'higher' if difference > 0 else 'lower'}"
        else:
            return f"{compared}: so it is here.", True
        return f"{compared}; **not so here**: {fault}.", False

    def by_seed(self, names: Sequence[str], measure: str) -> float:
        """What another seed makes of a figure of these rungs; of any, where these have one seed."""
        own = [name for name in names if len(self.of_seeds[name]) > 1]
        return max(_range(self.of_seeds[name], measure) for name in own or self.of_seeds)

    def example(self) -> Pair:
        """The first short pair whose reference has a word that can only be copied; else the first.

        So the document of the pictures is not chosen by what was written about it.
        """
        fitting = (
            pair
            for pair in self.pairs
            if len(tokenize(pair.document)) <= SHOWN_TOKENS and self.in_document(pair).found
        )
        return next(fitting, self.pairs[0])

    def draw(self, folder: Path) -> tuple[str, str, dict[str, str]]:
        """Draws all pictures into `folder`; the curves as Markdown, the example in words, and by
        rung the picture of its attention.
        """
        folder.mkdir(parents=True, exist_ok=True)
        draw_curves(
            {name: run.curve() for name, run in self.first.items()},
            folder / "curves.svg",
            title="Learning curves",
            x_label="minutes of one core",
            y_label=f"ROUGE-1 on {self.shared.config.trainer.validation_pairs} pairs",
        )
        pair = self.example()
        texts = {"document": pair.document, "reference": pair.references[0]}
        pictures = {}
        for name, run in self.first.items():
            summary = Summarizer.load(run.folder)(pair.document)
            texts[name] = summary.text
            if run.config.model.attention != "none":
                picture = folder / f"alignment_{name}.svg"
                picture.write_text(heatmap(Explained(name, summary)), encoding="utf-8")
                pictures[name] = f"![Where {name} looks]({folder.name}/{picture.name})"
        curves = f"![Learning curves]({folder.name}/curves.svg)"
        return curves, beside_names(texts), pictures

    def text(self, template: str, *, pictures: Path, signature: str) -> str:
        """The page as `template` lays it out; what it shows is drawn into the folder `pictures`."""
        curves, example, alignments = self.draw(pictures)

        def filled(section: re.Match[str]) -> str:
            name, explained = section.groups()
            if name not in self.runs:
                return ""
            parts = [explained.rstrip("\n"), *self.came_of(name), alignments.get(name, "")]
            return "\n\n".join(filter(None, parts)).replace("$", "$$") + "\n"

        page = Template(SECTION.sub(filled, template)).substitute(
            scores=self.scores(),
            words=self.words(),
            missing=self.missing(),
            over_seeds=self.over_seeds(),
            costs=self.costs(),
            corpus=self.corpus(),
            signature=signature,
            versions=self.versions(),
            commands=self.commands(),
            curves=curves,
            example=example,
        )
        return re.sub(r"\n{3,}", "\n\n", page)


def _with_interval(figures: Figures, measure: str) -> str:
    measured = figures[measure]
    low, high = measured.interval
    return f"{measured.figure:.2f} [{low:.2f}, {high:.2f}]"


def _over_seeds(several: Sequence[Figures], measure: str) -> str:
    values = [figures[measure].figure for figures in several]
    return f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def _range(several: Sequence[Figures], measure: str) -> float:
    return float(np.ptp([figures[measure].figure for figures in several]))


def _sum(ratios: Iterable[Ratio]) -> Ratio:
    found, total = zip(*ratios, strict=True)
    return Ratio(sum(found), sum(total))


def _percent(ratio: Ratio) -> str:
    return f"{100 * ratio.found / max(ratio.total, 1):.1f}%"


def main(arguments: Sequence[str] | None = None) -> None:
    """Score what has not been scored, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", type=Path, help="the folder of seq2seq-1, additive-1, ...")
    parser.add_argument("--data", type=Path, required=True, help="what they were trained on")
    parser.add_argument("--out", type=Path, default=HERE / "ladder.md", help="docs/ladder.md")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)  # sums in another order may choose another word
    runs = find_runs(given.runs, RUNGS)
    any_run = next(iter(runs.values()))[0]
    pairs, corpus = open_validation(any_run, given.data)
    figures = {
        name: [figures_of_run(run, pairs, corpus) for run in several]
        for name, several in runs.items()
    }
    lead, signature = figures_of_lead(pairs, any_run)
    text = Page(runs, figures, lead, pairs).text(
        (HERE / "ladder.template.md").read_text(encoding="utf-8"),
        pictures=given.out.with_suffix(""),
        signature=signature,
    )
    given.out.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    try:
        main()
    except PgsumError as error:
        sys.exit(str(error))
