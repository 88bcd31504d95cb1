"""Learns where an unknown story keeps its status, at the opening and whenever a value is missing."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Generic, NamedTuple

from typing_extensions import override

from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.saved_state import NO_CLUES, Clues, Learned
from game_interface.core.machine.story import DynamicMemory, Story
from game_interface.core.status.exploration import Emulator, State, explore
from game_interface.core.status.inference import infer_clues, told_score
from game_interface.core.status.status_reader import ClueReader, Status, StatusReader

_ANSWERS: tuple[tuple[str, ...], ...] = ((), ("no",), ("yes",), ("1",), ("",))
_WAYS: tuple[tuple[str, ...], ...] = ((), ("open door",), ("north",), ("stand",), ("wait",) * 10, ("wait",) * 40)
"""Commands that may be needed before a move succeeds: open a door, try a move that fails, stand up, wait."""
_OPENINGS = sorted((answer + way for answer, way in product(_ANSWERS, _WAYS)), key=len)
_MOST_MOVES_OF_AN_OPENING = 100
_MOST_MOVES = 4000
"""A higher counter counts seconds or minutes instead of moves."""
_TRIES = 6
_TRY_EVERY = 5
"""While a value is missing, the reader learns again at each of the first ``_TRIES`` turns, then at every fifth."""
_STAYS = 6
"""Turns after which another body is accepted as the player without having moved; visions are shorter."""


class LearningReader(StatusReader, Generic[State]):
    """Learns to read the status of ``story`` by trying moves on ``emulator``, which is restored afterwards.

    Must be constructed right after the opening text, which takes several hundred steps. Later, while the player or the
    room is missing, it tries again every few turns.
    """

    def __init__(self, story: Story, table: ObjectTable, emulator: Emulator[State]) -> None:
        self._story, self._table, self._emulator = story, table, emulator
        self._at_opening = self.learned = Learned(self._learn_at_opening(), missed=1)
        self._reader = ClueReader(table, story.globals, self.learned.clues)

    @override
    def begin(self) -> None:
        self.learned = self._at_opening

    @override
    def read(self, memory: DynamicMemory, text: str) -> Status:
        status = self._read(memory)
        if status.player and status.location:
            if self.learned.missed:
                self.learned = Learned(self.learned.clues)
        elif self._emulator.listens():
            clues, missed = self.learned.clues, self.learned.missed + 1
            if missed <= _TRIES or missed % _TRY_EVERY == 0:
                clues = _merged(clues, self._learn(_MOST_MOVES))
            if missed >= _STAYS:
                clues = self._with_body(clues, memory)
            self.learned = Learned(clues, missed)
            status = self._read(memory)
        if status.score is None and self.learned.clues.tells_score:
            asked = self._asked_score() if self._emulator.listens() else None
            status = status._replace(score=told_score(text).score if asked is None else asked)
        return status

    def _read(self, memory: DynamicMemory) -> Status:
        if self._reader.clues is not self.learned.clues:
            self._reader = ClueReader(self._table, self._story.globals, self.learned.clues)
        return self._reader.read(memory)

    def _with_body(self, clues: Clues, memory: DynamicMemory) -> Clues:
        """Return ``clues`` with the object that ``memory`` names as the player added to ``players``."""
        body = ClueReader(self._table, self._story.globals, clues).body(memory)
        return replace(clues, players=tuple(dict.fromkeys((*clues.players, body)))) if body else clues

    def _learn_at_opening(self) -> Clues:
        """Return the clues after the first opening that lets the player move, or else of the first with any rooms."""
        clues = NO_CLUES
        for opening in _OPENINGS:
            lesson = self._learn(_MOST_MOVES_OF_AN_OPENING, opening)
            if lesson.moved and lesson.clues.rooms:
                return self._with_body(_with_score_of(lesson.clues, clues), self._emulator.memory())
            if not clues.rooms:
                clues = _with_score_of(lesson.clues, clues)
        return clues

    def _learn(self, most_moves: int, opening: tuple[str, ...] = ()) -> _Lesson:
        """Play ``opening``, explore from there and return the result; the emulator is restored."""
        emulator = self._emulator
        start = emulator.save()
        try:
            for command in opening:
                emulator.step(command)
            exploration = explore(self._table, emulator)
        finally:
            emulator.restore(start)
        return _Lesson(infer_clues(self._story, self._table, exploration, most_moves), moved=bool(exploration.moves))

    def _asked_score(self) -> int | None:
        """Return the score in the story's answer to ``score``; the emulator is restored."""
        emulator = self._emulator
        start = emulator.save()
        try:
            return told_score(emulator.step("score")).score
        finally:
            emulator.restore(start)


class _Lesson(NamedTuple):
    """The clues of an exploration, and whether the player moved in it."""

    clues: Clues
    moved: bool


def _merged(known: Clues, lesson: _Lesson) -> Clues:
    """Return ``known`` combined with a ``lesson``: an object that moved in it is the player or another body."""
    found = lesson.clues
    if not (lesson.moved and found.players and found.rooms):
        return _with_score_of(known, found)
    if known.body is None or known.body != found.body:
        return _with_score_of(found, known)
    return replace(known, players=tuple(dict.fromkeys(known.players + found.players)))


def _with_score_of(clues: Clues, other: Clues) -> Clues:
    """Return ``clues`` completed by the told score and maximum of ``other``."""
    return replace(
        clues,
        tells_score=clues.tells_score or (clues.score is None and other.tells_score),
        max_score=other.max_score if clues.max_score is None else clues.max_score,
    )
