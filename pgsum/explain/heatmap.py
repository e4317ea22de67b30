"""A summary's attention as a picture: source tokens across, words down, p_gen beside them.

Needs matplotlib, which comes with the extra `plot`. Text stays text in the file, so whoever shows
it brings the letters: Chinese, too.
"""

import io
import re
import warnings

import matplotlib
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from pgsum.explain.content import NO_ATTENTION, Explained, has_attention, has_pointer

_FIELD = 0.34  # inches
_NOT_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def heatmap(explained: Explained) -> str:
    """The picture as SVG: the darker a field, the more attention, by its square root.

    Of a model without attention there is nothing to draw, and the picture says so.
    """
    # Text stays text, and the same summary gives the same file.
    style = matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pgsum", "font.size": 9})
    with style, warnings.catch_warnings():
        # It is whoever shows the file that needs the letters.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure = _grid(explained) if has_attention(explained.summary) else _sentence(explained)
        svg = io.StringIO()
        figure.savefig(svg, format="svg", bbox_inches="tight", metadata={"Date": None})
    return svg.getvalue()


def _grid(explained: Explained) -> Figure:
    summary = explained.summary
    words, tokens = summary.attention.shape
    figure = Figure(figsize=(1.6 + _FIELD * tokens, 1.4 + _FIELD * words))
    axes = figure.add_subplot()
    # Over a hundred tokens each gets little, and a linear scale would show none of it.
    axes.imshow(summary.attention, cmap="Greys", norm=PowerNorm(0.5, 0, 1), aspect="equal")
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
    return figure


def _sentence(explained: Explained) -> Figure:
    figure = Figure(figsize=(5, 1))
    figure.text(0.5, 0.7, _shown(explained.name), ha="center")
    figure.text(0.5, 0.3, NO_ATTENTION, ha="center")
    return figure


def _shown(text: str) -> str:
    """Text as it stands, but spelt out where XML has no such character.

    matplotlib takes what is between two dollars for a formula.
    """
    text = _NOT_IN_XML.sub(lambda match: ascii(match[0])[1:-1], text)
    return text.replace("$", r"\$")
