"""Reads the player's location and the score of a story, and infers where an unknown story keeps them.

For a story without a profile, a value is claimed only if two sources agree:

- the room: the object tree and a global
- the score: a global and either its copy in the status line or the story's answer to ``score``

Up to version 3 the definition in the Standard counts as one source. An exploration of the beginning of the story shows
which object is the player and which globals hold the room, the score and the turns.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from struct import unpack_from
from typing import NamedTuple

from game_interface.core.machine.interpreter import Interpreter, Snapshot
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import DynamicMemory, Story, read_word
from session.commands import DIRECTIONS

_LAST_VERSION_WITH_STATUS_LINE = 3
"""Up to this version the interpreter draws the status line, from the first three globals."""
_THIRD_GLOBAL = 4
"""Offset in bytes from the first global. Contains the moves, or the minutes of a clock."""
_MOST_MOVES_OF_AN_OPENING = 100
"""A higher count at the opening is of seconds or minutes instead of moves."""
_MANY_ROOMS = 12
"""Rooms in an object from which on it is the container of all rooms, as in Infocom's stories, not a place."""
_ANSWERS: tuple[tuple[str, ...], ...] = ((), ("no",), ("yes",), ("1",), ("",))
_WAYS: tuple[tuple[str, ...], ...] = ((), ("open door",), ("north",), ("stand",), ("wait",) * 10, ("wait",) * 40)
"""Commands that may be needed before a move succeeds: open a door, try a move that fails, stand up, wait."""
_OPENINGS = sorted((answer + way for answer, way in product(_ANSWERS, _WAYS)), key=len)
_MOST_MOVES_OF_A_GAME = 4000
"""A higher counter counts seconds or minutes instead of moves."""
_TRIES = 6
_TRY_EVERY = 5
"""While a value is missing, the reader learns again at each of the first ``_TRIES`` turns, then at every fifth."""
_STAYS = 6
"""Turns after which another body is accepted as the player without having moved; visions are shorter."""


@dataclass(frozen=True, slots=True)
class Clues:
    """Where an unknown story keeps its status. All numbers but those in ``players`` are of globals.

    players: the objects that have been the player; more than one if the player changes bodies
    body: contains the object that is the player now
    rooms: each contains the room, in most places
    score, turns: contain the story's own values
    shown_score, shown_turns: contain the copies from when the status line was last drawn; only these may be known
    answers_score: the story answers ``score`` with a figure
    max_score: the maximum score according to that answer
    """

    players: tuple[int, ...] = ()
    body: int | None = None
    rooms: tuple[int, ...] = ()
    score: int | None = None
    turns: int | None = None
    shown_score: int | None = None
    shown_turns: int | None = None
    answers_score: bool = False
    max_score: int | None = None


@dataclass(frozen=True, slots=True)
class LearnedStatus:
    """What was learned about a story's status, and the number of consecutive turns with a value missing."""

    clues: Clues = Clues()
    missed: int = 0


class Status(NamedTuple):
    """The certain values in a story's memory; ``None`` for the others.

    location: the room, even while the player is in a vehicle or on a chair (which Jericho returns as the location)
    """

    location: int | None = None
    player: int | None = None
    score: int | None = None
    max_score: int | None = None
    moves: int | None = None


class ProfileReader:
    """Reads the status of the story that ``interpreter`` runs; only its current memory is valid input.

    Player and score are those of Jericho's profile. Jericho returns the player's direct parent as the location. This
    reader returns the room, even if the player is in a vehicle or on a chair.

    learned: nothing
    """

    def __init__(self, story: Story, table: ObjectTable, interpreter: Interpreter) -> None:
        self._table = table
        self._interpreter = interpreter
        self._player = interpreter.player or 0
        self._here = story.globals if story.version <= _LAST_VERSION_WITH_STATUS_LINE else None
        is_clock = story.shows_time and interpreter.counts_moves_at(story.globals + _THIRD_GLOBAL)
        self._counts_moves = interpreter.moves() <= _MOST_MOVES_OF_AN_OPENING and not is_clock
        self.learned = LearnedStatus()
        memory = interpreter.memory
        entries = {num: table.entry(memory, num) for num in range(1, table.count + 1)}
        self._room_holders = {
            num
            for num, entry in entries.items()
            if not entry.parent and sum(1 for each in table.children(memory, num) if entries[each].child) >= _MANY_ROOMS
        }

    def read(self, memory: DynamicMemory, _text: str) -> Status:
        """Return the status in dynamic ``memory``."""
        interpreter = self._interpreter
        if self._here is None:
            around = [num for num in self._table.ancestors(memory, self._player) if num not in self._room_holders]
            room = around[-1] if around else 0
        else:
            room = read_word(memory, self._here)
        moves = interpreter.moves() if self._counts_moves else None
        return Status(room or None, self._player, interpreter.score(), interpreter.max_score, moves)

    def score(self, _memory: DynamicMemory) -> int:
        """Return the score as the profile reads it."""
        return self._interpreter.score()


class LearningReader:
    """Learns to read the status of ``story`` by trying moves on ``interpreter``, which is restored afterwards.

    Must be constructed right after the opening text, which takes several hundred steps. Later, while the player or the
    room is missing, it tries again every few turns.

    learned: what the reader has learned about the story so far; part of the story's saved state
    """

    def __init__(self, story: Story, table: ObjectTable, interpreter: Interpreter) -> None:
        self._story, self._table, self._interpreter = story, table, interpreter
        self.learned = LearnedStatus(self._learn_at_opening(), missed=1)

    def read(self, memory: DynamicMemory, text: str) -> Status:
        """Return the status in dynamic ``memory``, after a step that printed ``text``."""
        status = self._status(memory)
        if status.player and status.location:
            if self.learned.missed:
                self.learned = LearnedStatus(self.learned.clues)
        elif self._interpreter.listens:
            clues, missed = self.learned.clues, self.learned.missed + 1
            if missed <= _TRIES or missed % _TRY_EVERY == 0:
                found, moved = self._learn(_MOST_MOVES_OF_A_GAME)
                clues = _merged(clues, found, moved=moved)
            if missed >= _STAYS:
                clues = self._with_body(clues, memory)
            self.learned = LearnedStatus(clues, missed)
            status = self._status(memory)
        if status.score is None and self.learned.clues.answers_score:
            answer = ""
            if self._interpreter.listens:
                with self._interpreter.trying():
                    answer = self._interpreter.send("score")
            asked, most = score_in(answer)
            if asked is None:
                asked, most = score_in(text)
            status = status._replace(score=asked, max_score=status.max_score or most)
        return status

    def score(self, memory: DynamicMemory) -> int | None:
        """Return the score in dynamic ``memory``; ``None`` if the story shows it only when asked."""
        return self._status(memory).score

    def _status(self, memory: DynamicMemory) -> Status:
        """Return the status that the clues find in ``memory``."""
        clues = self.learned.clues
        player, body = next(iter(clues.players), None), self._value(memory, clues.body)
        if body is not None:  # an object that has never been seen to move is not the player
            player = body if body in clues.players else None
        score, shown_score = self._value(memory, clues.score), self._value(memory, clues.shown_score)
        turns, shown_turns = self._value(memory, clues.turns), self._value(memory, clues.shown_turns)
        just_drawn = shown_turns in (None, turns)
        if just_drawn and shown_score is not None:
            score = shown_score if score in (None, shown_score) else None
        room = self._room(memory, clues, player)
        return Status(room, player, score, clues.max_score or None, turns if just_drawn else None)

    def _value(self, memory: DynamicMemory, num: int | None) -> int | None:
        """Return the signed value of global ``num``; ``None`` if ``num`` is ``None``."""
        if num is None:
            return None
        value = read_word(memory, self._story.globals + 2 * num)
        return value - 0x10000 if value & 0x8000 else value

    def _room(self, memory: DynamicMemory, clues: Clues, player: int | None) -> int | None:
        """Return the outermost object around the player that a global names: the room rather than a vehicle in it."""
        named = [self._value(memory, num) for num in clues.rooms]
        if player is None:
            first = named[0] if len({*named}) == 1 and not clues.players else None
            return first if 0 < (first or 0) <= self._table.count else None
        return next((num for num in reversed(self._table.ancestors(memory, player)) if num in named), None)

    def _with_body(self, clues: Clues, memory: DynamicMemory) -> Clues:
        """Return ``clues`` with the object that ``memory`` names as the player, if its room is named too."""
        body = self._value(memory, clues.body)
        if not body or not self._room(memory, clues, body):
            return clues
        return replace(clues, players=tuple(dict.fromkeys((*clues.players, body))))

    def _learn_at_opening(self) -> Clues:
        """Return the clues after the first opening that lets the player move, or else of the first with any rooms."""
        clues = Clues()
        for opening in _OPENINGS:
            found, moved = self._learn(_MOST_MOVES_OF_AN_OPENING, opening)
            if moved and found.rooms:
                return self._with_body(_with_score_of(found, clues), self._interpreter.memory)
            if not clues.rooms:
                clues = _with_score_of(found, clues)
        return clues

    def _learn(self, most_moves: int, opening: tuple[str, ...] = ()) -> tuple[Clues, bool]:
        """Play ``opening``, explore from there, and return the clues and whether the player moved.

        The interpreter is restored.
        """
        with self._interpreter.trying():
            for command in opening:
                self._interpreter.send(command)
            exploration = explore(self._table, self._interpreter)
        return infer_clues(self._story, self._table, exploration, most_moves), bool(exploration.moves)


def _merged(known: Clues, found: Clues, *, moved: bool) -> Clues:
    """Return ``known`` combined with what was ``found``: an object that moved is the player or another body."""
    if not (moved and found.players and found.rooms):
        return _with_score_of(known, found)
    if known.body is None or known.body != found.body:
        return _with_score_of(found, known)
    return replace(known, players=tuple(dict.fromkeys(known.players + found.players)))


def _with_score_of(clues: Clues, other: Clues) -> Clues:
    """Return ``clues`` completed by the told score and maximum of ``other``."""
    return replace(
        clues,
        answers_score=clues.answers_score or (clues.score is None and other.answers_score),
        max_score=other.max_score if clues.max_score is None else clues.max_score,
    )


_MOTIONS = (*DIRECTIONS.values(), "in", "out", "stand")
_TURNS = ("look", "inventory", "look")
"""Commands that take a turn in every library without changing the world."""
_MOST_PLACES = 7
_ENOUGH_MOVES = 8


_GLOBALS = 240
_MOST_MOVES = 0.8
_FIGURE = re.compile(r"-?\d+(?!\d|:\d)")
"""A number that is not the hour of a time."""
_OUT_OF = re.compile(
    r"(-?\d+)(?: points?)?,?\s*(?:/|\(?(?:out )?of\b|\(total of)\s*(?:(?:a|the|an?)\s+)?"
    r"(?:(?:possible|maximum|total|grand|of)\s+)*(\d+)",
    re.IGNORECASE,
)
_SCORED = re.compile(
    r"\bscored?\b(?: (?:is|of|was|would be|so far|you|have|stands|at|now|a|total|currently|only))*:?"
    r"\s*(-?\d+)\b(?!:)",
    re.IGNORECASE,
)
_POINTS = re.compile(r"(-?\d+) points?\b", re.IGNORECASE)
_KEEPS_NONE = re.compile(
    r"\b(?:no|without(?: a)?) (?:scor|point)|\b(?:not|n['\u2019]t) (?:\w+ )*(?:scor|point)", re.IGNORECASE
)


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


def explore(table: ObjectTable, interpreter: Interpreter) -> Exploration:
    """Explore from the current state in about a hundred steps, breadth first. Does not restore ``interpreter``."""
    start = interpreter.snapshot()
    turns = [bytes(interpreter.memory)]
    for command in _TURNS:
        interpreter.send(command)
        turns.append(bytes(interpreter.memory))
    exploration = Exploration(turns, interpreter.send("score"), [turns[0]])

    def parents_after(place: Snapshot, command: str) -> tuple[int, ...]:
        interpreter.restore(place)
        interpreter.send(command)
        return table.parents(interpreter.memory)

    seen = {table.parents(turns[0])}
    unexplored = deque([start])
    for _ in range(_MOST_PLACES):
        if not unexplored or len(exploration.moves) >= _ENOUGH_MOVES:
            break
        place = unexplored.popleft()
        interpreter.restore(place)
        before = table.parents(interpreter.memory)
        drifting = _moved(before, parents_after(place, "wait"))
        taken = parents_after(place, "take all")
        exploration.takers.update(taken[num] for num in _moved(before, taken) - drifting)
        reached: dict[tuple[int, ...], Snapshot] = {}
        for motion in _MOTIONS:
            after = parents_after(place, motion)
            moved = _moved(before, after) - drifting
            if moved:
                exploration.moves.append(moved)
                exploration.places.append(bytes(interpreter.memory))
                reached[after] = interpreter.snapshot()
        unexplored.extend(state for after, state in reached.items() if after not in seen)
        seen.update(reached)
    return exploration


def _moved(before: tuple[int, ...], after: tuple[int, ...]) -> frozenset[int]:
    """Return the objects with a new parent in ``after``, other than 0."""
    return frozenset(num for num, parent in enumerate(after) if parent not in (0, before[num]))


_LIBRARIES = ((5, 10), (3, 8), (-1, 1))
"""The libraries of Inform 6 since 6/7, of Inform 7, and the older ones of Inform 5 and 6.

For each the offsets of the score and of the player's body from the global that counts turns, given by the order of the
library's declarations.
"""


def score_in(answer: str) -> tuple[int | None, int | None]:
    """Return the score and the maximum in the ``answer`` to ``score``; ``None`` for what it does not contain.

    A maximum of 0 means that no score is kept.
    """
    if not re.search("scor|point", answer, re.IGNORECASE):
        return None, None
    out_of = _OUT_OF.search(answer)
    if out_of and int(out_of[2]):
        return int(out_of[1]), int(out_of[2])
    if out_of or _KEEPS_NONE.search(answer):
        return None, 0
    alone = _SCORED.search(answer) or _POINTS.search(answer)
    return (int(alone[1]) if alone else None), None


def infer_clues(story: Story, table: ObjectTable, exploration: Exploration, most_moves: int) -> Clues:
    """Return the clues that are certain after ``exploration``.

    most_moves: a higher counter counts seconds or minutes instead of moves
    """
    evidence = _GlobalsOverTime(story, table, exploration, most_moves)
    if story.version <= _LAST_VERSION_WITH_STATUS_LINE:
        # The Standard defines the globals (§8.2); only the player is learned.
        players = [clues.players for clues in evidence.motion_clues() if 0 in clues.rooms]
        clues = Clues(players[0] if len(players) == 1 else (), rooms=(0,))
        if not story.shows_time:
            clues = replace(clues, score=1, turns=2 if evidence.counts_turns(2, every=False) else None)
    else:
        candidates = evidence.library_clues() or evidence.motion_clues()
        certain = len({clues.players for clues in candidates}) == 1
        clues = evidence.with_score(candidates[0]) if certain else Clues()
    score, maximum = score_in(exploration.score_text)  # takes precedence over a global
    if maximum == 0:
        return replace(clues, score=None, shown_score=None, max_score=0)
    if score is not None and clues.score is not None and score != evidence.turns[-1][clues.score]:
        clues = replace(clues, score=None, shown_score=None)
    return replace(clues, answers_score=score is not None, max_score=maximum)


class _GlobalsOverTime:
    """The values of all globals in all memories of an exploration, to be compared with the object tree."""

    def __init__(self, story: Story, table: ObjectTable, exploration: Exploration, most_moves: int) -> None:
        self._table, self._exploration, self._most_moves = table, exploration, most_moves
        layout = f">{min(_GLOBALS, (story.dynamic_size - story.globals) // 2)}h"
        self.turns = [unpack_from(layout, memory, story.globals) for memory in exploration.turns]
        self._places = [unpack_from(layout, memory, story.globals) for memory in exploration.places]
        self._numbers = range(len(self._places[0]))
        self._counters = [num for num in self._numbers if self.counts_turns(num)]

    def counts_turns(self, num: int, *, every: bool = True) -> bool:
        """Return whether a global counts every turn, or at least some turns if ``every`` is false."""
        steps = {after[num] - before[num] for before, after in pairwise(self.turns)}
        return steps <= ({1} if every else {0, 1}) and 0 <= self.turns[0][num] <= self._most_moves

    def _always_equal(self, num: int, other: int) -> bool:
        return all(values[num] == values[other] for values in [*self.turns, *self._places])

    def motion_clues(self) -> list[Clues]:
        """Return clues for each object that moves like the player.

        A global names the body only if it is the only one that contains the player in all places; objects that follow
        the player have no such global.
        """
        moves, takers = self._exploration.moves, self._exploration.takers
        votes = Counter(num for moved in moves for num in moved)
        movers = frozenset(num for num, count in votes.items() if count >= _MOST_MOVES * len(moves))
        players = movers & takers if takers else movers
        naming = {
            player: [num for num in self._numbers if all(values[num] == player for values in self._places)]
            for player in players
        }
        if len(players) > 1:
            players = frozenset(player for player in players if naming[player])
        return [
            Clues((player,), naming[player][0] if len(naming[player]) == 1 else None, rooms)
            for player in players
            if (rooms := self._rooms(player))
        ]

    def library_clues(self) -> list[Clues]:
        """Return clues for each library whose globals fit around a counter of turns and agree with the object tree."""
        found = []
        for turns, (to_score, to_body) in product(self._counters, _LIBRARIES):
            score, body = turns + to_score, turns + to_body
            if score not in self._numbers or body not in self._numbers:
                continue
            player = self._places[0][body]
            rooms = self._rooms(player)
            if turns - 2 in rooms:
                continue  # a copy for the status line, followed by a fitting value by chance
            if rooms:
                found.append(Clues((player,), body, rooms, score, turns))
        return found

    def _rooms(self, player: int) -> tuple[int, ...]:
        """Return the globals that contain an ancestor of ``player``, sorted by the number of places, descending.

        Such a global may contain one other object, darkness, but must not contain the same ancestor everywhere.
        """
        around = [self._table.ancestors(memory, player) for memory in self._exploration.places]
        fewest = 2 if self._exploration.moves else 1
        hits: dict[int, int] = {}
        for num in self._numbers:
            named = [values[num] for values in self._places]
            right = [value for value, chain in zip(named, around, strict=True) if value in chain]
            if len(set(right)) >= fewest and len(set(named) - set(right)) <= 1:
                hits[num] = len(right)
        return tuple(sorted(hits, key=lambda num: -hits[num]))

    def with_score(self, clues: Clues) -> Clues:
        """Return ``clues`` with the globals of score and turns that a second value confirms."""
        line = min((num for num in clues.rooms if num + 2 in self._counters), default=None)
        if line is None:
            return clues
        if clues.score is None or clues.turns is None:
            score = line + 1
            turns = line + 2
            if not self._is_in_answer(score, turns):
                return clues
            count = next((num for num in self._counters if num != turns and self._always_equal(num, turns)), None)
            if count is None:
                return replace(clues, score=score, turns=turns)
            return replace(clues, turns=count, shown_score=score, shown_turns=turns)
        if self._always_equal(clues.turns, line + 2) and self._always_equal(clues.score, line + 1):
            return replace(clues, shown_score=line + 1, shown_turns=line + 2)
        return clues if self._is_in_answer(clues.score, clues.turns) else replace(clues, score=None, turns=None)

    def _is_in_answer(self, score: int, turns: int) -> bool:
        """Return whether the story's answer to ``score`` contains the values of both globals."""
        answer, latest = self._exploration.score_text, self.turns[-1]
        figures = {int(figure) for figure in _FIGURE.findall(answer)}
        return "score" in answer.lower() and {latest[score], latest[turns]} <= figures
