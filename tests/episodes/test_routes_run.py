"""What one episode reached, the next one returns to along a route, without asking a model."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from pydantic import BaseModel

from orchestration.history import Branch
from session.events import EpisodeEnded, Event, ModelAnswered, TurnPlayed
from session.files.run_folders import find_run
from tests.fixtures.doomed_run import decided_by_prompt
from tests.fixtures.prompted_run import fork_of
from tests.fixtures.run_traces import journal_of
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import WholeRun, play_run, resume_run, verify_run
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.stand_ins import ScriptedLLM

TURNS = 11
OPTIONS: dict[str, Any] = {
    "max_turns_per_episode": TURNS,
    "critic": {"mode": "object_tree"},
    "objectives": {"enabled": False},
    "simple_memory": {"enabled": False},
    "knowledge": {"enabled": False},
}


class Returning:
    """Plays the walkthrough once, with a look in it; then follows the route that wins most, and waits at its end."""

    def __init__(self) -> None:
        self.asked = 0
        self._commands = iter((*WALKTHROUGH[:4], "look", *WALKTHROUGH[4:TURNS]))

    def __call__(self, _role: Role, prompt: Prompt, _schema: type[BaseModel]) -> dict[str, object]:
        self.asked += 1
        routes = prompt.user.partition("## ROUTES\n")[2].split("\n\n")[0]
        gains = {int(number): int(gain) for number, gain in re.findall(r"^(\d+): \+(\d+)", routes, re.MULTILINE)}
        if gains:
            return {"action": "look", "follow": max(gains, key=lambda number: gains[number])}
        return {"action": next(self._commands, "wait")}


def play(story: Path, folder: Path, model: ScriptedLLM, **options: Any) -> WholeRun:
    return play_run(story, model, folder, **{"episodes": 2, **OPTIONS, **options})


def test_the_second_episode_returns_to_the_best_score_without_a_model_call_in_between(
    own_story: Path, tmp_path: Path
) -> None:
    agent = Returning()
    model = ScriptedLLM(agent)
    run = play(own_story, tmp_path, model)
    first, second = run.episodes
    assert first.best_score
    assert second.best_score == first.best_score
    followed = [turn for turn in run.turns if turn.is_of_route]
    assert [turn.turn for turn in followed] == list(range(1, len(followed) + 1))
    played = [turn for turn in run.turns if turn.episode == 1]
    best = next(turn.turn for turn in played if turn.after.score == first.best_score)
    assert [turn.action for turn in followed] == [turn.action for turn in played[:best] if turn.action != "look"]
    assert agent.asked == TURNS + 1 + TURNS - len(followed)

    sections = [call.prompt.user.partition("## ROUTES\n")[2].split("\n\n")[0] for call in model.calls]
    assert sections[:TURNS] == [""] * TURNS
    assert "in 10 turns, shortened, not tried yet: 1. north, …, 8. " in sections[TURNS]
    assert sections[TURNS + 1].startswith("Route 7 was followed to its end, in 10 commands.")
    reasons = [turn.proposals[-1].reasoning for turn in followed[1:]]
    assert reasons == [f"On route 7, +{first.best_score} points: command {number} of 10." for number in range(2, 11)]


def test_the_current_state_is_up_to_date_when_the_agent_is_asked_first_and_after_a_route(
    own_story: Path, tmp_path: Path
) -> None:
    (tmp_path / "current_state.json").write_text('{"run": "an earlier one", "episode": 1, "turn": 7}')
    agent, shown = Returning(), []

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        state = json.loads((tmp_path / "current_state.json").read_text())
        shown.append((state["run"], state["episode"], state["turn"], state["score"]))
        return agent(role, prompt, schema)

    run = play(own_story, tmp_path, ScriptedLLM(reply))
    *_, last_of_route = (turn for turn in run.turns if turn.is_of_route)
    run_id, route_end = find_run(tmp_path).name, (2, last_of_route.turn, last_of_route.after.score)
    assert shown[0] == (run_id, 1, 0, 0)
    assert shown[TURNS : TURNS + 2] == [(run_id, 2, 0, 0), (run_id, *route_end)]


def test_no_model_is_asked_about_anything_while_a_route_is_followed(own_story: Path, tmp_path: Path) -> None:
    agent = Returning()

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        return agent(role, prompt, schema) if role == "agent" else decided_by_prompt(role, prompt, schema)

    on: dict[str, Any] = {"objectives": {}, "simple_memory": {}, "knowledge": {}}
    often = {"objective_update_interval": 2, "knowledge_update_interval": 3}
    run = play(own_story, tmp_path, ScriptedLLM(reply), **on, **often)
    asked: Counter[bool] = Counter()
    for event, follower in pairwise(event for event in run.events if not isinstance(event, EpisodeEnded)):
        if isinstance(event, TurnPlayed):
            asked[event.record.is_of_route] += isinstance(follower, ModelAnswered) and follower.role != "agent"
    assert asked[False] > TURNS / 2
    assert asked[True] == 0


@pytest.fixture(scope="module")
def whole(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a run that was not stopped. No test changes it."""
    folder = tmp_path_factory.mktemp("whole")
    play(own_story, folder, ScriptedLLM(Returning()))
    return folder


@pytest.mark.parametrize("turn", range(1, TURNS))
def test_a_run_that_is_killed_at_a_step_of_a_route_and_resumed_equals_one_that_was_not(
    own_story: Path, tmp_path: Path, whole: Path, turn: int
) -> None:
    agent = Returning()

    def kill(event: Event) -> None:
        if isinstance(event, TurnPlayed) and (event.record.episode, event.record.turn) == (2, turn):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(own_story, tmp_path, ScriptedLLM(agent), show=kill)
    asked = agent.asked
    resume_run(own_story, ScriptedLLM(agent), tmp_path)
    assert agent.asked == asked + 1
    assert journal_of(tmp_path) == journal_of(whole)
    assert (tmp_path / "routes.json").read_text() == (whole / "routes.json").read_text()
    assert verify_run(own_story, tmp_path).difference is None


def test_a_run_that_stops_for_somebody_stops_in_the_middle_of_a_route_and_goes_on_there(
    own_story: Path, tmp_path: Path
) -> None:
    stop, agent = Flag(), Returning()

    def interrupt(event: Event) -> None:
        if isinstance(event, TurnPlayed) and (event.record.episode, event.record.turn) == (2, 4):
            stop.set()

    assert play(own_story, tmp_path, ScriptedLLM(agent), show=interrupt, stop=stop).end == "interrupted"
    resumed = resume_run(own_story, ScriptedLLM(agent), tmp_path)
    assert [turn.is_of_route for turn in resumed.turns] == [True] * 6 + [False]


def test_a_fork_in_the_middle_of_a_route_goes_on_along_it(own_story: Path, tmp_path: Path) -> None:
    play(own_story, tmp_path, ScriptedLLM(Returning()))
    waits = ScriptedLLM(lambda _role, _prompt, _schema: {"action": "wait"})
    fork = fork_of(own_story, tmp_path, Branch(2, 4), waits)
    assert [turn.is_of_route for turn in fork.played.turns if turn.episode == 2] == [True] * 10 + [False]


def test_without_routes_nothing_is_learnt_or_offered(own_story: Path, tmp_path: Path) -> None:
    model = ScriptedLLM(lambda _role, _prompt, _schema: {"action": "north"})
    play(own_story, tmp_path, model, routes={"enabled": False})
    assert not (tmp_path / "routes.json").exists()
    told = "".join(f"{call.prompt.system}{call.prompt.user}{call.schema.model_fields}" for call in model.calls)
    assert "`follow`" not in told
    assert "'follow'" not in told
    assert "ROUTES" not in told


def test_the_control_begins_a_route_in_its_middle_and_stops_there(own_story: Path, tmp_path: Path) -> None:
    model = ScriptedLLM(Returning())
    run = play(own_story, tmp_path, model, routes={"shuffled": True})
    assert next(turn.action for turn in run.turns if turn.is_of_route) == "open chest"
    assert "Route 7 stopped at `open chest` (1 command played): you are not at" in model.calls[TURNS + 1].prompt.user


def test_what_an_episode_tried_is_offered_to_the_next_one_last(own_story: Path, tmp_path: Path) -> None:
    chosen: list[str] = []

    def first(_role: Role, _prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        action = schema.model_json_schema()["properties"]["action"]
        offered = [each for each in action.get("enum", [action.get("const")]) if not each.startswith("follow route")]
        chosen.append(offered[0])
        return {"reasoning": "", "action": offered[0]}

    play(own_story, tmp_path, ScriptedLLM(first), assist="fresh-actions", max_turns_per_episode=2)
    assert chosen[0] == chosen[2]  # the only one that there is at the opening
    assert chosen[1] != chosen[3]
