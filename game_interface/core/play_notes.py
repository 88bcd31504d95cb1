"""What a game remembers of the play beside the machine's own state, as plain values that are saved with it."""

from __future__ import annotations

from dataclasses import dataclass

from game_interface.core.endings import is_question, last_line


@dataclass(frozen=True, slots=True)
class StoryQuestion:
    """The line that the story's latest text ended with, and how many texts in a row did.

    text: empty where it was no question
    """

    text: str = ""
    times: int = 0

    def after(self, text: str) -> StoryQuestion:
        """Return the question after the story has printed ``text``."""
        if "?" not in text and "lease" not in text:  # in every step
            return NO_QUESTION
        line = last_line(text)
        if not is_question(line):
            return NO_QUESTION
        return StoryQuestion(line, self.times + 1 if line == self.text else 1)


NO_QUESTION = StoryQuestion()
