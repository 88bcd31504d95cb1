"""An interpreter that is killed costs nothing; one that dies of a command twice costs that command, not the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import pytest

from game_interface.core.machine.saved_state import SavedState
from orchestration.turn import RestoringGame
from session.errors import GameError
from session.events import Event, GameFailed
from session.files.journal import Journal
from session.values import Location, Observation, Seed
from tests.fixtures.held_stores import HeldStores
from tests.fixtures.scripted_game import ScriptedGame

QUAY = Observation("A boat lies here.", Location(1, "Quay"), score=0, moves=0)
BOAT = replace(QUAY, text="In the boat.", location=Location(2, "Boat"))
DEAD = "The scripted interpreter died at 'dive'."


class Dying(ScriptedGame):
    """Dies of "dive", and of looking ahead; the ``restores`` first tries to put it back fail, too."""

    def __init__(self, failing_restores: int = 0) -> None:
        super().__init__({"": QUAY, "board boat": BOAT}, failing_commands=("dive",))
        self.steps: list[str] = []
        self._failing_restores = failing_restores

    def step(self, command: str) -> Observation:
        self.steps.append(command)
        return super().step(command)

    def valid_actions(self) -> tuple[str, ...]:
        raise GameError("The scripted interpreter died of curiosity.")

    def restore(self, state: object) -> Observation:
        if self._failing_restores:
            self._failing_restores -= 1
            raise GameError("There is no interpreter left.")
        return super().restore(state)  # type: ignore[arg-type]  # whatever it is


def around(inner: ScriptedGame, *recorded: Event) -> tuple[RestoringGame, list[Event]]:
    folder = Path(mkdtemp())
    journal = Journal(folder)
    for event in recorded:
        journal.append(event)
    journal.close()
    inputs, events = HeldStores(folder, []).inputs, list[Event]()
    inputs.count = events.append
    return RestoringGame(inner, inputs), events


def test_a_command_that_kills_the_interpreter_changes_nothing_but_what_is_said_and_play_goes_on() -> None:
    game, events = around(Dying())
    game.step("board boat")
    reason = f"The command did not work, and nothing has changed: {DEAD}"
    assert game.step("dive") == game.observation == replace(BOAT, text=reason, refusal=reason)
    assert events == [GameFailed("dive", DEAD)]
    assert game.step("wait").refusal is None
    assert game.step("board boat") == game.observation == BOAT
    game.reset(7)
    assert game.step("dive").location == QUAY.location


def test_looking_ahead_that_kills_the_interpreter_shows_nothing_and_changes_nothing() -> None:
    game, events = around(Dying())
    game.step("board boat")
    assert game.valid_actions() == ()
    assert game.observation == BOAT
    assert events == [GameFailed("", "The scripted interpreter died of curiosity.")]


def test_an_interpreter_that_cannot_even_be_put_back_is_a_game_error_and_no_command_has_failed() -> None:
    game, events = around(Dying(failing_restores=1))
    with pytest.raises(GameError, match="no interpreter left"):
        game.step("dive")
    assert events == []
    assert game.observation == QUAY


class Killed(ScriptedGame):
    """Is killed at these requests, counted from 1 over steps, looks ahead and resets; it plays again once restored."""

    def __init__(self, *at: int) -> None:
        super().__init__({"": QUAY, "board boat": BOAT}, valid_actions=("board boat",))
        self._at = at
        self._requests = 0
        self._dead = False

    def _ask(self) -> None:
        self._requests += 1
        self._dead |= self._requests in self._at
        if self._dead:
            raise GameError("The interpreter crashed.")

    def step(self, command: str) -> Observation:
        self._ask()
        return super().step(command)

    def valid_actions(self) -> tuple[str, ...]:
        self._ask()
        return super().valid_actions()

    def reset(self, seed: Seed) -> Observation:
        self._dead = False
        self._ask()
        return super().reset(seed)

    def restore(self, state: SavedState) -> Observation:
        self._dead = False
        return super().restore(state)


def test_an_interpreter_that_is_killed_once_costs_nothing_and_leaves_nothing_in_the_record(
    caplog: pytest.LogCaptureFixture,
) -> None:
    game, events = around(Killed(1, 3, 5))
    assert game.step("board boat") == game.observation == BOAT
    assert game.valid_actions() == ("board boat",)
    assert game.reset(7) == game.observation == QUAY
    assert events == []
    assert "crashed" in caplog.text


def test_a_command_counts_as_one_that_did_not_work_where_the_interpreter_dies_twice_in_a_row() -> None:
    game, events = around(Killed(1, 2))
    assert "did not work" in (game.step("board boat").refusal or "")
    assert events == [GameFailed("board boat", "The interpreter crashed.")]
    assert game.step("board boat") == BOAT


def test_a_recorded_failure_is_repeated_without_asking_the_interpreter_unless_it_is_of_another_command() -> None:
    inner = Dying()
    recorded = [GameFailed("board boat", "it hung for 10 seconds"), GameFailed("", "it hung")]
    game, events = around(inner, *recorded)
    seen = game.step("board boat")
    assert inner.steps == []
    assert seen.location == QUAY.location
    assert "it hung for 10 seconds" in (seen.refusal or "")
    assert game.valid_actions() == ()
    assert events == recorded
    game, events = around(Dying(), GameFailed("dive", "it hung"))
    assert game.step("board boat") == BOAT
    assert events == []
