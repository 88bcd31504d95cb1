"""A run against a server in trouble is the run against a healthy one, only slower."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from session.events import ModelAnswered, ModelFailed, RunStarted
from session.game_configuration import LanguageModelOptions
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.troubled_server import Answers, RestartingServer, Trouble
from tests.fixtures.whole_run import WholeRun, play_run
from tests.unit.zorkgpt.llm.asking import Patience
from zorkgpt.llm.language_model import ROLES
from zorkgpt.llm.openai.openai_model import OpenAIModel
from zorkgpt.llm.openai.served_model import RoleSettings

EPISODES, TURNS = 2, 30
SHARE_FAILED = 0.3
STALL = 0.1  # seconds, which nobody sleeps: the socket waits no longer
ATTEMPTS = 12
"""Where 30 % of all requests fail, one completion in two million does."""


def play(story: Path, base_url: str, folder: Path, paused: Callable[[], None] = lambda: None) -> WholeRun:
    """A run in which every role is called, on that server, without time spent on pauses."""
    patience = Patience()

    def sleep(seconds: float) -> None:
        patience.sleep(seconds)
        paused()

    limits = LanguageModelOptions(stall_timeout=STALL, max_attempts=ATTEMPTS)
    settings = RoleSettings("served", base_url, limits=limits)
    with OpenAIModel(dict.fromkeys(ROLES, settings), sleep=sleep, clock=patience.clock) as model:
        return play_run(
            story,
            model,
            folder,
            episodes=EPISODES,
            max_turns_per_episode=TURNS,
            objective_update_interval=10,
            knowledge_update_interval=20,
            critic={"mode": "llm"},
            extractor={"mode": "separate"},
        )


@pytest.fixture(scope="module")
def healthy(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> WholeRun:
    with MisbehavingServer(Answers()) as server:
        return play(own_story, server.base_url, tmp_path_factory.mktemp("healthy"))


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def troubled(own_story: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> WholeRun:
    trouble = Trouble(request.param, SHARE_FAILED)
    with RestartingServer(trouble, dies_at={30, 31, 100}) as server:
        run = play(own_story, server.base_url, tmp_path_factory.mktemp("troubled"), server.pause)
    assert server.restarts == 3
    assert sum(trouble.failures.values()) > SHARE_FAILED * server.requests / 2
    assert {"silent", "stalled", "cut", "unfinished", "reset within", "broken"} <= trouble.failures.keys()
    return run


def test_the_run_completes_with_the_same_transcript_calls_and_lessons(healthy: WholeRun, troubled: WholeRun) -> None:
    assert troubled.end == healthy.end == "done"
    assert len(troubled.episodes) == EPISODES
    assert len(troubled.turns) > TURNS
    assert len({turn.action for turn in healthy.turns}) > 5
    assert troubled.turns == healthy.turns
    assert {role for role, _, _ in heard(healthy)} == set(ROLES)
    assert heard(troubled) == heard(healthy)
    assert not [event for event in troubled.events if isinstance(event, ModelFailed)]
    memories, map_state = learnt(healthy)
    assert len(memories) > 500
    assert map_state["rooms"]
    assert learnt(troubled) == (memories, map_state)


def heard(run: WholeRun) -> list[tuple[str, str, dict[str, object]]]:
    """The calls by role, and the answers that were used."""
    return [(event.role, event.prompt_sha256, event.answer) for event in run.events if isinstance(event, ModelAnswered)]


def learnt(run: WholeRun) -> tuple[bytes, dict[str, Any]]:
    """The memories and the map in the work folder, without the time of writing."""
    (started,) = (event for event in run.events if isinstance(event, RunStarted))
    workdir = Path(started.folder).parents[1]
    map_state = json.loads((workdir / "map_state.json").read_bytes())
    return (workdir / "Memories.md").read_bytes(), map_state | {"metadata": {}}
