"""The words that a story's parser knows, and what they are for as far as the story's own tables tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ParserFamily = Literal["infocom", "inform", "unknown"]
"""Who wrote the parser of a story.

Infocom's parser knows only nouns of its dictionary, and one noun is enough to name a thing. In Inform's parser each
word of a phrase has to name the thing, and a story may read words in ways of its own.
"""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a story, in lower case and cut to ``letters`` letters as its parser cuts them.

    words: all words that the parser knows
    verbs: words that a command may start with; some need more words after them
    free_verbs: verbs that may be followed by words which name nothing at hand: speech, topics, far places
    nouns: words that the tables mark as nouns, whether or not an object has them as a name
    directions: words that move the player by themselves
    objects: for each word the Z-machine objects with it in their list of names; empty where no such list is known
    mentions: for each word the objects that have it anywhere in their properties or in the routines there, and so may
        have it as a name
    """

    letters: int
    words: frozenset[str]
    verbs: frozenset[str] = frozenset()
    free_verbs: frozenset[str] = frozenset()
    nouns: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    directions: frozenset[str] = frozenset()
    objects: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    mentions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    family: ParserFamily = "unknown"

    def cut(self, word: str) -> str:
        """Return the word as the parser compares it: in lower case, and cut to its first letters."""
        return word.lower()[: self.letters]
