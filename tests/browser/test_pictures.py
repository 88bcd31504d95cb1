"""The pictures of README.md and the report in docs are of the program as it is, and can be made anew."""

from __future__ import annotations

import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from tests.fixtures.recorded_run import RECORDED
from tests.fixtures.report_data import DATA, command_of, data_in
from tools.pictures import EXAMPLE, photograph, picture_of_terminal
from zorkgpt.report.server import page_of

OF_A_COMPUTER = re.compile(r"[\"' ]/(?:home|root|tmp|usr|work|opt|Users)/")
REPORT = (EXAMPLE / "report.html").read_text(encoding="utf-8")


def test_the_report_in_docs_is_the_page_that_is_built_now() -> None:
    assert DATA.sub("", REPORT) == DATA.sub("", page_of(b"{}"))


def test_the_report_in_docs_is_of_three_games_of_the_story_that_ships(own_story: Path) -> None:
    (run,) = data_in(REPORT)["runs"]
    figures = run["figures"]
    assert figures["manifest"]["story_sha256"] == sha256(own_story.read_bytes()).hexdigest()
    assert (figures["run"]["state"], run["prompts"], run["notes"]) == ("done", "rebuilt", [])
    assert [episode["turns"] for episode in figures["episodes"]] == [40, 40, 40]


def test_the_terminal_in_the_picture_shows_the_run_of_the_report() -> None:
    picture = (EXAMPLE / "live.svg").read_text(encoding="utf-8")
    (run,) = data_in(REPORT)["runs"]
    last = run["turns"][-1]
    shown = re.sub(r"<[^>]*>", "", picture).replace("&#160;", " ")
    assert f"Turn {last['turn']} " in shown
    assert f"> {command_of(last)}" in shown.replace("&gt;", ">")


@pytest.mark.parametrize("name", ["report.html", "live.svg"])
def test_nothing_in_them_is_of_the_computer_that_they_were_made_on(name: str) -> None:
    text = (EXAMPLE / name).read_text(encoding="utf-8")
    told = str(data_in(text)) if name == "report.html" else text
    assert OF_A_COMPUTER.findall(told) == []
    assert "@font-face" not in text


@pytest.mark.slow
def test_pictures_can_be_made_of_a_run(tmp_path: Path) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed")
    (run,) = (shutil.copytree(RECORDED, tmp_path / "work") / "runs").iterdir()
    assert "score" in picture_of_terminal(run)
    photograph(EXAMPLE / "report.html", tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
