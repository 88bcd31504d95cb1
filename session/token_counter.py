"""How many tokens a text has, by what the server counted before."""

from __future__ import annotations

import math
from dataclasses import dataclass

FIRST_GUESS = 0.25
SHARE_OF_NEWEST = 0.2


@dataclass(slots=True)
class TokenCounter:
    """Estimates tokens from characters. ``tokens_per_character`` follows the server's own counts."""

    tokens_per_character: float = FIRST_GUESS

    def estimate(self, text: str) -> int:
        """Tokens of ``text``, rounded up."""
        return math.ceil(len(text) * self.tokens_per_character)

    def learn(self, characters: int, tokens: int) -> None:
        """A prompt of so many characters was counted as so many tokens; zero tokens means it was not counted."""
        if characters > 0 and tokens > 0:
            newest = tokens / characters
            self.tokens_per_character += SHARE_OF_NEWEST * (newest - self.tokens_per_character)

    def cut(self, text: str, tokens: int) -> str:
        """``text``, or its beginning up to so many tokens with a mark that something is missing."""
        if self.estimate(text) <= tokens:
            return text
        return text[: max(0, int(tokens / self.tokens_per_character) - len(CUT_MARK))].rstrip() + CUT_MARK


CUT_MARK = " […]"
