"""Every prompt as a model gets it, whole: changing a word shows in review."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import play_run
from tests.golden.golden_file import as_shown, assert_golden
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.stand_ins import ScriptedLLM

TURNS = 14


@pytest.fixture(scope="module")
def model(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> ScriptedLLM:
    """A model that was called in every role over fourteen turns of the packaged story."""
    commands = iter(WALKTHROUGH)

    def reply(role: Role, _prompt: Prompt, _schema: type[BaseModel]) -> dict[str, object]:
        if role == "agent":
            return {"reasoning": "It is the next step of my plan.", "action": next(commands)}
        if role == "critic":
            return {"reason": "Nothing speaks against it.", "accepted": True, "confidence": 0.5}
        if role == "info_ext":
            return {"is_room_description": True, "exits": ["north", "up"], "in_combat": False}
        if role == "memory":
            return {"memories": []}
        goal = {"text": "Bring the glass home", "location_id": None}
        return {"objectives": [goal], "reasoning": "The story asks for it."}

    asked = ScriptedLLM(reply)
    folder = tmp_path_factory.mktemp("golden")
    options: dict[str, Any] = {
        "critic": {"mode": "llm"},
        "extractor": {"mode": "separate"},
        "objective_update_interval": 5,
        "knowledge": {"enabled": False},  # its prompts have files of their own
    }
    play_run(own_story, asked, folder, max_turns_per_episode=TURNS, **options)
    return asked


@pytest.mark.parametrize("role", ["agent", "critic", "info_ext", "analysis", "memory"])
def test_the_latest_prompt_of_each_role(model: ScriptedLLM, role: Role) -> None:
    latest = [call.prompt for call in model.calls if call.role == role][-1]
    assert_golden(f"{role}_prompt.txt", as_shown(latest))


def test_the_prompt_of_an_assisted_agent(own_story: Path, tmp_path: Path) -> None:
    asked = ScriptedLLM(lambda _role, _prompt, _schema: {"reasoning": "", "action": "north"})
    options: dict[str, Any] = {
        "assist": "valid-actions",
        "extractor": {"mode": "none"},
        "critic": {"mode": "object_tree"},
    }
    play_run(own_story, asked, tmp_path, max_turns_per_episode=2, **options)
    latest = [call.prompt for call in asked.calls if call.role == "agent"][-1]
    assert_golden("assisted_agent_prompt.txt", as_shown(latest))
