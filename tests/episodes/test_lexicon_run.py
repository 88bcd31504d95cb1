"""What worked in one episode is in the prompts of the next."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

from pydantic import BaseModel

from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import play_run
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.stand_ins import ScriptedLLM

TURNS = 20


def test_the_second_episode_begins_with_commands_that_worked_in_the_first(own_story: Path, tmp_path: Path) -> None:
    commands = cycle(WALKTHROUGH[:TURNS])

    def reply(role: Role, _prompt: Prompt, _schema: type[BaseModel]) -> dict[str, object]:
        return {"reasoning": "", "action": next(commands)} if role == "agent" else {"memories": []}

    model = ScriptedLLM(reply)
    play_run(
        own_story,
        model,
        tmp_path,
        episodes=2,
        max_turns_per_episode=TURNS,
        critic={"mode": "object_tree"},
        objectives={"enabled": False},
    )
    prompts = [call.prompt.user for call in model.calls if call.role == "agent"]
    assert "## COMMAND SYNTAX" not in prompts[0]
    syntax = prompts[TURNS].split("## COMMAND SYNTAX\n")[1].split("\n\n")[0]
    assert syntax == "Worked in this story: take lamp; open chest; unlock door with key; fill lamp"
    assert all(f"## COMMAND SYNTAX\n{syntax}\n" in prompt for prompt in prompts[TURNS:])
