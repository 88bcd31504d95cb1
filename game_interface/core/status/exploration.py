"""Explores the beginning of an unknown story, as evidence of where it keeps its status."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import DynamicMemory

State = TypeVar("State")

_MOTIONS = (
    *("north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest"),
    *("up", "down", "in", "out", "stand"),
)
_TURNS = ("look", "inventory", "look")
"""Commands that take a turn in every library without changing the world."""
_MOST_PLACES = 7
_ENOUGH_MOVES = 8


class Emulator(Protocol[State]):
    """The operations of an interpreter that exploration needs."""

    def step(self, command: str) -> str:
        """Play ``command`` and return the story's answer."""
        ...

    def memory(self) -> DynamicMemory:
        """Return dynamic memory; the next step may overwrite it."""
        ...

    def listens(self) -> bool:
        """Return whether the story waits for a command rather than a key, and has not stopped."""
        ...

    def save(self) -> State:
        """Return the whole state, including the random number generator."""
        ...

    def restore(self, state: State) -> None:
        """Restore ``state`` exactly."""
        ...


@dataclass(frozen=True, slots=True)
class Exploration:
    """The observations of an exploration. Memories are copies of dynamic memory.

    turns: memories of consecutive turns
    score_text: the answer to ``score`` after these turns
    places: memories at the start and after every successful motion
    moves: for each successful motion, the objects that moved because of it; waiting would not have moved them
    takers: the objects into which ``take all`` moved something
    """

    turns: list[bytes]
    score_text: str
    places: list[bytes]
    moves: list[frozenset[int]] = field(default_factory=list)
    takers: set[int] = field(default_factory=set)


def explore(table: ObjectTable, emulator: Emulator[State]) -> Exploration:
    """Explore from the current state in about a hundred steps. Does not restore ``emulator``."""
    start = emulator.save()
    turns = [bytes(emulator.memory())]
    for command in _TURNS:
        emulator.step(command)
        turns.append(bytes(emulator.memory()))
    explorer = _Explorer(table, emulator, Exploration(turns, emulator.step("score"), [turns[0]]))
    explorer.explore_from(start)
    return explorer.exploration


class _Explorer(Generic[State]):
    """Tries every motion in each place, breadth first."""

    def __init__(self, table: ObjectTable, emulator: Emulator[State], exploration: Exploration) -> None:
        self._table, self._emulator, self.exploration = table, emulator, exploration

    def explore_from(self, start: State) -> None:
        """Add the places around ``start`` to ``exploration``."""
        seen = {self._table.parents(self.exploration.places[0])}
        unexplored = deque([start])
        for _ in range(_MOST_PLACES):
            if not unexplored or len(self.exploration.moves) >= _ENOUGH_MOVES:
                return
            for arrangement, reached in self._try_motions(unexplored.popleft()).items():
                if arrangement not in seen:
                    seen.add(arrangement)
                    unexplored.append(reached)

    def _try_motions(self, place: State) -> dict[tuple[int, ...], State]:
        """Return the states after each successful motion from ``place``, keyed by the parents of all objects."""
        self._emulator.restore(place)
        before = self._parents()
        drifting = _moved(before, self._after(place, "wait"))
        taken = self._after(place, "take all")
        self.exploration.takers.update(taken[num] for num in _moved(before, taken) - drifting)
        reached: dict[tuple[int, ...], State] = {}
        for motion in _MOTIONS:
            after = self._after(place, motion)
            moved = _moved(before, after) - drifting
            if moved:
                self.exploration.moves.append(moved)
                self.exploration.places.append(bytes(self._emulator.memory()))
                reached[after] = self._emulator.save()
        return reached

    def _after(self, place: State, command: str) -> tuple[int, ...]:
        """Return the parents of all objects after ``command`` in ``place``."""
        self._emulator.restore(place)
        self._emulator.step(command)
        return self._parents()

    def _parents(self) -> tuple[int, ...]:
        return self._table.parents(self._emulator.memory())


def _moved(before: tuple[int, ...], after: tuple[int, ...]) -> frozenset[int]:
    """Return the objects with a new parent in ``after``, other than 0."""
    return frozenset(num for num, parent in enumerate(after) if parent not in (0, before[num]))
