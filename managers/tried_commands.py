"""Shows the agent the commands that had no visible effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from typing_extensions import Self, override

from managers.base_manager import BaseManager, Log, ManagerParts, ManagerStatus
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
    """Lists the commands that had no visible effect at the current location, without advice against them.

    Such a command may have an effect later. If its response was new, the entry includes the beginning of the response
    and its turn. Directions are left out if a map is shown, because the map lists them with the responses.

    directions: the story's own direction words (``StoryFacts.directions``)
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        *,
        directions: Iterable[str] = (),
    ) -> None:
        super().__init__(logger, config, game_state)
        self._movements = MovementAnalyzer(directions)

    @classmethod
    def build(cls, parts: ManagerParts) -> Self:
        """Build the manager with the story's own directions."""
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
