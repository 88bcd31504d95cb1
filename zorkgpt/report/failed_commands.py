"""Which turns repeat a command that had failed at the same place (seed 3, Success Metrics)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.text import one_line

if TYPE_CHECKING:
    from session.values import TurnRecord


class FailedCommands:
    """Every command that has failed so far, by place. It outlives an episode, as memories are meant to."""

    def __init__(self) -> None:
        self._failed: set[tuple[int, str]] = set()

    def repeats(self, record: TurnRecord) -> bool | None:
        """The turn's command had failed at its place before; ``None`` where the place is not known.

        What this turn led to counts from the next turn on.
        """
        if record.before.location is None:
            return None
        key = (record.before.location.num, one_line(record.action).casefold())
        repeated = key in self._failed
        if has_failed(record):
            self._failed.add(key)
        return repeated


def has_failed(record: TurnRecord) -> bool:
    """The command was refused, or nothing that the player could notice came of it, and nobody died.

    Where what was noticed is not known, only a refused command has failed for certain.
    """
    before, after = record.before, record.after
    if after.refusal is not None:
        return True
    return before.noticed is not None and before.noticed == after.noticed and not after.died and after.ending is None
