"""A model that answers with several commands, with blanks and with pages, in a whole run of a real story."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from tests.fixtures.whole_run import play_run, verify_run
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.stand_ins import ScriptedLLM

ANSWERS = ("north. north", "  ", "north", "take lamp then wait. look", "look at the door " * 180, "south")


def test_each_turn_is_one_command_the_critic_judges_no_nonsense_and_the_run_is_repeated_exactly(
    own_story: Path, tmp_path: Path
) -> None:
    answers = iter(ANSWERS)

    def reply(role: Role, _prompt: Prompt, _schema: type[BaseModel]) -> dict[str, object]:
        if role == "critic":
            return {"reason": "Why not?", "accepted": True, "confidence": 1}
        return {"reasoning": "", "action": next(answers)} if role == "agent" else {"memories": []}

    model = ScriptedLLM(reply)
    run = play_run(
        own_story, model, tmp_path, max_turns_per_episode=4, critic={"mode": "llm"}, objectives={"enabled": False}
    )
    assert [turn.action for turn in run.turns] == ["north", "north", "take lamp", "south"]
    assert [len(turn.proposals) for turn in run.turns] == [2, 2, 2, 2]
    assert [call.role for call in model.calls].count("critic") == 4
    assert not any("look at the door" in call.prompt.user for call in model.calls if call.role == "critic")
    assert max(len(call.prompt.user) for call in model.calls) < 8000
    replayed = verify_run(own_story, tmp_path)
    assert (replayed.difference, replayed.turns) == (None, 4)
