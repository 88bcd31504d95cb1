"""Shows the agent what it has tried in vain: commands without an effect, and turns that repeat earlier ones.

It also ends an episode that makes no progress, if ``max_turns_without_progress`` is set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from typing_extensions import Self, Unpack, override

from managers.base_manager import BaseManager, Log, ManagerParts, ManagerStatus, SharedParts
from managers.objective_manager import ObjectiveManager
from managers.prompting import as_many_as_fit
from session.commands import is_routine, is_speech, is_waiting, typed
from session.context import Place, PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import counted, one_line
from session.values import Observation, TurnRecord

CIRCLING = "Going round in circles"
LONG_WITHOUT_POINTS = "Points"
MOST_SHOWN = 8
LONGEST_LAP, LAPS = 8, 3  # turns, and times that they are played
COUNTED_DOWN = 10  # turns before a stuck episode ends
LONGEST_TEXT = 210  # characters


class CirclingDetector(BaseManager):
    """Counts repetitions since the last new text or point, and the turns since the last point.

    A turn is a repetition if the same command led from the same moment to the same moment with the same response, or if
    it changed nothing and had that response here before. Turns that come round in laps are a circle, too (ADR 20).

    objectives: achieving one is progress; ``None`` without objectives
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        *,
        objectives: ObjectiveManager | None = None,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self.objectives = objectives
        self.reset()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._turns_stuck = self._achieved = 0
        self._turns_without_score = self._unchanged = self._changed_unseen = self.repetitions = 0
        self._news_turn = 1
        self._played: deque[tuple[object, ...]] = deque(maxlen=LONGEST_LAP + 1)
        self._alike = [0] * (LONGEST_LAP + 1)
        self._walks_laps = False

    @override
    def learn(self, record: TurnRecord) -> None:
        change = record.score_change
        self._turns_without_score = 0 if change is None or change > 0 else self._turns_without_score + 1
        objectives = self.objectives.objectives if self.objectives else ()
        before, self._achieved = self._achieved, sum(each.status == "completed" for each in objectives)
        self._turns_stuck = 0 if (change or 0) > 0 or self._achieved > before else self._turns_stuck + 1
        if record.after.refusal is not None:
            return
        command = typed(record.action, is_key=record.is_key)
        if self.game_state.tries.has_new_paragraph(record) or (change or 0) > 0:
            self.repetitions, self._news_turn, self._walks_laps = 0, record.turn, False
        if record.before.noticed == record.after.noticed:
            self._unchanged += 1
            self._changed_unseen += record.before.world_hash != record.after.world_hash
        self._count_repetition(record, command)
        self._walks_laps |= self._has_walked_laps(record, command)

    def _count_repetition(self, record: TurnRecord, command: str) -> None:
        if record.is_in_fight or is_speech(command) or is_waiting(command) or record.after.noticed is None:
            return
        for earlier in self.game_state.tries.of(record.before.location_id, record.action, is_key=record.is_key):
            if earlier.turn == record.turn or one_line(earlier.after.text) != one_line(record.after.text):
                continue
            is_same = self._are_alike(record.before, earlier.before) and self._are_alike(record.after, earlier.after)
            if self._are_alike(record.before, record.after) or (is_same and earlier.turn >= self._news_turn):
                self.repetitions += 1
                return

    def _has_walked_laps(self, record: TurnRecord, command: str) -> bool:
        """Return whether the latest turns are laps; one turn again and again is one only if it changes nothing."""
        if record.turn == self._news_turn or record.is_in_fight or is_speech(command) or record.after.noticed is None:
            self._played.clear()
        played = "wait" if is_waiting(command) else command
        self._played.append((played, record.before.noticed, record.after.noticed))
        for length in range(1, LONGEST_LAP + 1):
            is_alike = len(self._played) > length and self._played[-1 - length] == self._played[-1]
            self._alike[length] = self._alike[length] + 1 if is_alike else 0
        is_idle = self.repetitions >= LAPS and self._are_alike(record.before, record.after)
        return any(
            alike >= length * (LAPS - 1)
            and alike + length >= self.config.circling.repeated_states
            and (is_idle if length == 1 else self._alike[1] < length - 1)
            for length, alike in enumerate(self._alike)
            if length
        )

    def _are_alike(self, one: Observation, other: Observation) -> bool:
        """Return whether two moments differ at most in what changes by itself."""
        if one.noticed != other.noticed:
            return False
        changes_by_itself = self._changed_unseen * 2 > self._unchanged
        return one.world_hash == other.world_hash or changes_by_itself

    @property
    def is_circling(self) -> bool:
        """Whether ``config.circling.repeated_states`` turns were repetitions, or laps, and nothing new has followed."""
        return self._walks_laps or self.repetitions >= self.config.circling.repeated_states

    @property
    def turns_left(self) -> int | None:
        """The number of turns after which the episode ends if they bring no progress; ``None`` for no such limit."""
        limit = self.config.max_turns_without_progress
        return None if limit is None else limit - self._turns_stuck

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        title = CIRCLING if self.is_circling else LONG_WITHOUT_POINTS
        text = self.text()
        if self.turns_left is not None and self.turns_left <= COUNTED_DOWN:
            progress = "a point or an objective marked as achieved" if self.objectives else "a point"
            text += f"\nWithout {progress}, the episode ends after {counted(self.turns_left, 'more turn')}."
        return PromptSection(title, text.strip(), place=Place.WARNING)

    def text(self) -> str:
        """Return the warnings for the agent, or "" if there are none."""
        lines = []
        if self.is_circling:
            times = max(self.repetitions, *self._alike)
            lines.append(
                f"You have repeated yourself {times} times without new text or points: the same "
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


class TriedCommands(BaseManager):
    """Lists the commands that were tried in vain at the current location, without advice against them.

    What is in vain is in ADR 19; such a command may have an effect later.
    Directions are left out if a map is shown, because the map lists them with the responses.
    """

    @classmethod
    @override
    def build(cls, parts: ManagerParts) -> Self | None:
        return None if parts.config.prompt_budgets.game_so_far else super().build(parts)  # the game so far has them

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        here = observation.location
        tries = self.game_state.tries.latest_first(here.num) if here is not None else ()
        listed = []
        for command, turns in tries:
            is_on_map = self.config.map.shown and self.movements.is_direction(self.movements.exit_of(command))
            if not (is_on_map or is_routine(command) or turns[-1].is_in_fight) and (vain := in_vain(turns)):
                listed.append(f"`{command}` (turns {', '.join(str(turn.turn) for turn in vain)})")
        kept = as_many_as_fit(listed[:MOST_SHOWN], lambda items: len(", ".join(items)) <= LONGEST_TEXT)
        more = [f"{len(listed) - len(kept)} earlier"] if len(kept) < len(listed) else []
        text = ", ".join([*more, *reversed(kept)])
        return PromptSection("Tried here, no visible change", text, priority=5, place=Place.HERE)

    @override
    def get_status(self) -> ManagerStatus:
        return {"type": "tried_commands", "state": {}, "metrics": {}}


def in_vain(turns: Sequence[TurnRecord]) -> list[TurnRecord]:
    """Return the turns with the latest answer to a command if the latest was in vain, else none.

    turns: those in which it was typed at one location, oldest first
    """
    latest = turns[-1]
    alike = [turn for turn in turns if one_line(turn.after.text) == one_line(latest.after.text)]
    return alike if len(alike) > 1 and latest.changed_nothing and not latest.did_something else []
