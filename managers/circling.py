"""Notices when the same command gets the same answer over and over, and tells the agent. Nothing else is done about it.

Several parts of the program remember what was tried before, and each of them another fact. Within an episode,
:class:`CirclingDetector` knows what has had one answer again and again since something last changed;
``managers.tried_commands`` what changed nothing at a location; ``zorkgpt.players.repetitions`` what a command came to
each time it was typed while everything looked as it does now; ``GameState.times_played`` how often a command was played
at a location; and ``zorkgpt.players.object_check`` in which state of the world an exit failed. Across episodes and
runs, the map knows which exits never led anywhere, the lexicon which forms of commands the parser took, and
``managers.memory.news`` which outcomes were considered for a memory. None can be worked out from another: they differ
in what counts as the same situation, in what counts as the same command, or in how long they last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from typing_extensions import override

from managers.base_manager import BaseManager, ManagerStatus
from session.command_reading import is_speech, is_waiting, plain_command
from session.context import Place, PromptSection
from session.text import one_line

if TYPE_CHECKING:
    import logging

    from structlog.typing import FilteringBoundLogger

    from session.game_configuration import GameConfiguration
    from session.game_state import GameState
    from session.values import Observation, TurnRecord

CIRCLING = "Going round in circles"
LONG_WITHOUT_POINTS = "Points"
MOST_SHOWN = 2
"""Commands: the latest ones."""


class _Tries(NamedTuple):
    """How often a command had this answer, one time after the other."""

    answer: str
    times: int


class CirclingDetector(BaseManager):
    """Counts tries with the same answer since the player last noticed a change, and the turns since the last points.

    ``config.circling`` says when the agent is told. What is out of sight does not count: in many stories somebody walks
    about there, and no state of the whole world ever comes back (ADR 20). What is said to somebody, what is done in a
    fight, and waiting are no circles: they may well go otherwise the next time.
    """

    def __init__(
        self, logger: logging.Logger | FilteringBoundLogger, config: GameConfiguration, game_state: GameState
    ) -> None:
        super().__init__(logger, config, game_state)
        self._turn = 0
        self._no_points_since: int | None = None
        self._tries: dict[str, _Tries] = {}

    def reset(self, game_state: GameState | None = None) -> None:
        """Forget the episode before."""
        super().reset(game_state)
        self._turn = 0
        self._no_points_since = None
        self._tries = {}

    def learn(self, record: TurnRecord) -> None:
        """Count the turn's command with its answer, and note whether it brought points."""
        self._count_try(record)
        if record.score_change is None:
            self._no_points_since = None
        elif record.score_change > 0:
            self._no_points_since = record.turn
        elif self._no_points_since is None:
            self._no_points_since = record.turn - 1
        self._turn = record.turn

    def section(self, observation: Observation) -> PromptSection | None:
        """Return a warning where play goes in circles, and how long no point was scored."""
        del observation
        title = CIRCLING if self._repeated() else LONG_WITHOUT_POINTS
        return PromptSection(title, self.text(), place=Place.WARNING)

    def text(self) -> str:
        """Return what the agent is told; "" where there is nothing to say."""
        lines = [
            f"`{command}` has had the same answer {tries.times} times, with no change between that you can see."
            for command, tries in [*self._repeated().items()][-MOST_SHOWN:]
        ]
        if self._turns_without_score >= self.config.circling.turns_without_score:
            lines.append(f"No point scored for {self._turns_without_score} turns.")
        return "\n".join(lines)

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "circling",
            "state": {"text": self.text()},
            "metrics": {
                "tries_since_a_change": sum(tries.times for tries in self._tries.values()),
                "commands_repeated": len(self._repeated()),
                "turns_without_score": self._turns_without_score,
            },
        }

    @property
    def _turns_without_score(self) -> int:
        return 0 if self._no_points_since is None else self._turn - self._no_points_since

    def _count_try(self, record: TurnRecord) -> None:
        if record.did_something or record.before.noticed is None or record.is_in_fight:
            self._tries = {}
            return
        command, answer = plain_command(record.action), one_line(record.after.text)
        if record.after.refusal is None and not (is_speech(command) or is_waiting(command)):
            before = self._tries.pop(command, _Tries(answer, 0))
            self._tries[command] = _Tries(answer, before.times + 1 if before.answer == answer else 1)

    def _repeated(self) -> dict[str, _Tries]:
        least = self.config.circling.repeated_states
        return {command: tries for command, tries in self._tries.items() if tries.times >= least}
