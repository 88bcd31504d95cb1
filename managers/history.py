"""Tells the latest turns in the players' prompts: why each command was chosen, and what the story answered.

What stays the same from prompt to prompt stands in the server's cache. So a turn is told by what came before it, never
by what comes after it: only when the window slides are turns told anew, with less (docs/specification.md, Turn history
in prompts).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from managers.prompting import LONGEST_ACTION, turn_text
from session.text import cut_at, cut_middle, without_padding

NO_ACTION = "(No action recorded)"
NO_REASONING = "(No reasoning recorded)"
NO_RESPONSE = "(No response recorded)"
LONGEST_REASONING = 480  # characters
SHORTEST_REPEATED = 80
"""Characters: of a line at least so long later turns have only the beginning, and the turn that has the rest."""
BEGINNING = 40  # characters of such a line
STANDS_BELOW = "(It stands under Present.)"


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """A turn as text.

    answer: all that the story said, if nothing was left out but what an earlier turn has word for word; else ``None``
    """

    text: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class HistoryTeller:
    """Tells turns in the order of play, as much of each answer as there is room for.

    played: every command of the episode with its answer
    characters: room for all answers together
    most: how many turns are told at most before the window slides; each of them keeps some room from those before it
    reasoned: how many of them, the latest ones, are told with the reasoning; ``None``: all
    precedes_present: what the latest turn has no room for stands whole under the present that follows
    is_transcript: commands and answers alone, as the story itself shows them
    """

    played: Sequence[tuple[str, str]]
    characters: int
    most: int
    reasoned: int | None = None
    precedes_present: bool = False
    is_transcript: bool = False

    def tell(self, entries: Sequence[Mapping[str, Any]]) -> Iterator[HistoryTurn]:
        """Yield each entry of the reasoning history as text."""
        unreasoned = 0 if self.reasoned is None else len(entries) - self.reasoned
        left = self.characters
        reserve = self.characters // (2 * self.most)
        told_in: dict[str, int] = {}
        for place, entry in enumerate(entries):
            turn, answer = self._answer(entry)
            lines = answer.splitlines()
            shown = told_once(lines, told_in)
            room = max(left - reserve * (self.most - place - 1), reserve)
            is_whole = len(shown) <= room
            if is_whole and turn is not None:
                told_in |= {line: turn for line in lines if len(line) >= SHORTEST_REPEATED and line not in told_in}
            elif not is_whole:
                stands_below = self.precedes_present and place == len(entries) - 1
                shown = STANDS_BELOW if stands_below else cut_middle(shown, room)
            left -= len(shown)
            text = self._text(entry, shown, is_reasoned=place >= unreasoned)
            yield HistoryTurn(text, answer if is_whole else None)

    def _answer(self, entry: Mapping[str, Any]) -> tuple[int | None, str]:
        """Return the turn of the entry and what the story answered in it.

        Where that turn is not known, it is the latest answer to the same command.
        """
        action, turn = entry.get("action"), entry.get("turn")
        if isinstance(turn, int) and 0 < turn <= len(self.played) and self.played[turn - 1][0] == action:
            return turn, without_padding(self.played[turn - 1][1])
        latest = (answer for done, answer in reversed(self.played) if done == action)
        return None, without_padding(next(latest, NO_RESPONSE))

    def _text(self, entry: Mapping[str, Any], answer: str, *, is_reasoned: bool) -> str:
        action = cut_at(str(entry.get("action") or NO_ACTION), LONGEST_ACTION)
        if self.is_transcript:
            return f"> {action}\n{answer}"
        number = entry.get("turn", "?")
        if not is_reasoned:
            return turn_text(number, action, answer)
        reasoning = cut_middle(str(entry.get("reasoning") or "") or NO_REASONING, LONGEST_REASONING)
        return f"Turn {number}:\nReasoning: {reasoning}\nAction: {action}\nResponse: {answer}"


def told_once(lines: Sequence[str], told_in: Mapping[str, int]) -> str:
    """Return the lines as a text; of those that an earlier turn has, the beginning and that turn stand for the line."""
    return "\n".join(
        [
            f"{cut_at(line, BEGINNING, '…')} [line as in turn {told_in[line]}]" if line in told_in else line
            for line in lines
        ]
    )
