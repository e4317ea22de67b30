"""Draw where a model looked: its attention, source tokens across and its own words down.

    python docs/draw_alignment.py RUN 'Tuesday, the 3rd of March 1987' docs/dates.svg

RUN is a run folder or a bundle. The darker a field, the more attention; beside each word stands its
p_gen, the probability of generating rather than copying, where the model has a pointer.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot

import pgsum

FIELD = 0.34  # inches
# Text stays text, and the same summary gives the same file.
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "pgsum", "font.size": 9}


def draw_alignment(summary: pgsum.Summary, path: Path, *, title: str) -> None:
    """Write the picture of a summary's attention (words, source tokens) to an SVG file."""
    words, tokens = summary.attention.shape
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(1.6 + FIELD * tokens, 1.4 + FIELD * words))
        axes.imshow(summary.attention, cmap="Greys", vmin=0, vmax=1, aspect="equal")
        axes.set_xticks(range(tokens), map(shown, summary.source_tokens), rotation=60, ha="left")
        axes.set_yticks(range(words), map(shown, summary.tokens))
        axes.xaxis.tick_top()
        axes.tick_params(axis="x", rotation_mode="anchor")
        axes.tick_params(length=0)
        axes.set_title(shown(title))
        if any(p_gen < 1 for p_gen in summary.p_gen):
            beside = axes.secondary_yaxis("right")
            beside.set_yticks(range(words), [f"{p_gen:.2f}" for p_gen in summary.p_gen])
            beside.set_ylabel("p_gen")
            beside.tick_params(length=0)
        figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)


def shown(text: str) -> str:
    """Text as it stands: matplotlib takes what is between two dollars for a formula."""
    return text.replace("$", r"\$")


def main() -> None:
    """Summarize a document and draw where the model looked."""
    run, document, path = sys.argv[1:]
    summary = pgsum.Summarizer.load(run)(document)
    draw_alignment(summary, Path(path), title="Attention: the darker, the more")


if __name__ == "__main__":
    main()
