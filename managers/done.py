"""What of a text has been done in this game, and which locations it names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

from session.commands import plain_command
from session.game_state import GameState
from session.memory import Memory
from session.text import text_key
from session.values import TurnRecord

_NUMBERED = re.compile(r"(?:\b(?:L|locations? #?|ID:? )|#|(?<=[^\s,.:;(] )\()(\d+)\b", re.IGNORECASE)
"""A number in brackets is that of a location after its name only: steps are counted so, too."""
QUOTED = re.compile(r"`([^`]+)`")
SHORTEST_NAME = 4  # letters of a location's name that counts in a text


def done_in(text: str, turns: Iterable[tuple[str, TurnRecord]], places: Collection[int] = ()) -> list[TurnRecord]:
    """Return the latest turn of each command that a text names and that did something in this game, oldest first.

    Commands of one word do not count: most are moves, which are made from many places.

    turns: those of which a command may be named, each with its plain command, such as ``Tries.done``
    places: the ids of the locations that the text is about; none for any location
    """
    words, latest = text_key(text), dict[str, TurnRecord]()
    for command, turn in turns:
        if " " not in command or command not in words or (places and turn.before.location_id not in places):
            continue
        if turn.did_something and not (turn.after.died or turn.is_key):
            latest[command] = max(latest.get(command, turn), turn, key=_number)
    found = [turn for command, turn in latest.items() if re.search(rf"\b{re.escape(command)}\b", words)]
    return sorted(found, key=_number)


def all_done(memory: Memory, location_id: int, state: GameState) -> list[TurnRecord]:
    """Return the turns of this game in which was done what a memory is about, and what it has in code marks.

    It is done with the same result: the memory's points, if it has any, or that the command did something. Of several
    commands in code marks those count that did something here; if one of them did not, no other command is what the
    memory is about. Memories of failures, dangers and arrivals are about nothing that is done once, and those of this
    game alone are about what was done in it anyway.
    """
    if memory.category in {"FAILURE", "DANGER"} or memory.is_arrival or memory.persistence == "ephemeral":
        return []
    text = f"{memory.title} {memory.text}"
    quoted = {plain_command(each) for each in QUOTED.findall(text)}
    done = state.tries.done_at(location_id)
    about: Sequence[TurnRecord] = ()
    if memory.score_change:
        same = [turn for turn in state.scored if turn.score_change == memory.score_change]
        same = [turn for turn in same if turn.before.location_id == location_id]
        about = done_in(text, with_commands(same)) or ([] if quoted else same)
        if not about:
            return []
    elif len(quoted) <= 1 or quoted <= {plain_command(turn.action) for turn in done}:
        span = memory.span if memory.episode == state.episode else range(0)
        turns = state.turns[max(0, span.start - 1) : max(0, span.stop - 1)]
        own = [turn for turn in turns if turn.did_something and turn.before.location_id == location_id]
        about = own or done_in(text, with_commands(done))
    named = [turn for turn in done if plain_command(turn.action) in quoted and " " in plain_command(turn.action)]
    latest = {plain_command(turn.action): turn for turn in (*named, *about[-1:])}
    return sorted(latest.values(), key=_number)


_number = attrgetter("turn")


def with_commands(turns: Iterable[TurnRecord]) -> Iterator[tuple[str, TurnRecord]]:
    """Yield the turns, each with its plain command."""
    return ((plain_command(turn.action), turn) for turn in turns)


def numbers_named(text: str) -> list[int]:
    """Return the numbers of locations in a text: ``L31``, ``Location 31``, ``Blue Vats (31)``."""
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
