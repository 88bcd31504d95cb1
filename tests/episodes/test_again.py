"""A player that types "again": what is learned names the command that was repeated, and a replay is exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from managers.plan import commands_in
from tests.fixtures.doomed_run import decided_by_prompt
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.whole_run import play_run, verify_run
from zorkgpt.llm.language_model import Prompt, Role

TYPED = ("north", "g", "take lamp", "north", "again", *("look", "wait") * 8)
TURNS = len(TYPED)


def test_points_routes_transcripts_and_plan_name_the_command_that_was_repeated(own_story: Path, tmp_path: Path) -> None:
    prompts: list[str] = []
    visits: list[str] = []

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, Any]:
        if role == "agent":
            prompts.append(prompt.user)
            turn = int(prompt.user.partition("## Turn\n")[2].split()[0])
            return {"action": TYPED[turn - 1], "then": ["g"] if turn == 1 else []}
        if role == "memory":
            visits.append(prompt.user)
        if "plan" in schema.model_fields:
            return {"plan": ["Go to the hall"], "commands": ["north", "g"]}
        return decided_by_prompt(role, prompt, schema)

    options: dict[str, Any] = {"critic": {"mode": "object_tree"}, "objectives": {"enabled": False}}
    options["simple_memory"] = {"visits_in_question": 1}
    run = play_run(own_story, ScriptedLLM(reply), tmp_path, episodes=2, max_turns_per_episode=TURNS, **options)
    assert tuple(turn.action for turn in run.turns) == TYPED * 2, "the journal has what was typed"
    assert run.turns[TURNS + 1].is_unasked, "a course goes on with it"
    assert any(": north (typed: g)\nResponse: Hall" in visit for visit in visits)
    second = next(prompt for prompt in prompts if "## Earlier games" in prompt)
    assert "Turn 2: north (typed: g) -> L46 (+5)\n" in second
    assert "+5 north, L35" in second
    assert "`follow` 0 plays 2 commands, 5 points: 1. north, 2. north (+5, 5 so far)" in second
    assert "worked in 1 of 1 episode: 1. north, 2. north (+5), 3. take lamp, 4. north" in second
    assert "(typed g, to 46, +5)" in (tmp_path / "transcripts.md").read_text()
    (kept,) = (line for line in (tmp_path / "knowledgebase.md").read_text().splitlines() if "Commands: " in line)
    assert commands_in(kept.removeprefix("- ").partition(" *(")[0]) == ("north", "north")
    learned = "\n".join(file.read_text() for file in tmp_path.glob("*.*") if file.suffix in {".md", ".json"})
    assert '"g"' not in learned
    assert "`g`" not in learned
    assert verify_run(own_story, tmp_path).difference is None
