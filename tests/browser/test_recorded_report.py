"""A recorded run as ``zorkgpt report`` writes it, in a browser: what the journal has is what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from session.events import TurnPlayed
from session.files.journal import read_journal
from tests.browser.conftest import OpenReport
from tests.fixtures.report_data import data_in
from tests.fixtures.typed_command import typed

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).parents[1] / "recorded"


@pytest.mark.parametrize("version", [path.name for path in sorted(RECORDED.iterdir())])
def test_every_recorded_turn_is_read_as_it_was_played(
    open_report: OpenReport, tmp_path: Path, own_story: Path, version: str, clean_environment: pytest.MonkeyPatch
) -> None:
    clean_environment.chdir(tmp_path)
    (run,) = (RECORDED / version / "runs").iterdir()
    written = typed("report", str(run), "--to", "written.html", "--game", str(own_story))
    assert written.status == 0, written
    page = open_report(data_in(Path("written.html").read_text(encoding="utf-8")))
    records = [line.event.record for line in read_journal(run) if isinstance(line.event, TurnPlayed)]
    assert records
    for record in records:
        page.evaluate(f"location.hash = '#e{record.episode}t{record.turn}'")
        article = page.get_by_role("article", name=f"Episode {record.episode}, turn {record.turn}", exact=True)
        expect(article.get_by_role("heading", level=2)).to_have_text(f"> {record.action}")
        expect(article.locator(".story")).to_have_text(record.after.text.strip())
