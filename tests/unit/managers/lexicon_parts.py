"""A lexicon at the invented dye works, and turns for it to learn from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import structlog

from managers.lexicon_manager import LexiconManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Observation, TurnRecord
from tests.unit.zorkgpt.players.dye_works import in_the_loft, moment, turn, vocabulary

DIRECTIONS = ("north", "up")
LONG = "The vats stand in two rows, and blue runs down the side of each of them into a gutter in the stone floor."


def manager_in(workdir: Path, episode: int = 1) -> LexiconManager:
    config = GameConfiguration(zork_game_workdir=workdir)
    return LexiconManager(
        structlog.get_logger(), config, GameState(episode=episode), vocabulary=vocabulary(), directions=DIRECTIONS
    )


def changing(action: str, text: str = "Done.", number: int = 1) -> TurnRecord:
    """The command took the basket away from the vats."""
    return turn(action, moment(), replace(moment(text), visible=()), number)


def silent(action: str, text: str, number: int = 1) -> TurnRecord:
    """The command changed nothing but the hash of a world with a moving character, and took a turn."""
    return turn(action, replace(moment(), moves=4), replace(moment(text, world="w2"), moves=5), number)


def unread(action: str, text: str, number: int = 1) -> TurnRecord:
    """The command took no turn."""
    return turn(action, replace(moment(), moves=4), replace(moment(text), moves=4), number)


def moving(action: str, number: int = 1) -> TurnRecord:
    """The command led to the loft."""
    return turn(action, moment(), in_the_loft(), number)


def nowhere(text: str) -> Observation:
    """A moment in a story that shows nothing but its text and a hash."""
    return Observation(text, world_hash="w1")
