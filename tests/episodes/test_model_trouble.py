"""A server in trouble, and models that fail or return nonsense: runs go on, or pause and lose nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from pydantic import BaseModel

from orchestration.history import Branch, open_fork
from orchestration.parts import open_parts
from orchestration.run import open_run
from session.errors import LanguageModelUnavailable
from session.events import ModelAnswered, ModelFailed, RunStarted
from session.files.journal import read_manifest
from session.files.run_folders import find_run
from session.game_configuration import GameConfiguration, LanguageModelOptions, RoleOptions
from tests.fixtures.misbehaving_server import MisbehavingServer, Step, Streams, says_error
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.troubled_server import Answers, RestartingServer, Trouble
from tests.fixtures.whole_run import WholeRun, play_run, verify_run
from tests.unit.zorkgpt.llm.asking import Patience
from zorkgpt.llm.language_model import ROLES, Prompt, Role
from zorkgpt.llm.openai.openai_model import OpenAIModel

EPISODES, TURNS = 2, 20
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
    settings = RoleOptions("served", base_url, limits=limits)
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
            simple_memory={"visits_in_question": 1},
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
    memories, map_state = learned(healthy)
    assert len(memories) > 500
    assert map_state["rooms"]
    assert learned(troubled) == (memories, map_state)


def heard(run: WholeRun) -> list[tuple[str, str, dict[str, object]]]:
    """The calls by role, and the answers that were used."""
    return [(event.role, event.prompt_sha256, event.answer) for event in run.events if isinstance(event, ModelAnswered)]


def learned(run: WholeRun) -> tuple[bytes, dict[str, Any]]:
    """The memories and the map in the work folder, without the time of writing."""
    (started,) = (event for event in run.events if isinstance(event, RunStarted))
    workdir = Path(started.folder).parents[1]
    map_state = json.loads((workdir / "map_state.json").read_bytes())
    return (workdir / "Memories.md").read_bytes(), map_state | {"metadata": {}}


ANSWERS = ("north. north", "  ", "north", "examine barometer then wait. look", "look at the door " * 180, "south")


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
    assert [turn.action for turn in run.turns] == ["north", "north", "examine barometer", "south"]
    assert [len(turn.proposals) for turn in run.turns] == [1, 2, 1, 2]  # further commands in a line are a course
    assert [call.role for call in model.calls].count("critic") == 4
    assert not any("look at the door" in call.prompt.user for call in model.calls if call.role == "critic")
    assert max(len(call.prompt.user) for call in model.calls) < 8000
    replayed = verify_run(own_story, tmp_path)
    assert (replayed.difference, replayed.turns) == (None, 4)


LOOKS = Streams(('{"reasoning": "It may help.", "action": "look"}',))
WRONG_KEY = says_error(401, "Incorrect API key provided")
WRONG_MODEL = says_error(404, "no such model")
SPENT_QUOTA = says_error(429, "You exceeded your current quota", code="insufficient_quota")


def configured(server: MisbehavingServer, workdir: Path) -> GameConfiguration:
    options = {
        "agent_model": "named",
        "llm": {"base_url": server.base_url, "patience": 0},
        "zork_game_workdir": workdir,
        "max_turns_per_episode": 2,
        "simple_memory": {"enabled": False},
        "knowledge": {"enabled": False},
        "objectives": {"enabled": False},
        "critic": {"mode": "object_tree"},
    }
    return GameConfiguration.model_validate(options)


def play_once(configuration: GameConfiguration) -> None:
    with (
        open_parts(configuration) as parts,
        open_run(configuration, parts, episodes=1, show=lambda _: None, stop=Flag()) as run,
    ):
        run.play()


def files_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("step", [WRONG_KEY, WRONG_MODEL, SPENT_QUOTA], ids=["key", "model", "quota"])
def test_an_unusable_model_uses_up_neither_a_run_nor_an_episode_number(tmp_path: Path, step: Step) -> None:
    with MisbehavingServer(LOOKS) as server:
        configuration = configured(server, tmp_path / "work")
        play_once(configuration)
        run, before = find_run(tmp_path / "work"), files_in(tmp_path)
        server.trial = step
        with pytest.raises(LanguageModelUnavailable, match="agent: named at"):
            play_once(configuration)
        assert files_in(tmp_path) == before
        with (
            pytest.raises(LanguageModelUnavailable),
            open_parts(configuration) as parts,
            open_fork(configuration, parts, run, Branch(1, 1), show=lambda _: None, stop=Flag()),
        ):
            pass
        assert files_in(tmp_path) == before
        server.trial = LOOKS
        play_once(configuration)
    assert read_manifest(find_run(tmp_path / "work")).first_episode == 2


PLANNED_TURNS = 25
DOWN = LanguageModelUnavailable("the server is gone")


def player(others: Callable[[type[BaseModel]], Reply]) -> ScriptedLLM:
    """An agent that follows the walkthrough, while ``others`` answers for every other role."""
    commands = iter(WALKTHROUGH)

    def reply(role: Role, _prompt: Prompt, schema: type[BaseModel]) -> Reply:
        if role != "agent":
            return others(schema)
        return {"reasoning": "as planned", "action": next(commands)}

    return ScriptedLLM(reply)


def play_plan(story: Path, model: ScriptedLLM, folder: Path, **options: Any) -> WholeRun:
    return play_run(story, model, folder, max_turns_per_episode=PLANNED_TURNS, objective_update_interval=5, **options)


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
    down = play_plan(own_story, player(lambda _schema: DOWN), tmp_path / "a")
    run = play_plan(own_story, player(nonsense), tmp_path / "b", critic={"mode": "llm"}, extractor={"mode": "separate"})
    assert down.end == run.end == "done"
    assert len(down.turns) == PLANNED_TURNS
    assert [turn.after for turn in run.turns] == [turn.after for turn in down.turns]
    assert len([event for event in down.events if isinstance(event, ModelFailed)]) >= PLANNED_TURNS // 5
    assert "failures" in (tmp_path / "a" / "current_state.json").read_text()


def test_the_agents_own_nonsense_is_played_as_the_nonsense_it_is(own_story: Path, tmp_path: Path) -> None:
    words = ["frotz the grobnik", "\x1b[2J", "", "north\nnorth", "\\q", "take take take", "é" * 300]
    replies: list[Reply] = [{"reasoning": "\x07", "action": word or " "} for word in words * 9]
    run = play_run(own_story, ScriptedLLM(replies), tmp_path, max_turns_per_episode=9, critic={"mode": "object_tree"})
    assert run.end == "done"
    assert {turn.after.location for turn in run.turns} == {run.turns[0].before.location}
