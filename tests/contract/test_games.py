"""What every ``Game`` promises, on the fake and on the real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from game_interface.core.game import Game, SavedState
from game_interface.core.isolated import IsolatedGame
from game_interface.core.jericho_interface import JerichoInterface
from session.errors import ConfigurationError, GameError
from session.values import GameObject, Location, Observation
from tests.fixtures.scripted_game import ScriptedGame
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH

_HALL = Observation("Hall", Location(1, "Hall"), (), (), 0, None, 0, "00000001")
_LAMP = Observation("Taken.", Location(1, "Hall"), (GameObject(5, "lamp", 4),), (), 5, None, 1, "00000002")
_SCRIPT = {"": _HALL, **dict.fromkeys(WALKTHROUGH, _LAMP), WALKTHROUGH[-1]: Observation("Won.", ending="won")}


@pytest.fixture(params=["scripted", "in this process", "in a child"])
def game(request: pytest.FixtureRequest, own_story: Path) -> Iterator[Game]:
    made: dict[str, type[JerichoInterface | IsolatedGame]] = {
        "in this process": JerichoInterface,
        "in a child": IsolatedGame,
    }
    kind = made.get(request.param)
    with kind(own_story) if kind else ScriptedGame(_SCRIPT) as game:
        yield game


def play(game: Game, count: int) -> list[Observation]:
    return [game.step(command) for command in WALKTHROUGH[:count]]


def test_a_game_is_at_its_opening_as_soon_as_it_exists(game: Game) -> None:
    assert game.observation.text
    assert game.observation.location is not None
    assert game.observation == game.reset(1)


def test_the_same_seed_and_commands_show_the_same(game: Game) -> None:
    first = game.reset(7), play(game, 12)
    assert (game.reset(7), play(game, 12)) == first


@pytest.mark.parametrize(
    ("method", "given", "error", "match"),
    [
        *(
            ("reset", seed, ConfigurationError, "whole number from 1 to")
            for seed in (0, -1, 2**32, 1.5, "3", True, None)
        ),
        *(("step", command, GameError, "must be a string") for command in (None, 3, b"look")),
        *(
            ("restore", state, GameError, "Expected a saved state of a story, not .{1,50}$")
            for state in (None, b"x" * 5000, "a save")
        ),
    ],
)
def test_a_seed_a_command_or_a_state_that_is_none_is_an_error_and_play_goes_on(
    game: Game, method: str, given: object, error: type[Exception], match: str
) -> None:
    before = game.observation
    with pytest.raises(error, match=match):
        getattr(game, method)(given)
    other = replace(game.save(), story="00" * 32)
    with pytest.raises(GameError, match="another story"):
        game.restore(other)
    assert game.observation == before
    assert game.step(WALKTHROUGH[0]).refusal is None
    assert game.reset(1) == before


@pytest.mark.parametrize("command", ["save", "", "\\n", "a\0b", "look\nlook", "quit", "日本", "x" * 5000])
def test_a_refused_command_costs_nothing_and_says_why(game: Game, command: str) -> None:
    play(game, 3)
    before, saved = game.observation, game.save()
    refused = game.step(command)
    assert refused.refusal
    assert refused.text == refused.refusal
    assert (refused.location, refused.inventory, refused.moves) == (before.location, before.inventory, before.moves)
    assert game.save().snapshot == saved.snapshot
    assert game.step(WALKTHROUGH[3]).refusal is None


def test_a_restored_game_goes_on_as_it_went_before(game: Game) -> None:
    play(game, 5)
    saved, before = game.save(), game.observation
    after = [game.step(command) for command in WALKTHROUGH[5:9]]
    assert game.restore(SavedState.unpacked(saved.packed())) == before
    assert game.observation == before
    assert [game.step(command) for command in WALKTHROUGH[5:9]] == after


def test_looking_for_valid_actions_leaves_everything_as_it_was(game: Game) -> None:
    play(game, 4)
    before = game.save()
    actions = game.valid_actions()
    assert game.save() == before
    assert game.valid_actions() == actions
    assert len(set(actions)) == len(actions)


def test_after_its_end_a_story_takes_no_command_until_it_is_reset_or_restored(game: Game) -> None:
    start = game.save()
    play(game, len(WALKTHROUGH))
    ended = game.save()
    assert game.observation.ending == "won"
    assert_refused_as_ended(game)
    assert game.valid_actions() == ()
    assert game.restore(start).ending is None
    game.step(WALKTHROUGH[0])
    assert game.restore(ended).ending == "won"
    assert_refused_as_ended(game)
    assert game.reset(1).ending is None


def assert_refused_as_ended(game: Game) -> None:
    last, snapshot = game.observation, game.save().snapshot
    refused = game.step("look")
    assert refused.refusal
    assert "ended" in refused.refusal
    assert refused == game.observation == replace(last, text=refused.refusal, died=False, refusal=refused.refusal)
    assert game.save().snapshot == snapshot


@pytest.mark.parametrize("played", [0, len(WALKTHROUGH)])
def test_a_closed_game_is_closed_for_good_even_at_its_end_and_may_be_closed_again(game: Game, played: int) -> None:
    play(game, played)
    saved = game.save()
    game.close()
    game.close()
    uses: list[Callable[[], object]] = [
        lambda: game.reset(1),
        lambda: game.step("look"),
        lambda: game.step(""),
        game.valid_actions,
        game.save,
        lambda: game.restore(saved),
    ]
    for use in uses:
        with pytest.raises(GameError, match="closed"):
            use()
