"""A browser without a network, to look at pages with."""

import shutil
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Chromium as the system has it; Playwright would download one."""
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
