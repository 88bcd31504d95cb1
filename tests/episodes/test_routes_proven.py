"""Between episodes routes are tried out and shortened, once: resume and replay take the results from the journal."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest

from session.events import Event, GameFailed, RoutesProven, RunStarted, TurnPlayed
from tests.fixtures.run_traces import journal_of
from tests.fixtures.whole_run import WholeRun, play_run, resume_run, verify_run
from zorkgpt.llm.stand_ins import ScriptedLLM

DETOURS = (
    *("north", "south", "north", "west", "east", "north", "take lamp", "up", "west", "open chest", "take coat"),
    *("drop coat", "open tin", "take key", "look", "east", "unlock door with key", "up"),
)
OPTIONS: dict[str, Any] = {
    "max_turns_per_episode": len(DETOURS),
    "assist": "proven-routes",
    "critic": {"mode": "object_tree"},
    "objectives": {"enabled": False},
    "simple_memory": {"enabled": False},
    "knowledge": {"enabled": False},
    "routes": {"proof_seeds": 2, "proof_seconds": 600},  # however busy the machine is
}


def wanderer() -> ScriptedLLM:
    commands = iter(DETOURS)
    return ScriptedLLM(lambda _role, _prompt, _schema: {"action": next(commands, "wait")})


def play(story: Path, folder: Path, **options: Any) -> WholeRun:
    return play_run(story, wanderer(), folder, episodes=2, **{**OPTIONS, **options})


def proofs(run: WholeRun) -> list[RoutesProven]:
    return [event for event in run.events if isinstance(event, RoutesProven)]


def routes_in(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "routes.json").read_text())["routes"]
    return found


def test_a_route_is_shortened_to_what_it_needs_and_a_second_one_carries_more(own_story: Path, tmp_path: Path) -> None:
    run = play(own_story, tmp_path)
    best = run.episodes[0].best_score
    forms = [route for route in routes_in(tmp_path) if route["goal"] == {"kind": "score", "number": best}]
    shortest, richest = ([step["command"] for step in route["steps"]] for route in forms)
    assert shortest == [
        *("north", "north", "up", "west", "open chest", "open tin", "take key", "east", "unlock door with key"),
    ]
    assert richest == [*shortest[:2], "take lamp", *shortest[2:]]
    assert [route["proof"] for route in forms] == [{"worked": 2, "tried": 2}] * 2
    assert isinstance(run.events[0], RunStarted)
    assert run.events[0].assistance == ("proven-routes",)
    assert [proof.episode for proof in proofs(run)] == [1]
    assert not any(isinstance(event, GameFailed) for event in run.events)
    assert verify_run(own_story, tmp_path).difference is None


def test_without_the_assistance_nothing_is_tried(own_story: Path, tmp_path: Path) -> None:
    run = play(own_story, tmp_path, assist=frozenset())
    assert proofs(run) == []
    assert max(len(route["steps"]) for route in routes_in(tmp_path)) > 12


def test_a_proof_that_has_no_time_leaves_the_routes_as_they_were_and_is_made_up_for_later(
    own_story: Path, tmp_path: Path
) -> None:
    play(own_story, tmp_path, routes={"proof_seconds": 1e-9})
    assert [route for route in routes_in(tmp_path) if "proof" in route] == []
    later = play_run(own_story, wanderer(), tmp_path, **OPTIONS)
    assert len(proofs(later)[0].routes) > 5


@pytest.mark.parametrize("kind", [TurnPlayed, pytest.param(RoutesProven, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_around_a_proof_and_resumed_equals_one_that_was_not(
    own_story: Path, tmp_path: Path, kind: type[Event]
) -> None:
    play(own_story, tmp_path / "whole")

    def kill(event: Event) -> None:
        if isinstance(event, kind) and (not isinstance(event, TurnPlayed) or event.record.turn == len(DETOURS)):
            raise KeyboardInterrupt

    model = wanderer()
    with pytest.raises(KeyboardInterrupt):
        play_run(own_story, model, tmp_path / "killed", episodes=2, show=kill, **OPTIONS)
    resume_run(own_story, model, tmp_path / "killed")
    assert journal_of(tmp_path / "killed") == journal_of(tmp_path / "whole")
    assert routes_in(tmp_path / "killed") == routes_in(tmp_path / "whole")


def test_a_run_that_is_to_stop_does_not_wait_for_the_proof(own_story: Path, tmp_path: Path) -> None:
    stop = Flag()

    def interrupt(event: Event) -> None:
        if isinstance(event, TurnPlayed) and event.record.turn == len(DETOURS):
            stop.set()

    stopped = play(own_story, tmp_path, show=interrupt, stop=stop)
    assert (stopped.end, proofs(stopped)) == ("interrupted", [])
    resumed = resume_run(own_story, wanderer(), tmp_path)
    assert [proof.episode for proof in proofs(resumed)] == [2]
    assert verify_run(own_story, tmp_path).difference is None
