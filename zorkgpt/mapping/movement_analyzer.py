"""Derives changes of the map from a turn: from location ids only, never from the story's text.

The exits that a text names are a hint for untried exits. They do not create edges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from session.commands import AGAIN, DIRECTIONS, PRONOUNS, Vocabulary, commands_of, is_joined, passes_time, steps_of
from session.text import asks, description_in, first_line, sentences_of
from session.values import Repetition, TurnRecord
from zorkgpt.mapping.map_graph import MapGraph

DIRECTION_CONFIDENCE = 0.8
OTHER_COMMAND_CONFIDENCE = 0.4

_FULL_WORDS = DIRECTIONS | {word[:6]: word for word in ("northeast", "northwest", "southeast", "southwest")}
"""Directions by their abbreviations, and as a version 3 dictionary spells them: it keeps six letters of a word."""
# Words that name a way out wherever they stand in a phrase, unlike "in" or "land".
_BEARINGS = frozenset(DIRECTIONS.values()) | {"fore", "aft", "port", "starboard"}
_COMPASS = _BEARINGS - {"up", "down"}
_DIRECTIONS = frozenset(DIRECTIONS.values()) | {"in", "out"}

_REWINDING = frozenset({"restart", "restore", "undo"})
_NO_EXITS = AGAIN | {"yes", "y", "no"}
_HANDLING = re.compile(
    r"(?:read|click|look|search|grab|pick)\b"
    r"|(?:get|take)\b(?! (?:in|out|on|off|up|down|to|across|over|under|through|into|onto|aboard|inside|outside|back)\b)"
)
_GOING = re.compile(r"^(go|walk) (to )?(the )?")
_SPLIT_BEARING = re.compile(r"\b(north|south)[- ](east|west)(?=\b|wards?\b|ern|erly)")
_WARDS = re.compile(r"\b((?:north|south)?(?:east|west)|north|south|up|down|in|out)wards?\b")
_WORD = re.compile(r"[a-z]+")
_WAY = (
    r"\b(?:(?:stair(?:case|way)?|ladder|flight|passage(?:way)?|path|trapdoor|trail|tunnel|ramp|slope|shaft|chute|hole|opening"
    r"|exit|door(?:way)?|gate|way|road|corridor|entrance|chimney|rope)s?|steps|rungs|hatch(?:way)?|(?:lead|climb|run|wind|"
    r"head|continue|slope|descend|ascend|spiral|twist|drop|rise)s?|leading|climbing|running|winding|heading|sloping|"
    r"spiral+ing|go(?:es|ing)?|scramble|slide)"
)
"""Words for ways and for going along them, singular and plural."""
_UP_OR_DOWN = re.compile(
    _WAY + r"\b(?: (?!(?:the|an?|his|your)\b)[a-z'-]+){0,2}? (up|down)\b(?: (?:and|or) (up|down)\b)?"
    r"(?! (?:the middle|one|your|his|her|my)\b)"
)
_IN_OR_OUT = re.compile(_WAY + r"(?: (?:back|further|straight))? (in|out)(?:side)?(?= (?:to|into|onto|is|was)\b|$)")
_BEARING = r"\b((?:north|south)?(?:east|west)|north|south)"
_OPENING = (
    r"\b(?:stair(?:case|way)?|passage(?:way)?|path|trail|tunnel|opening|exit|door(?:way)?|gate(?:way)?|arch(?:way)?|road"
    r"|corridor|hallway|entrance|hole)s?\b"
)
_SOUTHERN_DOOR = re.compile(_BEARING + rf"(?:ern|erly|ern?most)(?: [a-z'-]+)??(?: [a-z'-]+)?? {_OPENING}")
_DOOR_IN_THE_SOUTHERN_WALL = re.compile(
    _OPENING
    + r"(?: (?!to\b|of\b)[a-z'-]+|,){0,5}? (?:in|on|at|through) (?:the|its|one|this) "
    + _BEARING
    + r"(?:(?:ern|erly|ern?most)? (?:wall|side|end|edge|face|corner))"
)
_CLAUSE_END = re.compile(r"[.,;:!?\"()]|--")
_DENIAL = re.compile(r"\b(?:not|no|never|nor|cannot|unable|\w+n't)\b")
_PLACING = re.compile(
    r"\b[a-z]+ (?:of(?! (?:here|you|this)\b)|side|end|edge|face|half|part|bank|shore|corner|walls?|windows?)\b"
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A command played at a location, and the location to which it led.

    exit: the command in the normal form that the map uses
    to_id: ``None`` if the player stayed
    confidence: how certain it is after one walk that the command leads there. A direction belongs to the room. Any
        other command may have depended on an object or, like ``wait`` in a drifting boat, on time alone.
    """

    from_id: int
    exit: str
    to_id: int | None
    confidence: float


class MovementAnalyzer:
    """Reads commands and exits by the story's own direction words; without these by the usual English ones.

    vocabulary: of the story; without it every comma and "and" counts as a sign of several commands in a line
    """

    def __init__(self, directions: Iterable[str] = (), vocabulary: Vocabulary | None = None) -> None:
        self._directions = frozenset(directions)
        self._vocabulary = vocabulary

    def attempt(self, turn: TurnRecord, graph: MapGraph | None = None) -> Attempt | None:
        """Return the exit that the turn tried, or ``None`` if the turn shows nothing about the map.

        These turns show nothing:

        - the command never reached the story, or was a key, or a location is unknown
        - the turn is after the story's end, sets the clock back (undo, restore, restart), or kills the player, because
          a resurrection elsewhere is not a move
        - the line has several commands, so that it is unknown which one led where
        - the command only carries the player along (``carries_along``), or answers a question
        - the player stays, and is in or on a thing before or after it, such as a boat that was boarded, unless the
          story describes the room anew, so that the way in the boat leads back
        - a direction leads elsewhere than ``graph`` has it, and the story took things from the player: that is the end
          of a scene, or a capture
        """
        exit_ = self.exit_tried(turn)
        before, after = turn.before, turn.after
        if not exit_ or carries_along(exit_) or after.died or before.location is None or after.location is None:
            return None
        if self.is_answer(turn):
            return None
        is_driven = before.inside == after.inside is not None and description_in(after.text, before.location.name)
        if not turn.moved and not is_driven and (before.inside is not None or self.boards(turn)):
            return None
        here, there = before.location.num, after.location.num
        if graph is not None and here != there and turn.no_longer_held and self.is_direction(exit_):
            known = {**graph.ways_back(here), **graph.connections.get(here, {})}
            if known.get(exit_, there) != there:
                return None
        return Attempt(
            from_id=here,
            exit=exit_,
            to_id=there if here != there else None,
            confidence=DIRECTION_CONFIDENCE if self.is_direction(exit_) else OTHER_COMMAND_CONFIDENCE,
        )

    def carrying(self, turn: TurnRecord, graph: MapGraph | None = None) -> str:
        """Return the command or line of commands during which the player came to another location, if it is no exit.

        It is "" for all others, and for keys, deaths and turns that set the clock back.
        """
        if not turn.moved or turn.after.died or self._is_unread(turn) or self.attempt(turn, graph):
            return ""
        return self.exit_of(turn.action)

    def understood(self, turn: TurnRecord, earlier: Sequence[TurnRecord]) -> TurnRecord:
        """Return the turn; if it is an "again" that the story carried out, with the command that it repeated.

        It stays as it was typed if that is uncertain:

        - the story counted no turn for it, or for the command before, and nothing changed
        - the command before answered a question, or set the clock back

        earlier: the turns of the episode before it
        """
        words = self._vocabulary.words if self._vocabulary else frozenset[str]()
        is_again = turn.typed.strip().lower() in (AGAIN & words if words else AGAIN)
        if not is_again or turn.is_key or turn.after.refusal is not None:
            return turn
        before = next((each for each in reversed(earlier) if each.after.refusal is None and not each.is_key), None)
        if before is None:
            return turn
        is_answer = before.before.awaits_answer or asks(before.before.text)
        is_done = all(map(_was_carried_out, (turn, before)))
        commands = (
            commands_of(before.action, self._vocabulary) if self._vocabulary and words else steps_of(before.action)
        )
        command = "".join(commands[-1:])
        if command.strip().lower() in {"", *AGAIN, *_REWINDING} or is_answer or not is_done:
            return turn
        return Repetition(**{each.name: getattr(turn, each.name) for each in fields(turn)}, repeats=command)

    def is_answer(self, turn: TurnRecord) -> bool:
        """Return whether the command answers a question of the story, so that it is not an exit without the question.

        If the story reads the answer like any other command, a command is an answer if it does not begin with a verb,
        or is a direction that the question offers.
        """
        before, command = turn.before, self.exit_of(turn.action)
        if before.awaits_answer or not command or command in AGAIN or not asks(before.text):
            return before.awaits_answer
        if self.is_direction(command):
            offered = _WORD.findall("".join(sentences_of(before.text)[-1:]).lower())
            return "or" in offered and command in offered
        verbs = self._vocabulary.verbs if self._vocabulary else frozenset[str]()
        return self._vocabulary is not None and bool(verbs) and self._vocabulary.cut(command.split()[0]) not in verbs

    @staticmethod
    def asks(turn: TurnRecord) -> bool:
        """Return whether the story responded with a question, which is no refusal, instead of carrying it out."""
        return turn.after.awaits_answer or (turn.took_no_turn and asks(first_line(turn.after.text)))

    def boards(self, turn: TurnRecord) -> bool:
        """Return whether the player got into or onto a thing, such as a boat, and stayed at the location."""
        return not turn.moved and turn.before.inside is None and turn.after.inside is not None

    def exit_tried(self, turn: TurnRecord) -> str:
        """Return the turn's command as the map writes it, or "" if the story did not carry one out: a key is none."""
        return self.exit_of(turn.action) if self._is_single(turn.action) and not self._is_unread(turn) else ""

    @staticmethod
    def _is_unread(turn: TurnRecord) -> bool:
        """Return whether the story did not carry the turn out as commands, or set the clock back."""
        before, after = turn.before.moves, turn.after.moves
        is_rewound = turn.action.strip().lower() in _REWINDING
        if before is not None and after is not None:
            is_rewound = after < before
        return turn.after.refusal is not None or turn.before.ending is not None or turn.is_key or is_rewound

    def _is_single(self, line: str) -> bool:
        if self._vocabulary and self._vocabulary.words:
            return len(commands_of(line, self._vocabulary)) == 1
        return len(steps_of(line)) == 1 and not is_joined(line)

    def exit_of(self, command: str) -> str:
        """Return a command as the map writes it: ``north`` for "N", "go north", "walk  north."; else in lower case."""
        text = " ".join(command.lower().split()).strip(" .!")
        direction = _GOING.sub("", text)
        if not self.is_direction(direction):
            return text
        full_word = _FULL_WORDS.get(direction, direction)
        return full_word if self.is_direction(full_word) else direction

    def exits_named(self, phrases: Iterable[str]) -> tuple[str, ...]:
        """Return the exits in a model's words ("a path to the north-east"); words that name no direction give none."""
        exits: list[str] = []
        for phrase in phrases:
            whole = self.exit_of(_plain(phrase))
            if self.is_direction(whole):
                exits.append(whole)
            else:
                words = _WORD.findall(_plain(phrase))
                exits += [word for word in words if word in _BEARINGS and self.is_direction(word)]
        return tuple(dict.fromkeys(exits))

    def bearings_named(self, text: str) -> tuple[str, ...]:
        """Return the compass directions (on a ship, the ship's directions) that a text names, in the story's own
        words.

        Positions are left out, such as "west of the house", "the south wall" and "the east end".
        """
        words = _WORD.findall(_PLACING.sub(" ", _plain(text)))
        return tuple(dict.fromkeys(word for word in words if word in _COMPASS and self.is_direction(word)))

    def ways_named(self, text: str) -> tuple[str, ...]:
        """Return ``up``, ``down``, ``in`` and ``out`` as far as a text seems to name them as exits.

        In prose these words are rarely exits, so a way must be named with them, as in "a stair goes up", in a clause
        that denies nothing, as "you see no way to get up there" does. If a point of
        the compass follows in the same clause, that is the exit, except after "and to". A point of the compass is
        returned only if it is part of a description, as in "northern archway" or "a door in the south wall".
        """
        found: list[str] = []
        clauses = _CLAUSE_END.split(" ".join(_plain(text).split()))
        for clause in (each for each in clauses if not _DENIAL.search(each)):
            for match in (*_UP_OR_DOWN.finditer(clause), *_IN_OR_OUT.finditer(clause)):
                rest = clause[match.end() :]
                if rest.startswith(" and to ") or not any(word in _COMPASS for word in _WORD.findall(rest)):
                    found += [word for word in match.groups() if word and self.is_direction(word)]
        plain = " ".join(_plain(text).split())
        matches = (*_SOUTHERN_DOOR.finditer(plain), *_DOOR_IN_THE_SOUTHERN_WALL.finditer(plain))
        found += [match[1] for match in matches if self.is_direction(match[1])]
        return tuple(dict.fromkeys(found))

    def is_direction(self, word: str) -> bool:
        """Return whether the story moves the player for this word alone."""
        known = self._directions
        if not known:
            return word in _DIRECTIONS or word in _FULL_WORDS
        return word in known or word[:6] in known or word[:9] in known


def _plain(text: str) -> str:
    """Return the text in lower case with each direction as one plain word: ``northeast`` for "North-eastwards"."""
    return _WARDS.sub(r"\1", _SPLIT_BEARING.sub(r"\1\2", text.lower()))


def _was_carried_out(turn: TurnRecord) -> bool:
    """Return whether a command changed something, or the story counted a turn for it."""
    before, after = turn.before.moves, turn.after.moves
    return turn.moved or turn.did_something or (before is not None and after is not None and after > before)


def carries_along(exit_: str) -> bool:
    """Return whether ``exit_``, a command as the map spells it, is not an exit, though the player may move during it.

    Such commands wait, answer a question, look at, read or take a thing, repeat an uncertain command ("again"), or have
    a pronoun, which may mean another thing the next time. ``get in`` and ``take off`` are exits.
    """
    is_unclear = not PRONOUNS.isdisjoint(exit_.split()[1:])
    return is_unclear or passes_time(exit_) or exit_ in _NO_EXITS or exit_.isdigit() or bool(_HANDLING.match(exit_))
