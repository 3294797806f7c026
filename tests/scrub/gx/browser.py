# SPDX-License-Identifier: Apache-2.0
"""Opens pages in Chromium, and tells what it asked for and what it said."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class PageSeen:
    """A page as a reader sees it."""

    text: str
    rows: list[list[str]]  # the cells of every row of every table
    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    cut_words: list[str] = field(default_factory=list)  # headings of tables that do not fit
    wider_than_the_window: bool = False


_CUT_HEADINGS = """
() => [...document.querySelectorAll('th')].filter(th => {
  const range = document.createRange();
  range.selectNodeContents(th);
  const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top))).size;
  return lines > th.innerText.trim().split(/\\s+/).length;
}).map(th => th.innerText)
"""
_ROWS = """
() => [...document.querySelectorAll('tr')].map(
  tr => [...tr.children].map(cell => cell.innerText.trim()))
"""
_IS_WIDE = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


def open_pages(site: Path, width: int = 1200) -> dict[str, PageSeen]:
    """Every page of a site, by its path."""
    from playwright.sync_api import sync_playwright

    seen: dict[str, PageSeen] = {}
    chromium = shutil.which("chromium")
    assert chromium, "run .ci/ensure-chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for file in sorted(site.rglob("*.html")):
            page = browser.new_page(viewport={"width": width, "height": 800})
            requests: list[str] = []
            console: list[str] = []
            page.on("request", lambda request, to=requests: to.append(request.url))
            page.on("console", lambda message, to=console: to.append(message.text))
            page.on("pageerror", lambda error, to=console: to.append(str(error)))
            page.goto(file.resolve().as_uri())
            seen[file.relative_to(site).as_posix()] = PageSeen(
                page.inner_text("body"),
                page.evaluate(_ROWS),
                requests,
                console,
                page.evaluate(_CUT_HEADINGS),
                page.evaluate(_IS_WIDE),
            )
            page.close()
        browser.close()
    return seen


def assert_self_contained(pages: dict[str, PageSeen]) -> None:
    """Nothing is fetched but the page itself, and nobody complains."""
    assert pages
    for path, page in pages.items():
        assert [url.partition(":")[0] for url in page.requests] == ["file"], (path, page.requests)
        assert page.console == [], path
        assert page.cut_words == [], path
