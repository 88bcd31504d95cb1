"""A browser without a screen, and reports that it opens as a reader does: by double click, from a file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from zorkgpt.report.server import page_of

PICTURES_VARIABLE = "PICTURES_OF_TESTS"
"""A folder that pictures of the pages are kept in."""
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

SIDEWAYS = """[...document.querySelectorAll("*")]
    .filter((each) => each.clientWidth > 0 && each.scrollWidth > each.clientWidth + 1)
    .filter((each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowX))
    .map((each) => each.outerHTML.slice(0, 200))"""
"""The parts of a page that a reader has to scroll sideways."""

OpenReport = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium; the tests skip without it."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, chromium_sandbox=False)
        yield browser
        browser.close()


@pytest.fixture
def open_report(browser: Browser, tmp_path: Path) -> Iterator[OpenReport]:
    """Open a report. Any error in the browser's console and any request to a network fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_it(report: dict[str, Any], address: str = "") -> Page:
        path = tmp_path / "report.html"
        path.write_text(page_of(json.dumps(report).encode()), encoding="utf-8")
        context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.extend([request.url] * (not request.url.startswith("file:"))))
        page.goto(f"{path.as_uri()}{address}")
        page.get_by_role("heading", level=1).wait_for()
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """The folder for screenshots; it is kept if the environment names one."""
    folder = Path(os.environ.get(PICTURES_VARIABLE) or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that checks accessibility; the tests skip if it was not downloaded."""
    if not AXE.exists():
        pytest.skip("npm has not fetched axe-core (make page)")
    return AXE.read_text(encoding="utf-8")
