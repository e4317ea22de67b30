"""A summary's attention as a picture: source tokens across, words down, p_gen beside them.

Needs matplotlib, which comes with the extra `plot`. Text stays text in the file, so whoever shows
it brings the letters: Chinese, too.
"""

import io
import warnings

import matplotlib
from matplotlib.figure import Figure

from pgsum.explain.content import Explained, has_pointer

_FIELD = 0.34  # inches


def heatmap(explained: Explained) -> str:
    """The picture as SVG: the darker a field, the more attention."""
    summary = explained.summary
    words, tokens = summary.attention.shape
    # Text stays text, and the same summary gives the same file.
    style = matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pgsum", "font.size": 9})
    with style, warnings.catch_warnings():
        # It is whoever shows the file that needs the letters.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure = Figure(figsize=(1.6 + _FIELD * tokens, 1.4 + _FIELD * words))
        axes = figure.add_subplot()
        axes.imshow(summary.attention, cmap="Greys", vmin=0, vmax=1, aspect="equal")
        axes.set_xticks(range(tokens), map(_shown, summary.source_tokens), rotation=60, ha="left")
        axes.set_yticks(range(words), map(_shown, summary.tokens))
        axes.xaxis.tick_top()
        axes.tick_params(axis="x", rotation_mode="anchor")
        axes.tick_params(length=0)
        axes.set_title(_shown(explained.name))
        if has_pointer(summary):
            beside = axes.secondary_yaxis("right")
            beside.set_yticks(range(words), [f"{p_gen:.2f}" for p_gen in summary.p_gen])
            beside.set_ylabel("p_gen")
            beside.tick_params(length=0)
        svg = io.StringIO()
        figure.savefig(svg, format="svg", bbox_inches="tight", metadata={"Date": None})
    return svg.getvalue()


def _shown(text: str) -> str:
    """Text as it stands: matplotlib takes what is between two dollars for a formula."""
    return text.replace("$", r"\$")
