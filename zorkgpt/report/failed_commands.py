"""Counts the turns that repeat a command which had failed at the same place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.text import one_line

if TYPE_CHECKING:
    from session.values import TurnRecord


class FailedCommands:
    """Every command of a run that has failed so far, by location, whatever its episode."""

    def __init__(self) -> None:
        self._failed: set[tuple[int, str]] = set()

    def repeats(self, record: TurnRecord) -> bool | None:
        """Return whether the turn's command had failed at its location before; ``None`` where that is not known.

        A failure of this turn counts from the next turn on.
        """
        if record.before.location is None:
            return None
        key = (record.before.location.num, one_line(record.action).casefold())
        repeated = key in self._failed
        if has_failed(record):
            self._failed.add(key)
        return repeated


def has_failed(record: TurnRecord) -> bool:
    """Return whether the command was refused, or nothing that the player could notice came of it, not even a death.

    Where it is not known what the player noticed, only a refused command has failed for certain.
    """
    before, after = record.before, record.after
    if after.refusal is not None:
        return True
    return before.noticed is not None and before.noticed == after.noticed and not after.died and after.ending is None
