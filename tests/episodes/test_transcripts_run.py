"""Whole games in the prompts of a run: the earlier ones, edited by people, and by arm of an ablation."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from session.game_configuration import GameConfiguration
from session.options import Setting, resolve
from tests.episodes.test_routes_run import MILL, ROPED, WAY, play_mill
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import play_run
from zorkgpt.ablation.plan import NAMED
from zorkgpt.llm.language_model import Prompt, Role

TURNS = 8


def prompts(story: Path, folder: Path, arm: str = "full", *, episodes: int = 2) -> list[str]:
    """The agent's prompts of a run in that folder, with a model that plays the walkthrough's beginning and learns."""
    asked: list[str] = []

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, Any]:
        if role == "agent":
            asked.append(prompt.user)
            return {"reasoning": "As planned.", "action": WALKTHROUGH[(len(asked) - 1) % TURNS]}
        plan = {"plan": ["Follow the walkthrough"]} if "plan" in schema.model_fields else {}
        return {"memories": [], "objectives": [{"text": "Bring the glass home"}], "lines": [], **plan}

    settings = [Setting(name, value, name, "") for name, value in NAMED[arm].items()]
    options = resolve(GameConfiguration, settings)[0].model_dump(exclude_unset=True)
    options |= {"critic": {"mode": "object_tree"}, "max_turns_per_episode": TURNS, "objective_update_interval": 4}
    play_run(story, ScriptedLLM(reply), folder, episodes=episodes, **options)
    return asked


def titles(prompt: str) -> list[str]:
    return re.findall(r"^## (.*)$", prompt, re.MULTILINE)


@pytest.mark.parametrize(
    ("arm", "has_games", "has_conclusions"),
    [("full", True, True), ("no-transcripts", False, True), ("transcripts-only", True, False)],
)
def test_an_arm_has_the_earlier_games_and_what_was_concluded_from_them_or_one_of_both(
    own_story: Path, tmp_path: Path, arm: str, *, has_games: bool, has_conclusions: bool
) -> None:
    asked = prompts(own_story, tmp_path, arm)[TURNS:]
    for prompt in asked:
        assert ("Earlier games" in titles(prompt)) == has_games
        concluded = {"Map", "ROUTES", "Known points", "Objectives", "The last episode, and the plan", "Location Memory"}
        assert bool(concluded & {*titles(prompt)}) == has_conclusions


def test_a_game_that_a_person_deletes_or_mends_is_shown_so_in_the_next_run(own_story: Path, tmp_path: Path) -> None:
    prompts(own_story, tmp_path)
    file = tmp_path / "transcripts.md"
    text = file.read_text()
    assert text.count("\n## Episode ") == 2
    file.write_text(text.replace("> Taken.", "> You have it now.").replace("# Transcripts", "# Mine"))
    (shown, *_) = prompts(own_story, tmp_path, episodes=1)
    assert "Turn 3: take lamp\nYou have it now." in shown
    assert file.read_text().startswith("# Mine")
    file.write_text("# Mine\n")
    (shown, *_) = prompts(own_story, tmp_path, episodes=1)
    assert "Earlier games" not in titles(shown)
    assert file.read_text().startswith("# Mine\n\n## Episode 4: ")


def test_a_screen_that_the_story_clears_is_one_blank_line_in_prompts_and_transcripts(tmp_path: Path) -> None:
    cleared = "A bell tinkles." + "\n" * 11 + " \n" + "\n" * 11 + "Loft\nThe rope is yours."
    script = {**MILL, "take rope": replace(ROPED, text=cleared)}
    commands = iter(["examine hook", *WAY] * 2)
    model = ScriptedLLM(lambda role, *_: {"action": next(commands)} if role == "agent" else {})
    learning: dict[str, Any] = {"objectives": {}, "knowledge": {}, "simple_memory": {}, "objective_update_interval": 3}
    run = play_mill(tmp_path, model, script, max_turns_per_episode=len(WAY) + 1, **learning)
    shown = [call.prompt.user for call in model.calls]
    assert sum("A bell tinkles.\n\nLoft" in text for text in shown) > 1
    assert not [
        text for text in (*shown, (tmp_path / "transcripts.md").read_text()) if re.search(r"(\n>?\s*){4}", text)
    ]
    assert cleared in [turn.after.text for turn in run.turns]
