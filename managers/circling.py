"""Notices when play goes round in circles and tells the agent. Nothing else is done about it.

Several parts of the program remember what was tried before, and each of them another fact. Within an episode,
:class:`CirclingDetector` knows on which turns everything looked as it does now; ``zorkgpt.players.repetitions`` what a
command came to each time it was typed while everything looked so; ``GameState.times_played`` how often a command was
played at a location; and ``zorkgpt.players.object_check`` in which state of the world an exit failed. Across
episodes and runs, the map knows which exits never led anywhere, the lexicon which forms of commands the parser took,
and ``managers.memory.news`` which outcomes were considered for a memory. None can be worked out from another: they
differ in what counts as the same situation, in what counts as the same command, or in how long they last.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from typing_extensions import override

from managers.base_manager import BaseManager, ManagerStatus
from session.context import Place, PromptSection

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger
    from typing_extensions import Self

    from managers.base_manager import ManagerParts
    from session.game_configuration import GameConfiguration
    from session.game_state import GameState
    from session.values import Observation, TurnRecord

MAX_TURNS_SHOWN = 5


class CirclingDetector(BaseManager):
    """Remembers on which turns the player noticed what, and how long ago a turn last brought points.

    ``config.circling`` says when the agent is told. What is out of sight does not count: in many stories somebody walks
    about there, and no state of the whole world ever comes back (ADR 20).
    """

    _turn: int
    _no_points_since: int | None
    _seen_on: defaultdict[tuple[object, ...], list[int]]
    _same_seen_on: tuple[int, ...]

    def __init__(
        self,
        logger: logging.Logger | FilteringBoundLogger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        tried_before: Callable[[Observation], str] = lambda _observation: "",
    ) -> None:
        super().__init__(logger, config, game_state)
        self._tried_before = tried_before
        self._forget()

    @classmethod
    def build(cls, parts: ManagerParts) -> Self:
        """Make the detector, which tells of earlier tries as well."""
        return cls(parts.logger, parts.config, parts.game_state, tried_before=parts.tried_before)

    def reset(self, game_state: GameState | None = None) -> None:
        """Forget the episode before."""
        super().reset(game_state)
        self._forget()

    def learn(self, record: TurnRecord) -> None:
        """Note what the player noticed after the turn and whether it brought points.

        What was noticed before the first turn counts as turn 0.
        """
        if not self._turn:
            self._see(record.before, record.turn - 1)
        self._see(record.after, record.turn)
        if record.score_change is None:
            self._no_points_since = None
        elif record.score_change > 0:
            self._no_points_since = record.turn
        elif self._no_points_since is None:
            self._no_points_since = record.turn - 1
        self._turn = record.turn

    def recall(self, record: TurnRecord) -> None:
        """Take in a turn again."""
        self.learn(record)

    def section(self, observation: Observation) -> PromptSection | None:
        """Return a warning where play goes in circles, and what was typed before with everything as it is now."""
        text = "\n".join(filter(None, (self.text(), self._tried_before(observation))))
        return PromptSection("Going round in circles", text, place=Place.WARNING)

    def text(self) -> str:
        """Return a sentence for the agent about going in circles; "" where there is nothing to say."""
        parts = []
        if len(self._same_seen_on) >= self.config.circling.repeated_states:
            parts.append(f"everything you can see is as it was on turns {_listed(self._same_seen_on)}")
        if self._turns_without_score >= self.config.circling.turns_without_score:
            parts.append(f"no point scored for {self._turns_without_score} turns")
        sentence = "; ".join(parts)
        return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "circling",
            "state": {"text": self.text()},
            "metrics": {
                "states": len(self._seen_on),
                "same_state_before": len(self._same_seen_on),
                "turns_without_score": self._turns_without_score,
            },
        }

    @property
    def _turns_without_score(self) -> int:
        return 0 if self._no_points_since is None else self._turn - self._no_points_since

    def _forget(self) -> None:
        self._turn = 0
        self._no_points_since = None
        self._seen_on = defaultdict(list)
        self._same_seen_on = ()

    def _see(self, observation: Observation, turn: int) -> None:
        noticed = observation.noticed
        if noticed is None:
            self._same_seen_on = ()
            return
        turns = self._seen_on[noticed]
        self._same_seen_on = tuple(turns)
        turns.append(turn)


def _listed(turns: tuple[int, ...]) -> str:
    earlier = len(turns) - MAX_TURNS_SHOWN
    return ", ".join(map(str, turns[-MAX_TURNS_SHOWN:])) + (f" and {earlier} earlier" if earlier > 0 else "")
