"""A command as far as the story's vocabulary lets one read it without its grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session.vocabulary import Vocabulary

_ARTICLES = frozenset({"a", "an", "the", "my", "some"})
_NOT_ONE_CLAUSE = re.compile(r"[.,;:?!\"]|\b(?:and|then|but|except)\b")
_WORD = re.compile(r"[a-z0-9'-]+")


@dataclass(frozen=True, slots=True)
class Command:
    """One plain clause: a verb, and the words behind it in phrases that prepositions part.

    words: in full, in lower case, the verb first
    phrases: each not empty, of words as the dictionary cuts them, without articles
    """

    words: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]


def read_command(action: str, vocabulary: Vocabulary) -> Command | None:
    """The command in ``action``; ``None`` where it is empty, quotes, lists, or is more than one."""
    text = action.lower().strip(" .!")
    if not text or _NOT_ONE_CLAUSE.search(text):
        return None
    words = tuple(text.split())
    phrases: list[tuple[str, ...]] = [()]
    for each in map(vocabulary.cut, words[1:]):
        if _parts_phrases(each, vocabulary):
            phrases.append(())
        elif each not in _ARTICLES:
            phrases[-1] += (each,)
    return Command(words, tuple(filter(None, phrases)))


def words_of(text: str, vocabulary: Vocabulary) -> frozenset[str]:
    """Every word of a story's prose as the dictionary cuts it, a hyphenated one also in its parts."""
    found = {part for word in _WORD.findall(text.lower()) for part in (word, *word.split("-"))}
    return frozenset(map(vocabulary.cut, found))


def _parts_phrases(word: str, vocabulary: Vocabulary) -> bool:
    return word in vocabulary.prepositions and word not in vocabulary.objects
