"""Remembers which commands of an episode left everything that the player can notice as it was, and tells the agent."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable

from structlog.typing import FilteringBoundLogger
from typing_extensions import Self, override

from managers.base_manager import BaseManager, ManagerParts, ManagerStatus
from session.commands import is_routine, plain_command
from session.context import Place, PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Observation, TurnRecord
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

MOST_SHOWN = 8


class TriedCommands(BaseManager):
    """Lists the commands that changed nothing to be seen where they were typed, without advice against them.

    What they told may have been worth knowing, and later they may do something. Directions are left out where a map is
    shown, which has them with the story's words.

    directions: the story's own direction words (``StoryFacts.directions``)
    """

    def __init__(
        self,
        logger: logging.Logger | FilteringBoundLogger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        directions: Iterable[str] = (),
    ) -> None:
        super().__init__(logger, config, game_state)
        self._movements = MovementAnalyzer(directions)
        self._tried: defaultdict[int, dict[str, None]] = defaultdict(dict)

    @classmethod
    def build(cls, parts: ManagerParts) -> Self:
        """Make the manager with the story's own directions."""
        return cls(parts.logger, parts.config, parts.game_state, directions=parts.story.directions)

    def reset(self, game_state: GameState | None = None) -> None:
        """Begin an episode, in which nothing was tried."""
        super().reset(game_state)
        self._tried.clear()

    def learn(self, record: TurnRecord) -> None:
        """Note the turn's command at its location, the latest last, or take it off the list if it did something."""
        here, command = record.before.location, plain_command(record.action)
        if here is None or record.after.refusal is not None or record.before.noticed is None or is_routine(command):
            return
        if self.config.map.shown and self._movements.is_direction(self._movements.exit_of(command)):
            return
        tried = self._tried[here.num]
        tried.pop(command, None)
        if not (record.did_something or record.is_in_fight):
            tried[command] = None

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        here = observation.location
        latest = [*self._tried[here.num]][-MOST_SHOWN:] if here is not None else []
        text = ", ".join(f"`{command}`" for command in latest)
        return PromptSection("Tried here, no visible change", text, priority=5, place=Place.HERE)

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "tried_commands",
            "state": {},
            "metrics": {"commands": sum(map(len, self._tried.values())), "locations": len(self._tried)},
        }
