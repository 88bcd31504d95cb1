"""The metrics of a played run agree with its players and managers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.whole_run import play_run
from zorkgpt.llm.language_model import Prompt, Role, TokenUsage
from zorkgpt.report.figures import figures_of
from zorkgpt.report.played_run import read_run

_AT_THE_DOOR = ("north", "dance", "dance", "south", "take moon", "north", "dance", "south", "take moon", "look") * 2
COMMANDS = (*_AT_THE_DOOR, "north", "north", "take lamp", "south", "north", "drop lamp")
OBJECTIVE = {"text": "Try the exits", "location_id": None, "evidence": "memory of the hall"}
LESSON = {"should_remember": True, "memory_text": "So it is.", "persistence": "core", "status": "TENTATIVE"}


def test_episodes_memories_calls_and_objectives_are_counted_as_they_were_played(
    own_story: Path, tmp_path: Path
) -> None:
    """Two equal episodes with a model that calls everything core, and always finds the same objective."""
    commands, titles = iter(COMMANDS * 2), (f"Lesson {number}" for number in range(1000))

    def reply(role: Role, _prompt: Prompt, schema: type[BaseModel]) -> dict[str, Any]:
        if role == "memory":
            return {**LESSON, "memory_title": next(titles)}
        if role == "analysis":
            return {"objectives": [OBJECTIVE]} if "objectives" in schema.model_fields else {}
        return {"reasoning": "Let us see.", "action": next(commands)}

    options: dict[str, Any] = {"max_turns_per_episode": len(COMMANDS), "objective_update_interval": 10}
    options |= {"critic": {"mode": "object_tree", "max_rejections": 0}}
    model = ScriptedLLM(reply, usage=TokenUsage(prompt=100, completion=10))
    played = play_run(own_story, model, tmp_path, episodes=2, **options)
    (run,) = (tmp_path / "runs").iterdir()
    figures = figures_of(read_run(run))
    metrics = figures.metrics
    for told, read in zip(played.episodes, figures.episodes, strict=True):
        assert (told.episode, told.end, told.turns, told.rooms) == (read.episode, read.end, read.turns, read.rooms)
        assert (told.score, told.best_score, told.max_score) == (read.score, read.best_score, read.max_score)

    log = (run / "log.jsonl").read_text(encoding="utf-8")
    downgraded = [line for line in log.splitlines() if "not first visit" in json.loads(line)["event"]]
    assert metrics.core_downgrades == len(downgraded) > 0
    file = (tmp_path / "Memories.md").read_text(encoding="utf-8")
    sections = re.findall("^## Location", file, re.MULTILINE)
    assert len(sections) == 3
    assert metrics.memory_coverage == pytest.approx(len(sections) / max(each.rooms for each in played.episodes))
    assert metrics.tentative_memories == len(re.findall("TENTATIVE", file)) > 0
    first, second = (episode.memory_tokens or 0 for episode in figures.episodes)
    assert 0 < first < second

    tokens = [tokens or 0 for role in figures.usage for tokens in (role.prompt_tokens, role.completion_tokens)]
    assert sum(tokens) == figures.run.tokens
    (agent,) = [role for role in figures.usage if role.role == "agent"]
    assert agent.calls == len(played.turns) == figures.run.turns
    assert metrics.objectives == 5  # every ten turns, and where an episode begins with knowledge
    assert (metrics.objectives_located, metrics.objectives_cited, metrics.objective_tokens) == (0.0, 1.0, 110)
