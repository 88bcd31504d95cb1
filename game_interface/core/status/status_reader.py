"""Reads where the player is and how the game stands, in stories of which nothing is known beforehand.

Nothing is claimed unless two sources agree: the object tree and a global on the room, the score and the status line's
copy of it on the score. Up to version 3 the Standard's own definition is one of them. From version 4 on, a look around
tells which object is the player and which globals mean what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from typing_extensions import override

from game_interface.core.status.exploration import Emulator, State, explore
from game_interface.core.status.inference import Clues, infer_clues

if TYPE_CHECKING:
    from game_interface.core.machine.object_table import ObjectTable
    from game_interface.core.machine.story import DynamicMemory, Story

__all__ = ["Emulator", "Status", "StatusReader", "status_reader"]

_OPENINGS: tuple[tuple[str, ...], ...] = ((), ("wait",) * 10, ("open door",), ("no",), ("yes",), ("1",), ("north",))
"""Commands that may be needed before a move succeeds: none, patience, a door to open, an answer, a move that fails."""


class Status(NamedTuple):
    """What a story's memory says for certain; ``None`` where it says nothing.

    location: the room, while the player stands in it directly
    room: the room, also while the player is in a vehicle or on a chair (whose number Jericho gives as location)
    player: the object that is the player
    score, moves: points, and the story's own count of turns
    """

    location: int | None = None
    room: int | None = None
    player: int | None = None
    score: int | None = None
    moves: int | None = None


class StatusReader(Protocol):
    """Reads the status from memory; the same memory always gives the same status."""

    def read(self, memory: DynamicMemory) -> Status:
        """Return the status in ``memory``, a copy of dynamic memory."""
        ...


def status_reader(story: Story, table: ObjectTable, emulator: Emulator[State]) -> StatusReader:
    """Learn to read the status of ``story`` by trying moves on ``emulator``, which is put back afterwards.

    To be called once, right after the opening text; takes some hundred steps.
    """
    start = emulator.save()
    clues: Clues | None = None
    try:
        for opening in _OPENINGS:
            emulator.restore(start)
            for command in opening:
                emulator.step(command)
            exploration = explore(table, emulator)
            learned = infer_clues(story, table, exploration)
            if learned and exploration.moves:
                clues = learned
                break
            clues = clues or learned
    finally:
        emulator.restore(start)
    return _LearnedReader(story, table, clues) if clues else _EmptyReader()


class _EmptyReader(StatusReader):
    """Claims nothing, since nothing could be learned."""

    @override
    def read(self, memory: DynamicMemory) -> Status:
        return Status()


class _LearnedReader(StatusReader):
    """Reads where the clues point, and claims what two of them agree on."""

    def __init__(self, story: Story, table: ObjectTable, clues: Clues) -> None:
        self._table, self._globals = table, story.globals
        self._player, self._body, self._rooms = clues.player, clues.body, clues.rooms
        self._score, self._shown_score = clues.score, clues.shown_score
        self._turns, self._shown_turns = clues.turns, clues.shown_turns

    @override
    def read(self, memory: DynamicMemory) -> Status:
        location, room = self._place(memory)
        changed = self._body is not None and self._value(memory, self._body) != self._player
        score, shown_score = self._value(memory, self._score), self._value(memory, self._shown_score)
        turns, shown_turns = self._value(memory, self._turns), self._value(memory, self._shown_turns)
        just_drawn = shown_turns in (None, turns)
        return Status(
            location=location,
            room=room,
            player=None if changed else self._player,
            score=_agreed(score, shown_score, just_drawn=just_drawn),
            moves=turns if just_drawn else None,
        )

    def _value(self, memory: DynamicMemory, num: int | None) -> int | None:
        """Return the signed value of a global, ``None`` of none."""
        if num is None:
            return None
        at = self._globals + 2 * num
        value = memory[at] << 8 | memory[at + 1]
        return value - 0x10000 if value & 0x8000 else value

    def _place(self, memory: DynamicMemory) -> tuple[int | None, int | None]:
        """Return the location and the room, as :class:`Status` tells them apart."""
        named = [self._value(memory, num) for num in self._rooms]
        if self._player is None:
            room = named[0] if 0 < (named[0] or 0) <= self._table.count else None
            return room, room
        parent = self._table.parent(memory, self._player)
        if parent and parent in named:
            return parent, parent
        return None, next((num for num in self._table.ancestors(memory, parent) if num in named), None)


def _agreed(score: int | None, shown: int | None, *, just_drawn: bool) -> int | None:
    """Return the score on which both figures agree; a status line that was not just drawn does not count."""
    if not just_drawn or shown is None:
        return score
    return shown if score in (None, shown) else None
