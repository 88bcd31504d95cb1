"""What terminals of several sizes show in the third episode of a model that explains itself at length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from pydantic import BaseModel

from tests.fixtures.recorded_run import Player
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import newest_run, play_run
from tools.pictures import Screen, screen_of
from zorkgpt.llm.language_model import Prompt, Role, TokenUsage

pytestmark = pytest.mark.slow

REASONING = (
    "The house is dark beyond this room and the lamp is nearly dry, so what I carry decides how far I get. In the "
    "first episode I went down without oil and lost nine turns; the notes of this place say that the tap is in the "
    "store. I therefore take the next step of the route that worked, and see what the room offers before I go on to "
    "the shed, where the boathook is out of reach without something to stand on."
)
TURNS = 14


class Thinker(Player):
    """Plays by the walkthrough, and explains every command."""

    def reply(self, role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, Any]:
        if role != "agent":
            return super().reply(role, prompt, schema)
        turn = int(prompt.user.partition("## Turn\n")[2].partition(" ")[0])
        return {"reasoning": REASONING, "action": WALKTHROUGH[turn - 1]}


@pytest.fixture(scope="module")
def run(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three episodes."""
    folder = tmp_path_factory.mktemp("work")
    model = ScriptedLLM(Thinker().reply, usage=TokenUsage(prompt=1700, completion=130, cached=1100))
    play_run(own_story, model, folder, episodes=3, max_turns_per_episode=TURNS, objective_update_interval=8)
    return newest_run(folder)[0]


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (200, 50)])
def test_in_the_third_episode_a_long_reasoning_and_the_state_of_the_run_are_whole(
    run: Path, browser: Browser, pictures: Path, columns: int, rows: int
) -> None:
    shown = screen_of(run, columns, rows)
    keep(shown, browser, pictures / f"screen-{columns}x{rows}.png")
    lines = shown.text.splitlines()
    assert len(lines) <= rows
    assert "Episode 3 (3 of 3) · Turn 14 of 14" in shown.text
    assert " ".join(REASONING.split()) in " ".join(shown.text.replace("│", " ").split())
    assert "> down" in shown.text
    assert "up to Landing" in shown.text
    assert not [line for line in lines if line.endswith(": -")]


def keep(screen: Screen, browser: Browser, path: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.set_content(screen.svg)
    page.locator("svg").screenshot(path=path)
    page.close()
