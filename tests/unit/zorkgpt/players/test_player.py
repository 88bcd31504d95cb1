"""Players without a model: a person, a function and chance; their proposals are recorded and repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session.commands import COMMON_COMMANDS
from session.context import AgentContext, OfferedRoute
from session.events import Event, MemoryGiven, Proposed
from session.files.recording import Diverged
from session.values import AgentNote, Location, Observation, Proposal
from tests.fixtures.held_stores import held
from zorkgpt.players.player import (
    Action,
    FunctionPlayer,
    Player,
    RandomPlayer,
    RecordedPlayer,
    Remember,
    TurnContext,
)

CHOICES = ("north", "open box", "take box")


def unread(_system: str) -> AgentContext:
    pytest.fail("the prompt of a model was built")


def context(
    place: int = 7,
    choices: tuple[str, ...] | None = CHOICES,
    routes: tuple[OfferedRoute, ...] = (),
    prompt: Callable[[str], AgentContext] = unread,
    *,
    turn: int = 2,
) -> TurnContext:
    observation = Observation("A mill.", Location(place, "Mill"))
    return TurnContext(observation, turn, 9, prompt, choices, routes)


def test_chance_draws_what_was_tried_least_at_the_place_and_the_same_seed_draws_the_same() -> None:
    player = RandomPlayer(1)
    drawn = [sorted(player.propose(context()).action for _ in CHOICES) for _ in range(5)]
    assert drawn == [sorted(CHOICES)] * 5
    player.propose(context())
    assert sorted(player.propose(context(8)).action for _ in CHOICES) == sorted(CHOICES)
    first, same, other = ([each.propose(context()).action for _ in range(30)] for each in map(RandomPlayer, (1, 1, 2)))
    assert first == same != other
    assert {player.propose(context(choices=None)).action for _ in range(99)} <= set(COMMON_COMMANDS)


def test_chance_follows_a_route_that_belongs_to_the_list() -> None:
    routes = (OfferedRoute(4, "follow route 4 (+5)"), OfferedRoute(3, "follow route 3 (+35)", is_listed=True))
    assert RandomPlayer(1).propose(context(routes=routes)).follow == 3
    assert RandomPlayer(1).propose(context(routes=routes[:1])).follow is None
    assert RandomPlayer(1).propose(context(routes=routes, choices=None)).follow is None


def test_a_function_returns_a_command_an_action_or_a_memory() -> None:
    memory = Remember(MemoryGiven({"memory_title": "Box"}))
    answers: Iterator[str | Action | Remember] = iter(
        [" north ", Action(follow=3, until=2, note=" near "), Action(go_to=9), memory]
    )
    player = FunctionPlayer("walk()", lambda _context: next(answers))
    assert [player.propose(context()) for _ in range(4)] == [
        Proposal("north"),
        Proposal("wait", follow=3, until=2, note=AgentNote("near")),
        Proposal("wait", go_to=9),
        memory,
    ]


def recorded(folder: Path, player: Player | None) -> tuple[RecordedPlayer, list[Event]]:
    stores = held(folder)
    return RecordedPlayer(player, stores.recording, lambda: None), stores.events


def test_a_proposal_is_recorded_and_a_memory_only_when_it_is_learned(tmp_path: Path) -> None:
    memory = Remember(MemoryGiven({}))
    answers: Iterator[str | Remember] = iter(["north", memory])
    player, events = recorded(tmp_path, FunctionPlayer("walk()", lambda _context: next(answers)))
    assert player.propose(context()) == Proposal("north")
    assert player.propose(context()) == memory
    assert [event.proposal for event in events if isinstance(event, Proposed)] == [Proposal("north")]


def test_other_players_than_a_model_propose_the_only_choice_themselves(tmp_path: Path) -> None:
    player, _ = recorded(tmp_path, RandomPlayer(1))
    assert player.unasked(context(choices=("north",)), Proposal("wave")) is None
    assert not player.plans_ahead


def test_without_a_player_nothing_new_is_proposed(tmp_path: Path) -> None:
    player, _ = recorded(tmp_path, None)
    with pytest.raises(Diverged):
        player.propose(context())
