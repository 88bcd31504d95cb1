"""The words of a story, as far as its own tables tell what they are for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ParserFamily = Literal["infocom", "inform", "unknown"]
"""Infocom's parser knows no noun but those of its dictionary, and one noun names a thing; in Inform's each word of a
phrase has to name the thing, and a story may read words in ways of its own."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What is fixed for a story. All words are in lower case, cut to ``letters`` as the story's parser cuts them.

    words: all that the parser knows
    verbs: words that a command may start with; not each may stand alone
    free_verbs: verbs with words behind them that need not name a thing at hand: speech, topics, far places
    nouns: words that the tables mark as such, whether or not a thing answers to them
    directions: words that move the player by themselves
    objects: for a word the Z-machine objects that have it in their list of names; none where no such list is known
    mentions: for a word the objects whose properties, or the routines there, hold it at all: they may answer to it
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
        """``word`` as the parser compares it."""
        return word.lower()[: self.letters]
