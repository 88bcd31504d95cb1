"""The metrics of a played run agree with its players and managers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.whole_run import WholeRun, play_run
from zorkgpt.llm.language_model import Prompt, Role, TokenUsage
from zorkgpt.report.figures import RunFigures, figures_of
from zorkgpt.report.played_run import read_run

_AT_THE_DOOR = ("north", "dance", "dance", "south", "take moon", "north", "dance", "south", "take moon", "look") * 2
COMMANDS = (*_AT_THE_DOOR, "north", "north", "take lamp", "south", "north", "drop lamp")
TURNS = len(COMMANDS)
OBJECTIVE = {"text": "Try the exits", "location_id": None, "evidence": "memory of the hall"}


@pytest.fixture(scope="module")
def run(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[WholeRun, Path]:
    """Two equal episodes with a model that calls everything core, and always finds the same objective."""
    commands = iter(COMMANDS * 2)
    titles = (f"Lesson {number}" for number in range(1000))

    def reply(role: Role, _prompt: Prompt, schema: type[BaseModel]) -> dict[str, Any]:
        if role == "memory":
            return {
                "should_remember": True,
                "memory_title": next(titles),
                "memory_text": "So it is, and so it will be.",
                "persistence": "core",
                "status": "TENTATIVE",
            }
        if role == "analysis":
            return {"objectives": [OBJECTIVE]} if "objectives" in schema.model_fields else {}
        return {"reasoning": "Let us see.", "action": next(commands)}

    folder = tmp_path_factory.mktemp("metrics")
    options: dict[str, Any] = {
        "max_turns_per_episode": TURNS,
        "objective_update_interval": 10,
        "critic": {"mode": "object_tree", "max_rejections": 0},
    }
    model = ScriptedLLM(reply, usage=TokenUsage(prompt=100, completion=10))
    played = play_run(own_story, model, folder, episodes=2, **options)
    (run_folder,) = (folder / "runs").iterdir()
    return played, run_folder


@pytest.fixture(scope="module")
def figures(run: tuple[WholeRun, Path]) -> RunFigures:
    return figures_of(read_run(run[1]))


def test_the_episodes_end_as_they_were_told_to(run: tuple[WholeRun, Path], figures: RunFigures) -> None:
    for told, read in zip(run[0].episodes, figures.episodes, strict=True):
        assert (told.episode, told.end, told.turns, told.rooms) == (read.episode, read.end, read.turns, read.rooms)
        assert (told.score, told.best_score, told.max_score) == (read.score, read.best_score, read.max_score)
    assert figures.run.state == "done"


def test_memories_are_counted_as_the_manager_downgraded_kept_and_showed_them(
    run: tuple[WholeRun, Path], figures: RunFigures
) -> None:
    log = (run[1] / "log.jsonl").read_text(encoding="utf-8")
    downgraded = [line for line in log.splitlines() if "not first visit" in json.loads(line)["event"]]
    assert figures.metrics.core_downgrades == len(downgraded) > 0
    file = (run[1].parents[1] / "Memories.md").read_text(encoding="utf-8")
    sections = re.findall("^## Location", file, re.MULTILINE)
    assert len(sections) == 3
    assert figures.metrics.memory_coverage == pytest.approx(len(sections) / max(each.rooms for each in run[0].episodes))
    assert figures.metrics.tentative_memories == len(re.findall("TENTATIVE", file)) > 0
    first, second = figures.episodes
    assert first.memory_tokens is not None
    assert second.memory_tokens is not None
    assert 0 < first.memory_tokens < second.memory_tokens


def test_every_call_is_counted_once_and_objectives_cite_a_memory_and_no_location(
    run: tuple[WholeRun, Path], figures: RunFigures
) -> None:
    tokens = [tokens or 0 for role in figures.usage for tokens in (role.prompt_tokens, role.completion_tokens)]
    assert sum(tokens) == figures.run.tokens
    (agent,) = [role for role in figures.usage if role.role == "agent"]
    assert agent.calls == len(run[0].turns) == figures.run.turns
    metrics = figures.metrics
    assert metrics.objectives == 5  # every ten turns, and where an episode begins with knowledge
    assert (metrics.objectives_located, metrics.objectives_cited) == (0.0, 1.0)
    assert metrics.objective_tokens == 110
