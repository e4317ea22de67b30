"""Pages as a browser shows them, from a disk."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def opened(browser, tmp_path: Path) -> Iterator[Callable[..., object]]:
    """`opened(html)` is the page as a browser shows it, offline.

    However it was used: it has asked for nothing but itself, and nothing has gone wrong in it.
    """
    contexts, requests, problems = [], [], []

    def look(html: str, *, width: int = 1280, scheme: str = "light") -> object:
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(html, encoding="utf-8", errors="backslashreplace")
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.goto(path.as_uri())
        return page

    yield look
    for context in contexts:
        context.close()
    assert problems == []
    assert requests == [(tmp_path / f"page{i}.html").as_uri() for i in range(len(contexts))]
