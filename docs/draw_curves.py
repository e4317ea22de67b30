"""Draw learning curves: a line for each training, its name beside it in the order of their ends."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

INK, PALE = "#1f2328", "#d8dce2"
COLOURS = ("#0b67c2", "#c2410b", "#128a5b", "#8a3fb5", "#b58900", "#5b6472")
DASHES = ("-", "--", ":")
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "ladder",  # the same picture is the same bytes
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": PALE,
    "grid.color": PALE,
}


def draw_curves(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    path: Path,
    *,
    title: str,
    x_label: str,
    y_label: str,
) -> None:
    """Each curve's points (x, y) as a line, on a white ground that suits light and dark pages."""
    order = sorted(curves, key=lambda name: curves[name][-1][1], reverse=True)
    styles = dict(zip(curves, cycle((c, d) for d in DASHES for c in COLOURS), strict=False))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.4, 3.9), layout="constrained", facecolor="white")
        axes = figure.add_subplot()
        for name in order:
            colour, dashes = styles[name]
            xs, ys = zip(*curves[name], strict=True)
            axes.plot(xs, ys, dashes, color=colour, marker="o", markersize=3, label=name)
        axes.set(title=title, xlabel=x_label, ylabel=y_label)
        axes.set_xlim(left=0)
        axes.grid(linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Title": title})
