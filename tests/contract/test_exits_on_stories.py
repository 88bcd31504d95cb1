"""Over 200 turns of a real story no exit that was tried is called untried.

Source: docs/specification.md, Map in prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
import structlog

from benchmarks.stories import walkthrough_of
from game_interface.core.game import Game
from managers.map_manager import MapManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Proposal, Reading, TurnRecord, Verdict
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

TURNS = 200
_LINE = re.compile(r"L(\d+) .*untried: ([^;]+)")


class Walker:
    """Plays turns while the map learns, reads every direction in every text, and notes the exits tried at each
    location.
    """

    def __init__(self, game: Game, workdir: Path) -> None:
        self._game = game
        self._directions = MovementAnalyzer(game.facts.directions)
        self._reading = Reading(is_room_description=True, exits=game.facts.directions)
        config = GameConfiguration(zork_game_workdir=workdir)
        self._map = MapManager(structlog.get_logger(), config, GameState(), directions=game.facts.directions)
        self._tried: set[tuple[int, str]] = set()
        self.turns = self.refused = 0

    def play(self, command: str) -> None:
        self.turns += 1
        before = self._game.observation
        after = self._game.step(command)
        proposals, verdicts = (Proposal(command, reading=self._reading),), (Verdict(accepted=True),)
        record = TurnRecord(1, self.turns, before, proposals, verdicts, after)
        self._map.game_state.record(record)
        self._map.learn(record)
        exit_ = self._directions.exit_of(command)
        if before.location and self._directions.is_direction(exit_):
            self._tried.add((before.location.num, exit_))
            self.refused += not record.moved

    def tried_and_called_untried(self) -> set[tuple[int, str]]:
        """Return the exits that the prompt would call untried now, and that were tried."""
        untried = {
            (int(found[1]), exit_)
            for found in map(_LINE.match, self._map.local_view().splitlines())
            if found
            for exit_ in found[2].split(", ")
        }
        return untried & self._tried


def walk_with_returns(game: Game, commands: Iterator[str], walker: Walker) -> None:
    """Play the commands, and before each third of them try a direction and come back."""
    directions = cycle(game.facts.directions)
    for number, command in enumerate(commands):
        if number % 3 == 0:
            here = game.save()
            walker.play(next(directions))
            assert walker.tried_and_called_untried() == set()
            game.restore(here)
        walker.play(command)
        assert walker.tried_and_called_untried() == set()
        if walker.turns >= TURNS or game.observation.ending is not None:
            break


@pytest.mark.parametrize("name", ["tidehouse", pytest.param("zork1", marks=pytest.mark.stories)])
def test_no_exit_that_was_tried_is_called_untried(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    play = walkthrough_of(request.getfixturevalue({"tidehouse": "own_story", "zork1": "zork1"}[name]))
    with play.open() as game:
        walker = Walker(game, tmp_path)
        begun = game.save()
        while walker.turns < TURNS:
            walk_with_returns(game, iter(play.commands), walker)
            game.restore(begun)
    assert walker.turns == TURNS
    assert walker.refused >= TURNS / 10
