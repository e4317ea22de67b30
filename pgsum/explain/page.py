"""One page that shows of summaries where each word came from; it opens from a disk, offline."""

from collections.abc import Sequence

from pgsum.explain.content import Explained, for_page
from pgsum.explain.one_file import render

SCRIPTS = ("nodes.js", "page.js")


def page(explained: Sequence[Explained], *, title: str) -> str:
    """The page of these summaries, one at a time and a list to choose from."""
    return render(
        "page.html",
        styles=["page.css"],
        scripts=SCRIPTS,
        data={"explained": [for_page(each) for each in explained]},
        title=title,
    )
