"""A whole run learns: what episode 1 wrote down is in episode 2's prompts at its place, and in the run folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from session.errors import LanguageModelUnavailable
from session.files.run_folders import MEMORIES_AT_END, MEMORIES_AT_START
from tests.fixtures.whole_run import play_run, resume_run
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.stand_ins import Reply, ScriptedLLM

THERE_AND_BACK = ("look", "north", "look", "south", "look", "north", "south", "north")
TURNS = len(THERE_AND_BACK)
TO_THE_LAMP = ("north", "south", "north", "north", "take lamp", "look")
LAMP_TURN = TO_THE_LAMP.index("take lamp") + 1
TITLE = "What the visit taught"
SESSION = "Left as it was found"


@pytest.fixture(scope="module")
def learnt(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[ScriptedLLM, Path]:
    """A model over two equal episodes, which remembers one persistent and one ephemeral thing of each first visit."""
    commands = iter(THERE_AND_BACK * 2)

    def memory(title: str, persistence: str) -> dict[str, Any]:
        return {
            "should_remember": True,
            "category": "NOTE",
            "memory_title": title,
            "memory_text": f"{title}, in so many words.",
            "persistence": persistence,
            "turn": 1,
        }

    def reply(role: Role, _prompt: Prompt, _schema: type[BaseModel]) -> dict[str, Any]:
        if role == "memory":
            return {"memories": [memory(TITLE, "permanent"), memory(SESSION, "ephemeral")]}
        return {"reasoning": "", "action": next(commands)}

    model = ScriptedLLM(reply)
    folder = tmp_path_factory.mktemp("learning")
    options: dict[str, Any] = {
        "max_turns_per_episode": TURNS,
        "objectives": {"enabled": False},
        "knowledge": {"enabled": False},
        "critic": {"mode": "object_tree"},
    }
    play_run(own_story, model, folder, episodes=2, **options)
    return model, folder


def test_the_second_episode_is_shown_at_once_what_the_first_found_out(learnt: tuple[ScriptedLLM, Path]) -> None:
    prompts = [call.prompt.user for call in learnt[0].calls if call.role == "agent"]
    assert TITLE not in prompts[0]
    assert TITLE in prompts[TURNS]


def test_what_was_only_true_in_the_first_episode_is_forgotten(learnt: tuple[ScriptedLLM, Path]) -> None:
    prompts = [call.prompt.user for call in learnt[0].calls if call.role == "agent"]
    assert any(SESSION in prompt for prompt in prompts[:TURNS])
    assert SESSION not in prompts[TURNS]
    assert SESSION not in (learnt[1] / "Memories.md").read_text(encoding="utf-8")


def test_the_run_folder_keeps_the_memories_as_they_were_before_and_after(learnt: tuple[ScriptedLLM, Path]) -> None:
    (run,) = (learnt[1] / "runs").iterdir()
    assert (run / MEMORIES_AT_START).read_bytes() == b""
    assert (run / MEMORIES_AT_END).read_bytes() == (learnt[1] / "Memories.md").read_bytes()
    assert TITLE in (run / MEMORIES_AT_END).read_text(encoding="utf-8")


@pytest.mark.parametrize("down_before", [(), (LAMP_TURN, LAMP_TURN + 1)], ids=["never stopped", "paused and resumed"])
def test_knowledge_is_asked_for_once_the_visit_that_goes_on_was_considered(
    own_story: Path, tmp_path: Path, down_before: tuple[int, ...]
) -> None:
    played, downs = 0, list(down_before)

    def reply(role: Role, prompt: Prompt, _schema: type[BaseModel]) -> Reply:
        nonlocal played
        if role == "memory":
            is_taken = f"Turn {LAMP_TURN}: take lamp" in prompt.user
            return {"memories": [ephemeral(LAMP_TURN)] if is_taken else []}
        if role == "analysis":
            return {}
        if played + 1 in downs:
            downs.remove(played + 1)
            return LanguageModelUnavailable("down for a moment")
        played += 1
        return {"reasoning": "", "action": TO_THE_LAMP[played - 1]}

    model = ScriptedLLM(reply)
    options: dict[str, Any] = {
        "max_turns_per_episode": len(TO_THE_LAMP),
        "knowledge_update_interval": LAMP_TURN,
        "objectives": {"enabled": False},
        "critic": {"mode": "object_tree"},
    }
    run = play_run(own_story, model, tmp_path, **options)
    while run.end == "paused":
        run = resume_run(own_story, model, tmp_path)
    asked = [(call.role, call.prompt.user) for call in model.calls if call.role != "agent"]
    roles = [role for role, _ in asked]
    at_lamp = next(at for at, (_, prompt) in enumerate(asked) if f"Turn {LAMP_TURN}: take lamp" in prompt)
    assert (roles.count("analysis"), roles[at_lamp : at_lamp + 2]) == (1, ["memory", "analysis"])
    assert re.findall(r"^Turn (\d+) at .* EPHEMERAL", asked[at_lamp + 1][1], re.MULTILINE) == [str(LAMP_TURN)]


def ephemeral(turn: int) -> dict[str, Any]:
    """A memory of that turn, true of the episode alone."""
    return {
        "should_remember": True,
        "category": "NOTE",
        "memory_title": SESSION,
        "memory_text": "It was taken.",
        "persistence": "ephemeral",
        "turn": turn,
    }
