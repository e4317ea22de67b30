"""For all tests: one thread each, a cache of their own, and Hypothesis does not time its examples.

The machine may be busy, and then two threads of one test spin for each other.
"""

import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # read when torch is imported, here and in subprocesses

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("pgsum", deadline=None)
settings.register_profile(
    "fuzz", deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("PGSUM_TESTS", "pgsum"))


@pytest.fixture(scope="session", autouse=True)
def _signals_as_in_a_terminal() -> None:
    """For the commands that tests begin, too: in the background, shells have them ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGSUM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Chromium as the system has it; Playwright would download one.

    As long as it runs, so does an event loop, and no test of the same process can have another.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed, so no page is looked at")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield launched
        launched.close()


@dataclass
class Watched:
    """A browser whose pages are watched: what they ask for, and what goes wrong in them."""

    browser: Any
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    contexts: list[Any] = field(default_factory=list)

    def page(self, *, width: int, scheme: str, **settings: bool) -> Any:
        """An empty page."""
        context = self.browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **settings
        )
        self.contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.problems.append(message.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda dialog: self.problems.append(dialog.message))
        return page

    def close(self) -> None:
        for context in self.contexts:
            context.close()


@pytest.fixture
def watched(browser) -> Watched:
    """To be closed by who opens pages in it, before they are judged."""
    return Watched(browser)
