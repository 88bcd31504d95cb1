"""A local server updates a report during a run: the page follows, and stays at the turn being read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.fixtures.unplayed_report import report_of, run_of
from zorkgpt.report.server import Edition, ReportServer

pytestmark = pytest.mark.slow


def edition(turns: int, *, follow: bool = True, number: int = 1) -> Edition:
    report: dict[str, Any] = {**report_of(run_of(turns, number=number)), "follow": follow}
    return Edition.of(json.dumps(report).encode())


@pytest.fixture
def server() -> Iterator[ReportServer]:
    with ReportServer(0, edition(10)) as server:
        yield server


@pytest.mark.parametrize(("read", "then"), [(10, 12), (4, 4)])
def test_whoever_reads_the_latest_turn_is_led_on_and_nobody_else(
    browser: Browser, server: ReportServer, read: int, then: int
) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server.url}#e1t{read}")
    expect(page.get_by_role("article")).to_have_attribute("aria-label", f"Episode 1, turn {read}")
    server.edition = edition(12, follow=False)
    expect(page.get_by_role("slider", name="Turn")).to_have_attribute("max", "12")
    expect(page.get_by_role("article")).to_have_attribute("aria-label", f"Episode 1, turn {then}")
    before = len(asked)
    page.wait_for_timeout(3000)
    assert len(asked) == before
    assert all(url.startswith(server.url) for url in asked)
    page.close()


def test_a_run_that_begins_later_is_shown_at_its_latest_turn(browser: Browser, server: ReportServer) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}#e1t4")
    expect(page.get_by_role("article")).to_have_attribute("aria-label", "Episode 1, turn 4")
    for turns in (6, 7):
        server.edition = edition(turns, number=2)
        expect(page.get_by_role("article")).to_have_attribute("aria-label", f"Episode 1, turn {turns}")
    page.close()
