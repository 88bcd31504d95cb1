"""What of a text has been done in this game, and which locations it names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter

from session.commands import plain_command
from session.game_state import GameState
from session.memory import Memory
from session.text import text_key
from session.values import TurnRecord

_NUMBERED = re.compile(
    r"(?=\d)(?:(?<=\bL)|(?<=#)|(?<=\b(?:ID|at) )|(?<=\bID: )|(?<=\bfrom )|(?<=\blocation )|(?<=\blocations )"
    r"|(?<=[^\s,.:;(] \())(\d+)\b(?! (?:points?|turns?|moves?|commands?)\b)",
    re.IGNORECASE,
)
"""A number in brackets is that of a location after its name only: steps are counted so, too. The search begins at the
digits, because most of a text has none."""
SHORTEST_NAME = 4  # letters of a location's name that counts in a text


def done_in(
    text: str, turns: Iterable[tuple[str, TurnRecord]], places: Collection[int] = (), *, in_vain: bool = False
) -> list[TurnRecord]:
    """Return the latest turn of each command that a text names and that did something in this game, oldest first.

    Commands of one word count only in code marks and at a place that is named: most are moves, made from many places.

    turns: those of which a command may be named, each with its plain command, such as ``Tries.done``
    places: the ids of the locations that the text is about; none for any location
    in_vain: return those that did nothing instead
    """
    words, latest = text_key(text), dict[str, TurnRecord]()
    for command, turn in turns:
        is_named = command in words and (" " in command or (places and f"`{command}`" in text))
        if not is_named or (places and turn.before.location_id not in places):
            continue
        if turn.did_something != in_vain and not (turn.after.died or turn.is_key):
            latest[command] = max(latest.get(command, turn), turn, key=_number)
    found = [turn for command, turn in latest.items() if re.search(rf"\b{re.escape(command)}\b", words)]
    return sorted(found, key=_number)


def all_done(memory: Memory, location_id: int, state: GameState) -> list[TurnRecord]:
    """Return the latest turn of each command that a memory names and that was done at its location in this game.

    It is done if it did something or, for a memory with points, won as many. Memories of failures, dangers and arrivals
    are about nothing that is done once, and those of this game alone are about what was done in it anyway.
    """
    if memory.category in {"FAILURE", "DANGER"} or memory.is_arrival or memory.persistence == "ephemeral":
        return []
    done: Iterable[tuple[str, TurnRecord]] = state.tries.done_at(location_id)
    if points := memory.score_change:  # also of a command that was played again since, without points
        scored = (
            each for each in state.scored if (each.before.location_id, each.score_change) == (location_id, points)
        )
        done = with_commands(scored)
    places = [location_id] if points else []  # a command of one word, such as a move, counts if it won points
    return done_in(f"{memory.title} {memory.text}", done, places)


_number = attrgetter("turn")


def with_commands(turns: Iterable[TurnRecord]) -> Iterator[tuple[str, TurnRecord]]:
    """Yield the turns, each with its plain command."""
    return ((plain_command(turn.action), turn) for turn in turns)


def numbers_named(text: str) -> list[int]:
    """Return the numbers of locations in a text: ``L31``, ``Location 31``, ``Blue Vats (31)``, ``at 31``."""
    return [int(number) for number in _NUMBERED.findall(text)]


def places_named(texts: Iterable[str], names: Mapping[int, str]) -> list[int]:
    """Return the ids of the locations that the texts name, each once.

    A location is named by its number, or by a name that no other has or with its number.

    names: of all known locations by id
    """
    return list(_places_named(tuple(texts), tuple(names.items())))


@lru_cache(maxsize=64)  # the same lines are looked at each turn, and a map seldom grows
def _places_named(texts: tuple[str, ...], names: tuple[tuple[int, str], ...]) -> Iterable[int]:
    rooms: dict[str, list[int]] = {}
    for room, name in names:
        if len(name) >= SHORTEST_NAME:
            rooms.setdefault(text_key(name), []).append(room)
    places: dict[int, None] = {}
    for text in texts:
        numbers = {room for room, _ in names}.intersection(numbers_named(text))
        words = f" {text_key(text)} "
        named: set[int] = set()
        for name, found in rooms.items():
            if name in words and (match := re.findall(rf"\b{re.escape(name)}\b(?: (\d+)\b)?", words)):
                named.update(found if len(found) == 1 else {int(each) for each in match if each}.intersection(found))
        places |= dict.fromkeys([*sorted(numbers), *sorted(named - numbers)])
    return places.keys()
