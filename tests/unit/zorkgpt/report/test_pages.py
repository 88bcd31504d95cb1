"""The pages of a site: what the index of runs has, and what it has not."""

from __future__ import annotations

from pathlib import Path

from session.events import RunPaused
from session.game_configuration import GameConfiguration
from tests.unit.zorkgpt.report.dye_runs import started, write_run
from zorkgpt.report.pages import update_site


def test_the_index_of_a_site_has_no_address_of_a_server_either_in_what_paused_a_run(tmp_path: Path) -> None:
    own, other = "http://dye-works.lan:8000/v1", "https://vats.lan/indigo, alum"
    reason = f"agent: indigo at {other}: no connection (refused); gave up after 3 requests"
    run = write_run(tmp_path, [started(), RunPaused(reason, episode=1, turns=0)], server=(own, other))
    update_site(tmp_path, [run], tmp_path / "site", GameConfiguration(zork_game_workdir=tmp_path))
    index = (tmp_path / "site" / "report.json").read_text(encoding="utf-8")
    assert ".lan" not in index
    assert "agent: indigo: no connection (refused); gave up after 3 requests" in index


def test_the_index_of_a_site_hides_the_addresses_that_a_refusal_names_without_their_paths(tmp_path: Path) -> None:
    refusal = "https://vats.lan redirects to http://mill.lan:8/x, which is not the configured server"
    reason = f"agent: indigo at https://vats.lan/v1: {refusal}"
    run = write_run(tmp_path, [started(), RunPaused(reason, episode=1, turns=0)], server=("https://vats.lan/v1",))
    update_site(tmp_path, [run], tmp_path / "site", GameConfiguration(zork_game_workdir=tmp_path))
    index = (tmp_path / "site" / "report.json").read_text(encoding="utf-8")
    assert "agent: indigo: [URL] redirects to [URL], which is not the configured server" in index
