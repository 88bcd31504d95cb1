"""Shows the agent which commands left everything that the player can notice as it was."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence

from structlog.typing import FilteringBoundLogger
from typing_extensions import Self, override

from managers.base_manager import BaseManager, ManagerParts, ManagerStatus
from managers.prompting import as_many_as_fit
from session.commands import is_routine
from session.context import Place, PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import cut_at, one_line
from session.values import Observation, TurnRecord
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

MOST_SHOWN = 8
LONGEST_NEWS = 30  # characters
LONGEST_TEXT = 210  # characters
_ASIDE = re.compile(r"^\s*\([^()\n]*\)[ \t]*\n")
"""A first line in brackets, in which a story says how it has read the command."""


class TriedCommands(BaseManager):
    """Lists the commands that changed nothing to be seen where they were typed, without advice against them.

    Those that printed something new have the beginning of it and its turn, since it may have been worth knowing. Later
    they may do something. Directions are left out if a map is shown, which has them with the story's words.

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

    @classmethod
    def build(cls, parts: ManagerParts) -> Self:
        """Make the manager with the story's own directions."""
        return cls(parts.logger, parts.config, parts.game_state, directions=parts.story.directions)

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        here = observation.location
        tries = self.game_state.tries.latest_first(here.num) if here is not None else ()
        latest = [f"`{command}`{self._news(turns)}" for command, turns in tries if self._is_listed(command, turns[-1])]
        kept = as_many_as_fit(latest[:MOST_SHOWN], lambda items: len(", ".join(items)) <= LONGEST_TEXT)
        text = ", ".join(reversed(kept))
        return PromptSection("Tried here, no visible change", text, priority=5, place=Place.HERE)

    def _news(self, turns: Sequence[TurnRecord]) -> str:
        news = self.game_state.tries.news(turns)
        if news is None:
            return ""
        told = one_line(_ASIDE.sub("", news.after.text)).strip('"') or one_line(news.after.text)
        return f' (turn {news.turn}: "{cut_at(told, LONGEST_NEWS, "…")}")'

    def _is_listed(self, command: str, latest: TurnRecord) -> bool:
        if latest.did_something or latest.is_in_fight or latest.before.noticed is None or is_routine(command):
            return False
        return not (self.config.map.shown and self._movements.is_direction(self._movements.exit_of(command)))

    @override
    def get_status(self) -> ManagerStatus:
        return {"type": "tried_commands", "state": {}, "metrics": {}}
