"""Pages as a browser shows them, from a disk."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def opened(watched, tmp_path: Path) -> Iterator[Callable[..., object]]:
    """`opened(html)` is the page as a browser shows it, offline.

    However it was used: it has asked for nothing but itself, and nothing has gone wrong in it.
    """
    urls = []

    def look(html: str, *, width: int = 1280, scheme: str = "light") -> object:
        path = tmp_path / f"page{len(urls)}.html"
        path.write_text(html, encoding="utf-8", errors="backslashreplace")
        urls.append(path.as_uri())
        page = watched.page(width=width, scheme=scheme, offline=True)
        page.goto(urls[-1])
        return page

    yield look
    watched.close()
    assert watched.problems == []
    assert watched.requests == urls
