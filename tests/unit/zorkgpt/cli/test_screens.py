"""What a run looks like on each screen."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import get_args

import pytest
from rich.console import Console

from session.events import (
    EpisodeEnd,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    FileEdited,
    ModelFailed,
    ProvenRoute,
    RoutesProven,
    RunPaused,
    RunStarted,
    TurnPlayed,
)
from session.route import Goal, KnownRoute, Proof, RouteStep, Waypoint
from session.values import Location, Observation, Proposal, StoryFacts, TurnRecord, Verdict
from zorkgpt.cli.screen import Screen, draw, plain_lines

STORY = StoryFacts("p/mill.z5", "mill", "0" * 64, 5, 1, "260101", known=False)
STARTED = RunStarted("run-1", "w/runs/run-1", STORY, "mill.z5 (asked for)", "a model", ("valid-actions",), 2, 9)
BEFORE = Observation("A mill.\x1b[2J", Location(3, "Mill"), score=0)
AFTER = Observation("The wheel [bold]turns[/bold].", Location(3, "Mill"), score=5)
RECORD = TurnRecord(
    1,
    4,
    BEFORE,
    (Proposal("save"), Proposal("turn wheel", "It may grind.")),
    (Verdict(False, "no saving", "parser"), Verdict(True)),
    AFTER,
)
ENDED = EpisodeEnded(1, "turn_limit", 4, 5, 5, 80, 1, 12.4)
EVENTS: list[Event] = [
    STARTED,
    EpisodeStarted(1, 7, BEFORE),
    TurnPlayed(RECORD, 1.25),
    ModelFailed("memory", "0" * 64, "gone", 1.0),
    ModelFailed("agent", "0" * 64, "gone", 1.0),
    FileEdited("map_state.json", ""),
    ENDED,
    RunPaused("the server is gone", episode=1, turns=4),
]


def plain(*events: Event, quiet: bool = False) -> str:
    return "".join(f"{line}\n" for event in events or EVENTS for line in plain_lines(event, quiet=quiet))


def live(*events: Event) -> str:
    out = io.StringIO()
    for event in events or EVENTS:
        draw(event, Console(file=out, width=100, force_terminal=False))
    return out.getvalue()


def test_a_turn_shows_room_score_time_reasoning_command_and_why_another_was_not_played() -> None:
    for shown in (plain(), live()):
        for part in ("Mill", "score 5", "1.2 s", "It may grind.", "> turn wheel", "Turn 4"):
            assert part in shown
    assert plain().count("not played: ") == 1
    assert "not played: save (no saving)" in plain()


def test_a_command_of_3000_letters_is_cut_wherever_it_stands() -> None:
    long = Proposal("turn " * 600)
    event = TurnPlayed(replace(RECORD, proposals=(long, long)), 1.25)
    for shown in (plain(event), live(event)):
        assert 60 <= shown.count("turn ") < 100
        assert "[…]" in shown


def test_neither_markup_nor_control_sequences_of_a_story_are_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    for event in EVENTS:
        Screen().show(event)
    for shown in (capsys.readouterr().out, live()):
        assert "[bold]turns[/bold]" in shown
        assert "\x1b[2J" not in shown
        assert "\\x1b[2J" in shown


def test_no_name_and_no_reason_adds_a_line_of_its_own() -> None:
    named = replace(STARTED, model="evil\nzorkgpt resume x goes on from here.")
    shown = plain(named, RunPaused("evil\r\nPaused", episode=1, turns=4), ModelFailed("memory", "", "a\u2028b", 1.0))
    assert len(shown.splitlines()) == 2 + 1 + 1


def test_a_failure_of_the_agents_model_is_told_once_and_every_end_of_an_episode() -> None:
    assert plain().count("The memory model gave no answer: gone") == 1
    assert "The agent model" not in plain()
    assert plain().count("the server is gone") == 1
    assert all(plain(replace(ENDED, end=end)).startswith("Episode 1 ") for end in get_args(EpisodeEnd))


def test_quiet_shows_how_it_began_and_how_it_ended() -> None:
    assert plain(quiet=True).splitlines() == [
        "a model, assisted by valid-actions, plays mill.z5 (asked for)",
        "2 episodes of at most 9 turns, in w/runs/run-1",
        "Episode 1 stopped at the turn limit after 4 turns: score 5 of 80, 1 room, 12 s",
        "Paused in episode 1 after 4 turns: the server is gone",
    ]
    assert "map_state.json was changed from outside this run, and is read again." in plain()


def test_every_event_is_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(as_json=True)
    for event in EVENTS:
        screen.show(event)
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [entry["kind"] for entry in shown] == [event.kind for event in EVENTS]


@pytest.mark.parametrize(
    ("commands", "words"),
    [(7, "7 commands became 2 (worked in 4 of 5 trials)"), (2, "its 2 commands worked in 4 of 5 trials")],
)
def test_a_route_that_was_tried_out_says_what_it_became_and_whether_it_worked(commands: int, words: str) -> None:
    form = KnownRoute(2, Goal("score", 5), Waypoint(), (RouteStep("up", Waypoint()),) * 2, 1, proof=Proof(4, 5))
    shown = plain(RoutesProven(1, (ProvenRoute(form.key, 2, commands, (form,)),)))
    assert shown == f"Route 2 was tried out: {words}\n"
