"""Models that fail or return nonsense: play continues if it can, and pauses if it must."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from session.errors import LanguageModelUnavailable
from session.events import ModelFailed, RunPaused
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import WholeRun, play_run
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.stand_ins import Reply, ScriptedLLM

TURNS = 25
DOWN = LanguageModelUnavailable("the server is gone")


def player(others: Callable[[type[BaseModel]], Reply]) -> ScriptedLLM:
    """An agent that follows the walkthrough, while ``others`` answers for every other role."""
    commands = iter(WALKTHROUGH)

    def reply(role: Role, _prompt: Prompt, schema: type[BaseModel]) -> Reply:
        if role != "agent":
            return others(schema)
        return {"reasoning": "as planned", "action": next(commands)}

    return ScriptedLLM(reply)


def play(story: Path, model: ScriptedLLM, folder: Path, **options: Any) -> WholeRun:
    return play_run(story, model, folder, max_turns_per_episode=TURNS, objective_update_interval=5, **options)


def nonsense(schema: type[BaseModel]) -> dict[str, object]:
    """Something in every field, and nothing that means anything."""
    junk: dict[str, object] = {
        "string": "\x00\u202e" * 50,
        "boolean": True,
        "integer": -1,
        "number": 1e9,
        "array": [{}],
    }
    fields = schema.model_json_schema()["properties"]
    return {name: junk.get(field.get("type", ""), "?") for name, field in fields.items()}


def test_models_that_are_down_or_talk_nonsense_cost_their_learning_not_the_play(
    own_story: Path, tmp_path: Path
) -> None:
    down = play(own_story, player(lambda _schema: DOWN), tmp_path / "a")
    run = play(own_story, player(nonsense), tmp_path / "b", critic={"mode": "llm"}, extractor={"mode": "separate"})
    assert down.end == run.end == "done"
    assert len(down.turns) == TURNS
    assert [turn.after for turn in run.turns] == [turn.after for turn in down.turns]
    assert len([event for event in down.events if isinstance(event, ModelFailed)]) >= TURNS // 5
    assert "failures" in (tmp_path / "a" / "current_state.json").read_text()


def test_the_agents_own_nonsense_is_played_as_the_nonsense_it_is(own_story: Path, tmp_path: Path) -> None:
    words = ["frotz the grobnik", "\x1b[2J", "", "north\nnorth", "\\q", "take take take", "é" * 300]
    replies: list[Reply] = [{"reasoning": "\x07", "action": word or " "} for word in words * 9]
    run = play_run(own_story, ScriptedLLM(replies), tmp_path, max_turns_per_episode=9, critic={"mode": "object_tree"})
    assert run.end == "done"
    assert {turn.after.location for turn in run.turns} == {run.turns[0].before.location}


@pytest.mark.parametrize("turns_before", [0, 7])
def test_an_agent_whose_model_is_down_pauses_the_run(own_story: Path, tmp_path: Path, turns_before: int) -> None:
    replies: list[Reply] = [{"reasoning": "", "action": action} for action in WALKTHROUGH[:turns_before]]
    run = play(
        own_story,
        ScriptedLLM([*replies, DOWN]),
        tmp_path,
        objectives={"enabled": False},
        simple_memory={"enabled": False},
        critic={"mode": "object_tree"},
    )
    assert run.end == "paused"
    assert len(run.turns) == turns_before
    assert run.events[-1] == RunPaused("the server is gone", episode=1, turns=turns_before)
