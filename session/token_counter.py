"""Estimates how many tokens a text has."""

from __future__ import annotations

import math
from dataclasses import dataclass

from session.text import cut_middle

FIRST_GUESS = 0.25
FEWEST_A_CHARACTER, MOST_A_CHARACTER = 0.15, 1.0
SHARE_OF_NEWEST = 0.2


@dataclass(slots=True)
class TokenCounter:
    """Estimates tokens from characters, and learns the ratio from the counts of the server.

    tokens_per_character: stays between what texts can have at least and at most, even where a server counts something
        else, such as only the tokens that were not in its cache
    """

    tokens_per_character: float = FIRST_GUESS

    def estimate(self, text: str) -> int:
        """Return how many tokens the text has, rounded up."""
        return math.ceil(len(text) * self.tokens_per_character)

    def learn(self, characters: int, tokens: int) -> None:
        """Move the ratio towards that of a prompt which the server has counted; 0 tokens say that it has not."""
        if characters > 0 and tokens > 0:
            newest = min(max(tokens / characters, FEWEST_A_CHARACTER), MOST_A_CHARACTER)
            self.tokens_per_character += SHARE_OF_NEWEST * (newest - self.tokens_per_character)

    def characters(self, tokens: int) -> int:
        """Return how many characters the longest text of at most so many tokens has."""
        length = max(0, int(tokens / self.tokens_per_character))
        is_too_long = math.ceil(length * self.tokens_per_character) > tokens  # by the rounding of floats
        return max(0, length - is_too_long)

    def cut(self, text: str, tokens: int) -> str:
        """Return a text of at most so many tokens, or its beginning and its end with a mark between them."""
        return cut_middle(text, self.characters(tokens))
