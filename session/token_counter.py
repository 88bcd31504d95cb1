"""How many tokens a text has, by what the server counted before."""

from __future__ import annotations

import math
from dataclasses import dataclass

from session.text import cut_at

FIRST_GUESS = 0.25
FEWEST_A_CHARACTER, MOST_A_CHARACTER = 0.15, 1.0
SHARE_OF_NEWEST = 0.2


@dataclass(slots=True)
class TokenCounter:
    """Estimates tokens from characters.

    tokens_per_character: follows the server's own counts; one beyond what texts can have (a server that counts only
        what it had not cached, say) moves it to the nearest that they can
    """

    tokens_per_character: float = FIRST_GUESS

    def estimate(self, text: str) -> int:
        """Tokens of ``text``, rounded up."""
        return math.ceil(len(text) * self.tokens_per_character)

    def learn(self, characters: int, tokens: int) -> None:
        """A prompt of so many characters was counted as so many tokens; zero tokens means it was not counted."""
        if characters > 0 and tokens > 0:
            newest = min(max(tokens / characters, FEWEST_A_CHARACTER), MOST_A_CHARACTER)
            self.tokens_per_character += SHARE_OF_NEWEST * (newest - self.tokens_per_character)

    def characters(self, tokens: int) -> int:
        """The length of the longest text of at most so many tokens."""
        length = max(0, int(tokens / self.tokens_per_character))
        is_too_long = math.ceil(length * self.tokens_per_character) > tokens  # by the rounding of floats
        return max(0, length - is_too_long)

    def cut(self, text: str, tokens: int) -> str:
        """``text``, or its beginning up to so many tokens with a mark that something is missing."""
        return cut_at(text, self.characters(tokens))
