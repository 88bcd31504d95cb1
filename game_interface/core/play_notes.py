"""What a game remembers of the play beside the machine's own state, as plain values that are saved with it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from game_interface.core.endings import is_question, last_line

_INSISTING = re.compile("please (?:answer|give)", re.IGNORECASE)
"""How stories ask the question before once more."""


@dataclass(frozen=True, slots=True)
class StoryQuestion:
    """The question that the story's latest text ended with, and how many texts in a row did.

    text: empty where it was no question
    """

    text: str = ""
    times: int = 0

    def after(self, text: str) -> StoryQuestion:
        """Return the question after the story has printed ``text``."""
        line = last_line(text)
        if not is_question(line):
            return NO_QUESTION
        if self.text and _INSISTING.match(line):
            return StoryQuestion(self.text, self.times + 1)
        return StoryQuestion(line, self.times + 1 if line == self.text else 1)


NO_QUESTION = StoryQuestion()


@dataclass(frozen=True, slots=True)
class Clues:
    """Where a story of which nothing is known keeps its status. Numbers are of globals, but for ``players``.

    players: the objects that were found to be the player; more than one where a spell changes bodies
    body: holds the object that is the player now
    rooms: each holds the room, in most places
    score, turns: hold the story's own figures
    shown_score, shown_turns: hold their copies from when the status line was drawn last; only these may be known
    tells_score: the story tells its score when it is asked
    max_score: the most points there are, as the story tells it
    """

    players: tuple[int, ...] = ()
    body: int | None = None
    rooms: tuple[int, ...] = ()
    score: int | None = None
    turns: int | None = None
    shown_score: int | None = None
    shown_turns: int | None = None
    tells_score: bool = False
    max_score: int | None = None


NO_CLUES = Clues()


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned of a story's status, and for how many turns in a row something has been missing since."""

    clues: Clues = NO_CLUES
    missed: int = 0


NOTHING_LEARNED = Learned()
