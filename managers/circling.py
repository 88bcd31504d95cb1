"""Detects circling: turns repeat earlier ones without new text or points."""

from __future__ import annotations

from typing_extensions import override

from managers.base_manager import BaseManager, Log, ManagerStatus
from session.commands import is_speech, is_waiting, plain_command
from session.context import Place, PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import one_line
from session.values import Observation, TurnRecord

CIRCLING = "Going round in circles"
LONG_WITHOUT_POINTS = "Points"


class CirclingDetector(BaseManager):
    """Counts repetitions since the last new text or point, and the turns since the last point.

    A turn is a repetition in either of two cases:

    - The same command led from the same moment to the same moment with the same response, since the last new text or
      point.
    - It changed nothing and had the same response at this location before.

    A moment is what the player can notice (ADR 20), and the hash of the object tree unless the tree usually changes by
    itself. Conversation, waiting and turns in a fight do not count because their results may differ the next time.
    """

    def __init__(self, logger: Log, config: GameConfiguration, game_state: GameState) -> None:
        super().__init__(logger, config, game_state)
        self.reset()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._turn = 0
        self._no_points_since: int | None = None
        self._unchanged = self._changed_unseen = 0
        self._news_turn = 1
        self.repetitions = 0

    @override
    def learn(self, record: TurnRecord) -> None:
        change = record.score_change
        if change is None:
            self._no_points_since = None
        elif change > 0:
            self._no_points_since = record.turn
        elif self._no_points_since is None:
            self._no_points_since = record.turn - 1
        self._turn = record.turn
        if record.after.refusal is None:
            self._count(record, has_points=(change or 0) > 0)

    def _count(self, record: TurnRecord, *, has_points: bool) -> None:
        tries, here, command = self.game_state.tries, record.before.location, plain_command(record.action)
        if tries.has_new_text(record) or has_points:
            self.repetitions, self._news_turn = 0, record.turn
        if record.before.noticed == record.after.noticed:
            self._unchanged += 1
            self._changed_unseen += record.before.world_hash != record.after.world_hash
        if record.is_in_fight or is_speech(command) or is_waiting(command) or record.after.noticed is None:
            return
        moments = self._moment(record.before), self._moment(record.after)
        for earlier in tries.of(here.num if here else None, command):
            if earlier.turn == record.turn or one_line(earlier.after.text) != one_line(record.after.text):
                continue
            is_same = moments == (self._moment(earlier.before), self._moment(earlier.after))
            if moments[0] == moments[1] or (is_same and earlier.turn >= self._news_turn):
                self.repetitions += 1
                return

    def _moment(self, observation: Observation) -> tuple[object, ...]:
        changes_by_itself = self._changed_unseen * 2 > self._unchanged
        return (observation.noticed, None if changes_by_itself else observation.world_hash)

    @property
    def is_circling(self) -> bool:
        """Whether at least ``config.circling.repeated_states`` turns were repetitions, and nothing new has followed."""
        return self.repetitions >= self.config.circling.repeated_states

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        title = CIRCLING if self.is_circling else LONG_WITHOUT_POINTS
        return PromptSection(title, self.text(), place=Place.WARNING)

    def text(self) -> str:
        """Return the warnings for the agent, or "" if there are none."""
        lines = []
        if self.is_circling:
            lines.append(
                f"You have repeated yourself {self.repetitions} times since anything new was said or won: the same "
                "command in the same situation had the same result. Do something that you have not tried here."
            )
        if self._turns_without_score >= self.config.circling.turns_without_score:
            lines.append(f"No point scored for {self._turns_without_score} turns.")
        return "\n".join(lines)

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "circling",
            "state": {"text": self.text()},
            "metrics": {"repetitions": self.repetitions, "turns_without_score": self._turns_without_score},
        }

    @property
    def _turns_without_score(self) -> int:
        return 0 if self._no_points_since is None else self._turn - self._no_points_since
