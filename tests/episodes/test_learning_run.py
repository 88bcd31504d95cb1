"""Whole runs learn: memories are in the run folder, knowledge comes after them, and objectives are achieved."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from session.errors import LanguageModelUnavailable
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import play_run, resume_run, verify_run
from tests.unit.managers.memory_parts import learned
from zorkgpt.llm.language_model import Prompt, Role

TO_THE_LAMP = ("north", "south", "north", "north", "take lamp", "look")
LAMP_TURN = TO_THE_LAMP.index("take lamp") + 1
SESSION = "Left as it was found"


@pytest.mark.parametrize("down_before", [(), (LAMP_TURN, LAMP_TURN + 1)], ids=["never stopped", "paused and resumed"])
def test_knowledge_is_asked_for_once_the_visit_that_goes_on_was_considered(
    own_story: Path, tmp_path: Path, down_before: tuple[int, ...]
) -> None:
    played, downs = 0, list(down_before)

    def reply(role: Role, prompt: Prompt, _schema: type[BaseModel]) -> Reply:
        nonlocal played
        if role == "memory":
            is_taken = f"Turn {LAMP_TURN}: take lamp" in prompt.user
            return {"memories": [learned(SESSION, "ephemeral", turn=LAMP_TURN)] if is_taken else []}
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
        "simple_memory": {"visits_in_question": 1},
    }
    run = play_run(own_story, model, tmp_path, **options)
    while run.end == "paused":
        run = resume_run(own_story, model, tmp_path)
    asked = [(call.role, call.prompt.user) for call in model.calls if call.role != "agent"]
    roles = [role for role, _ in asked]
    at_lamp = next(at for at, (_, prompt) in enumerate(asked) if f"Turn {LAMP_TURN}: take lamp" in prompt)
    assert (roles.count("analysis"), roles[at_lamp : at_lamp + 2]) == (1, ["memory", "analysis"])
    assert re.findall(r"^Turn (\d+) at .* EPHEMERAL", asked[at_lamp + 1][1], re.MULTILINE) == [str(LAMP_TURN)]


TURNS = 24
LOG, GLASS = "Read the keeper's log", "Bring the glass home"


class Player:
    """Plays the beginning of the walkthrough; the log is its own idea, the glass that of the analysis."""

    def __init__(self) -> None:
        self.commands = cycle(WALKTHROUGH[:TURNS])
        self.says: dict[int, object] = {2: {"new": LOG}, 14: {"done": 1}}
        self.turn = 0
        self.model = ScriptedLLM(self.reply)

    def reply(self, role: Role, _prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        if role == "agent":
            self.turn += 1
            return {"reasoning": "", "action": next(self.commands), "objective": self.says.get(self.turn)}
        if "objectives" in schema.model_fields:
            return {"objectives": [{"text": GLASS, "evidence": "knowledge of the house"}]}
        return {"memories": []}

    def objectives(self) -> list[list[str]]:
        """The lines of objectives in the agent's prompts, by turn."""
        prompts = [call.prompt.user for call in self.model.calls if call.role == "agent"]
        sections = [f"{prompt}\n\n".partition("## Objectives\n")[2].split("\n\n")[0] for prompt in prompts]
        return [section.splitlines() for section in sections]

    def asked(self) -> int:
        """The number of calls about objectives."""
        return sum("objectives" in call.schema.model_fields for call in self.model.calls)


def test_an_objective_comes_and_goes_with_the_agents_word_at_no_call(own_story: Path, tmp_path: Path) -> None:
    player = Player()
    play_run(own_story, player.model, tmp_path, max_turns_per_episode=18, knowledge={"enabled": False})
    own = [f"1. {LOG}"]
    assert player.objectives() == [[]] * 2 + [own] * 12 + [[]] * 4
    assert player.asked() == 0
    assert verify_run(own_story, tmp_path).difference is None


def test_an_episode_that_knows_something_has_objectives_in_its_second_prompt(own_story: Path, tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text("## PUZZLE SOLUTIONS\n\n- The glass belongs in its cradle.\n")
    player = Player()
    player.says = {}
    play_run(own_story, player.model, tmp_path, max_turns_per_episode=TURNS)
    assert player.objectives() == [[]] + [[f"1. {GLASS}"]] * (TURNS - 1)
    assert player.asked() == 2
