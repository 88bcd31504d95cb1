"""A game as text: every command with the story's response, condensed when it becomes too long (ADR 35)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, takewhile, zip_longest
from typing import NamedTuple

from managers.prompting import LONGEST_ACTION, SHORTEST_REPEATED, without_repeats
from session.game_state import GameState
from session.text import counted, cut_at, cut_middle, one_line, without_padding

CONDENSED, FULL = 0.5, 0.8
"""Shares of the room: that to which a text is condensed, so that it then grows for many turns, and that above which
texts that were new are left out for it."""
NEWEST = 0.25
"""Share of the room that the newest turns keep when the others are condensed, and that one response may take."""

SHORTEST_SCREEN, MOST_CHANGED = 5, 2
"""Lines of a text, and of those that differ from the screen before it, with which it is shown by these alone."""

_RELEASE = re.compile(
    r"^[ \t]*(?:(?:release|revision|version) \S+ / serial number \d.*|(?:standard )?interpreter \d.*)(?:\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class PlayedTurn:
    """A turn of a game.

    number: counted from 1
    change: of the score, in points
    to_id: the id of the location to which the command led; ``None`` if the player has not moved
    last: the number of the last turn if this represents several turns, which ``action`` describes
    typed: the word for "again" that was typed for the command; "" if the command itself was
    died: the player died, and came to that location afterwards
    is_key: the story waited for a key, as in a menu
    """

    number: int
    action: str
    response: str
    change: int = 0
    to_id: int | None = None
    last: int | None = None
    typed: str = ""
    died: bool = False
    is_key: bool = False

    @property
    def turns(self) -> str:
        """The turn, or the turns, by number: ``Turn 3``, ``Turns 3-9``."""
        return _turns(self.number, self.last or self.number)

    @cached_property
    def command(self) -> str:
        """The command on one line, with the location to which it led and the points: ``east -> L31 (+5)``.

        After the command is the word that was typed for it, if any, and the death of the player: ``east (typed: g)
        (died)``.
        """
        led = "" if self.to_id is None else f" -> L{self.to_id}"
        won = f" ({self.change:+d})" if self.change else ""
        typed = f" (typed: {self.typed})" if self.typed else ""
        died = " (died)" if self.died else ""
        return f"{cut_at(one_line(self.action), LONGEST_ACTION)}{typed}{died}{led}{won}"

    @property
    def head(self) -> str:
        """The turn with its command: ``Turn 3: east -> L31``."""
        return f"{self.turns}: {self.command}"


class _Cuts(NamedTuple):
    """How many of the first turns are shortened.

    left_out: are left out
    bare: have only their command
    placeless: have only their command if it led to another location
    condensed: lack what the story had printed before
    """

    left_out: int = 0
    bare: int = 0
    placeless: int = 0
    condensed: int = 0


class GameText:
    """The text of a game, which only grows at its end, except that it is condensed when it exceeds ``characters``.

    Of the older turns, only the lines then stay that no earlier turn has printed. Turns without such a line become
    commands. If this is not enough, further texts are left out in this order, of the oldest turns first: those of
    arrivals, since a room's description is shown again there; all texts; the commands. The text says which turns these
    are (ADR 35). The text of a first arrival is whole until then.

    elsewhere: where the same prompt shows a line of another game, in words, by the line
    """

    def __init__(self, opening: str, characters: int, elsewhere: Mapping[str, str] | None = None) -> None:
        self._elsewhere = elsewhere or {}
        self._opening = cut_middle(opening, int(characters * NEWEST))
        self._characters = characters
        self._turns: list[PlayedTurn] = []
        self._first_arrivals: dict[int | None, int] = {}  # the number of the turn by the location's id
        self._cuts = _Cuts()
        self._begin()

    @property
    def turns(self) -> Sequence[PlayedTurn]:
        """The turns so far, oldest first."""
        return self._turns

    def text(self, until: int | None = None) -> str:
        """Return the text up to the turn of that number, or later if that turn is condensed; "" before the first turn.

        until: ``None`` for the whole text
        """
        return "\n\n".join(self._parts[: len(self._parts) - self._since(until)]) if self._turns else ""

    def text_since(self, until: int) -> str:
        """Return the rest of the text."""
        return "\n\n".join(self._parts[len(self._parts) - self._since(until) :])

    def _since(self, until: int | None) -> int:
        return 0 if until is None else len(self._turns) - max(until, self._cuts.condensed)

    def lines_by_place(self, game: str) -> dict[str, str]:
        """Return the long lines of the text with their places in the game of that name, in words."""
        places = {line: "the start" if turn == 0 else f"turn {turn}" for line, turn in self._told_in.items()}
        return {line: f"in {game}, {place}" for line, place in places.items()}

    @property
    def has_all_commands(self) -> bool:
        """Whether no turn is left out with its command."""
        return not self._cuts.left_out

    def contains_whole(self, response: str) -> bool:
        """Return whether the text has all lines of this response to the latest turn, none as a reference."""
        return bool(self._turns) and self._parts[-1] == f"{self._turns[-1].head}\n{response}".rstrip()

    def add(self, turn: PlayedTurn) -> None:
        """Add the next turn."""
        self._turns.append(replace(turn, response=without_padding(turn.response)))
        self._first_arrivals.setdefault(turn.to_id, turn.number)
        self._show_whole(self._turns[-1])
        if self._length > self._characters:
            self._condense()

    @property
    def _longest(self) -> int:
        return int(self._characters * NEWEST)

    @property
    def _length(self) -> int:
        return sum(map(len, self._parts)) + 2 * len(self._parts)

    def _begin(self) -> None:
        """Show all turns according to the cuts."""
        self._parts = [f"Start:\n{self._opening}"] if self._opening else []
        self._printed: set[str] = set()
        self._told_in: dict[str, int | str] = {**self._elsewhere}
        self._remember(PlayedTurn(0, "", self._opening))
        self._screen: tuple[int, list[str]] = 0, []  # the latest text that is shown by all of its lines, and its turn
        left_out, bare, placeless, condensed = self._cuts
        if left_out:
            self._parts.append(f"({_turns(1, left_out)}: left out for want of room.)")
        if bare > left_out:
            self._parts.append(f"{_turns(left_out + 1, bare)}, commands only (texts left out for want of room):")
            self._parts += _command_lines(self._turns[left_out:bare])
        if placeless > bare:
            self._parts.append(
                f"{_turns(bare + 1, placeless)}, without the texts of arrivals and what the story had printed before:"
            )
            self._parts += self._news(self._turns[bare:placeless], arrivals=False)
        if condensed > placeless:
            self._parts.append(f"{_turns(placeless + 1, condensed)}, without what the story had printed before:")
            self._parts += self._news(self._turns[placeless:condensed])
        for turn in self._turns[condensed:]:
            self._show_whole(turn)

    def _show_whole(self, turn: PlayedTurn) -> None:
        lines, (number, screen) = turn.response.splitlines(), self._screen
        is_same = [line == before for line, before in zip_longest(lines, screen)]
        is_first = turn.to_id is not None and self._first_arrivals[turn.to_id] == turn.number
        if not is_first and len(lines) == len(screen) >= SHORTEST_SCREEN and is_same.count(False) <= MOST_CHANGED:
            shown = f"[as in turn {number}]" if all(is_same) else _changed_lines(lines, is_same, number)
        else:
            shown = without_repeats(lines, self._elsewhere if is_first else self._told_in)
            self._screen = turn.number, lines
        if len(shown) > self._longest:
            shown = cut_middle(shown, self._longest)
        else:
            self._remember(turn)
        self._parts.append(f"{turn.head}\n{shown}".rstrip())

    def _news(self, turns: Sequence[PlayedTurn], *, arrivals: bool = True) -> Iterator[str]:
        """Yield the turns with the lines that were not printed before; turns without them share a line.

        arrivals: whether moves are shown with the text from the room's heading on
        """
        waiting: list[PlayedTurn] = []
        for turn in turns:
            lines = filter(str.strip, turn.response.splitlines())
            is_whole = arrivals or turn.to_id is None or turn.died
            news = [line for line in (lines if is_whole else _before_heading(lines)) if line not in self._printed]
            if is_whole:
                self._remember(turn)
            if news:
                yield from _command_lines(waiting)
                waiting = []
                text = cut_middle(without_repeats(news, self._elsewhere), self._longest)
                yield f"{turn.head}\n{text}"
            else:
                waiting.append(turn)
        yield from _command_lines(waiting)

    def _remember(self, turn: PlayedTurn) -> None:
        lines = turn.response.splitlines()
        self._printed.update(lines)
        for line in lines:
            if len(line) >= SHORTEST_REPEATED:
                self._told_in.setdefault(line, turn.number)

    def _condense(self) -> None:
        count, room = len(self._turns), int(self._characters * CONDENSED)
        newest, whole = 0, 0
        while whole < count - 1 and newest + len(self._turns[-1 - whole].response) < self._characters * NEWEST:
            newest += len(self._turns[-1 - whole].response)
            whole += 1
        cuts = self._cuts._replace(condensed=max(self._cuts.condensed, count - max(whole, 1)))
        enough = int(self._characters * FULL)
        if self._fits(cuts, enough):
            return
        for at, last in ((2, cuts.condensed), (1, count - 1), (0, count - 1)):  # placeless, bare, left_out
            choices = [  # the milder cuts, which follow it, are of no fewer turns
                _Cuts(*cuts[:at], *(max(each, number) for each in cuts[at:])) for number in range(cuts[at], last + 1)
            ]
            cuts = choices[min(bisect_left(choices, True, key=lambda each: self._fits(each, room)), len(choices) - 1)]
            if self._fits(cuts, enough):
                return

    def _fits(self, cuts: _Cuts, room: int) -> bool:
        """Show all turns according to these cuts, and return whether the text has at most ``room`` characters."""
        self._cuts = cuts
        self._begin()
        return self._length <= room


def _before_heading(lines: Iterable[str]) -> Iterator[str]:
    """Return the sentences before a room's heading, which tell what happened before the arrival."""
    return takewhile(lambda line: line.rstrip().endswith((".", "!", "?", '"', ")")), lines)


def _changed_lines(lines: Sequence[str], is_same: Sequence[bool], number: int) -> str:
    """Return the lines that differ from an earlier turn's, and for the others their numbers if those are shorter."""
    shown: list[str] = []
    for same, run in groupby(enumerate(lines, start=1), key=lambda each: is_same[each[0] - 1]):
        numbers, texts = zip(*run, strict=True)
        span = f"line {numbers[0]}" if len(numbers) == 1 else f"lines {numbers[0]}-{numbers[-1]}"
        reference = f"[{span} as in turn {number}]"
        shown += [reference] if same and len("".join(texts)) > 2 * len(reference) else texts
    return "\n".join(shown)


def without_screens(turns: Sequence[PlayedTurn]) -> Iterator[PlayedTurn]:
    """Yield the turns; the keys that showed a menu's screens, which are lists of short lines, become one turn."""
    for is_screen, run in groupby(zip_longest(turns, turns[1:]), key=lambda each: _is_screen(*each)):
        keys = [turn for turn, _ in run]
        if is_screen:
            names = "; ".join(one_line(key.action) for key in keys)
            yield PlayedTurn(keys[0].number, f"menu, {counted(len(keys), 'key')}: {names}", "", last=keys[-1].number)
        else:
            yield from keys


def _is_screen(turn: PlayedTurn, following: PlayedTurn | None) -> bool:
    lines, has_left = turn.response.splitlines(), following is None or not following.is_key
    is_list = len(lines) >= SHORTEST_SCREEN and all(len(line) < SHORTEST_REPEATED for line in lines)
    return turn.is_key and is_list and not has_left


def story_start(state: GameState) -> str:
    """Return the story's text before the first turn, without the lines about its release."""
    return without_padding(_RELEASE.sub("", state.opening))


def played_turns(state: GameState, first: int = 0) -> Iterator[PlayedTurn]:
    """Yield the turns of the episode, except the first ones of that number."""
    for turn in state.turns[first:]:
        there = turn.after.location if turn.moved else None
        to_id, typed = there.num if there else None, "" if turn.typed == turn.action else one_line(turn.typed)
        change, died = turn.score_change or 0, turn.after.died
        yield PlayedTurn(turn.turn, turn.action, turn.response, change, to_id, None, typed, died, turn.is_key)


def _turns(first: int, last: int) -> str:
    return f"Turn {first}" if first == last else f"Turns {first}-{last}"


def _command_lines(turns: Sequence[PlayedTurn]) -> list[str]:
    if not turns:
        return []
    commands = (f"({turn.turns.lower()} {turn.command})" if turn.last else turn.command for turn in turns)
    return [f"{_turns(turns[0].number, turns[-1].last or turns[-1].number)}: {'; '.join(commands)}"]
