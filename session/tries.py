"""The turns of an episode by location and command."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from session.commands import plain_command
from session.text import one_line
from session.values import Observation, TurnRecord


class Tries:
    """The turns of an episode, for queries about earlier ones like the present one.

    Turns whose command never reached the story are omitted. Locations are ids, ``None`` if unknown.
    """

    def __init__(self) -> None:
        self._turns: defaultdict[int | None, dict[str, list[TurnRecord]]] = defaultdict(dict)
        self._first_said: dict[str, int] = {}

    def add(self, turn: TurnRecord) -> None:
        """Add the latest turn."""
        if turn.after.refusal is not None:
            return
        here, command = turn.before.location, plain_command(turn.action)
        at_location = self._turns[None if here is None else here.num]
        at_location[command] = at_location.pop(command, [])
        at_location[command].append(turn)
        self._first_said.setdefault(one_line(turn.after.text), turn.turn)

    def of(self, location_id: int | None, command: str) -> Sequence[TurnRecord]:
        """Return the turns in which the command was typed at the location, oldest first."""
        return self._turns[location_id].get(plain_command(command), ())

    def latest_first(self, location_id: int | None) -> Iterator[tuple[str, Sequence[TurnRecord]]]:
        """Return each command that was typed at the location, the latest first, with its turns, oldest first."""
        return reversed(self._turns[location_id].items())

    def has_new_text(self, turn: TurnRecord) -> bool:
        """Return whether no earlier turn had printed the turn's text."""
        return self._first_said.get(one_line(turn.after.text), turn.turn) == turn.turn

    def news(self, turns: Sequence[TurnRecord]) -> TurnRecord | None:
        """Return the first of the turns with a text that was new then, ``None`` if there is none."""
        return next(filter(self.has_new_text, turns), None)

    def outcomes(self, now: Observation, command: str) -> list[str]:
        """Return the answers to the command in turns that began with the same perceptible state as now.

        Moves are omitted, because a way may be walked repeatedly. The list is empty unless the whole world state was
        the same at least once.
        """
        here = None if now.location is None else now.location.num
        same = [
            turn
            for turn in self.of(here, command)
            if now.noticed is not None and turn.before.noticed == now.noticed and not turn.moved
        ]
        is_known = any(turn.before.world_hash == now.world_hash != "" for turn in same)
        return [one_line(turn.after.text) for turn in same] if is_known else []
