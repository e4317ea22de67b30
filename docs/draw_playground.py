"""Take the README's picture of the page of `pgsum serve`: a text summarized, a word pointed at.

    python docs/draw_playground.py docs/playground.png [MODEL]

Without MODEL the model that comes with pgsum. It takes Playwright, and a Chromium of the system.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1000, 1150


def main() -> None:
    """Serve, summarize the page's own sample, and write the picture."""
    out, *model = sys.argv[1:]
    chosen = ["--model", *model] if model else []
    serving = [sys.executable, "-m", "pgsum", "serve", "--port", "0", *chosen]
    with (
        subprocess.Popen(serving, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(url)
        page.get_by_role("button", name="package", exact=True).click()
        page.locator("#summarize").click()
        words = page.frame_locator("iframe").locator("#summary > span")
        words.first.wait_for()
        words.last.hover()
        page.screenshot(path=Path(out))
        browser.close()
        server.terminate()


if __name__ == "__main__":
    main()
