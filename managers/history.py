"""Writes the latest turns for the players' prompts: reasoning, command and response.

The text of a turn depends only on earlier turns, so that it does not change from prompt to prompt and the server can
cache it. Turns are rewritten, in a shorter form, only when the window slides (docs/specification.md, Turn history in
prompts).
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
"""Characters. A line of at least this length is shortened in later turns, with a reference to the first turn."""
BEGINNING = 40  # characters of such a line
STANDS_BELOW = "(It stands under Present.)"


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """A turn as text.

    answer: the complete response if the text omits only lines that an earlier turn contains, otherwise ``None``
    """

    text: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class HistoryTeller:
    """Writes turns in the order of play, with responses cut to the available room.

    played: every command of the episode with its response
    characters: room for all responses together
    most: maximum number of turns before the window slides; some room is reserved for each of them
    reasoned: number of latest turns that include the reasoning; ``None`` means all
    precedes_present: the present follows and contains the whole latest response if the latest turn cannot
    is_transcript: include only commands and responses, in the story's own format
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
        """Return the turn of the entry and its response.

        If the turn is not known, the response is the latest one to the same command.
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
    """Join the lines. A line that an earlier turn contains is replaced by its beginning and the number of that turn."""
    return "\n".join(
        [
            f"{cut_at(line, BEGINNING, '…')} [line as in turn {told_in[line]}]" if line in told_in else line
            for line in lines
        ]
    )
