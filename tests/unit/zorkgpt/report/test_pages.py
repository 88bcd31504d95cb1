"""The pages of a site: what the index of runs has, and what it has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.events import RunPaused
from session.game_configuration import GameConfiguration
from tests.unit.zorkgpt.report.dye_runs import started, write_run
from zorkgpt.report.pages import update_site

OWN, OTHER = "http://dye-works.lan:8000/v1", "https://vats.lan/indigo, alum"


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (
            f"agent: indigo at {OTHER}: no connection (refused); gave up after 3 requests",
            "agent: indigo: no connection (refused); gave up after 3 requests",
        ),
        (
            f"agent: indigo at {OWN}: http://dye-works.lan:8000 redirects to http://mill.lan:8/x, which is not ours",
            "agent: indigo: [URL] redirects to [URL], which is not ours",
        ),
    ],
    ids=["of a server of the run", "that a refusal names without their paths"],
)
def test_the_index_of_a_site_has_no_addresses(tmp_path: Path, reason: str, shown: str) -> None:
    run = write_run(tmp_path, [started(), RunPaused(reason, episode=1, turns=0)], server=(OWN, OTHER))
    update_site(tmp_path, [run], tmp_path / "site", GameConfiguration(zork_game_workdir=tmp_path))
    index = (tmp_path / "site" / "report.json").read_text(encoding="utf-8")
    assert ".lan" not in index
    assert shown in index
