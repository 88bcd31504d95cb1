"""A whole run learns: what episode 1 wrote down is in episode 2's prompts at its place, and in the run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from session.run_folders import MEMORIES_AT_END, MEMORIES_AT_START
from tests.fixtures.whole_run import play_run
from zorkgpt.llm.scripted import ScriptedLLM

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

    from zorkgpt.llm.language_model import Prompt, Role

THERE_AND_BACK = ("north", "look", "south", "look", "north", "south", "north", "south")
TURNS = len(THERE_AND_BACK)
TITLE = "What the visit taught"
SESSION = "Left as it was found"


@pytest.fixture(scope="module")
def learnt(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[ScriptedLLM, Path]:
    """A model over two equal episodes, which remembers one lasting and one passing thing of each first visit."""
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
