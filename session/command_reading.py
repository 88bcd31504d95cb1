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
    frame: verb and prepositions in full, with ``None`` where a phrase stands
    """

    words: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    frame: tuple[str | None, ...]


def read_command(action: str, vocabulary: Vocabulary) -> Command | None:
    """The command in ``action``; ``None`` where it is empty, quotes, lists, or is more than one."""
    text = action.lower().strip(" .!")
    if not text or _NOT_ONE_CLAUSE.search(text):
        return None
    words = tuple(text.split())
    frame: list[str | None] = [words[0]]
    phrases: list[tuple[str, ...]] = []
    for full, each in zip(words[1:], map(vocabulary.cut, words[1:]), strict=True):
        if _parts_phrases(each, vocabulary):
            frame.append(full)
        elif each not in _ARTICLES:
            if frame[-1] is not None:
                frame.append(None)
                phrases.append(())
            phrases[-1] += (each,)
    return Command(words, tuple(phrases), tuple(frame))


def words_of(text: str, vocabulary: Vocabulary) -> frozenset[str]:
    """Every word of a story's prose as the dictionary cuts it, a hyphenated one also in its parts."""
    found = {part for word in _WORD.findall(text.lower()) for part in (word, *word.split("-"))}
    return frozenset(map(vocabulary.cut, found))


def _parts_phrases(word: str, vocabulary: Vocabulary) -> bool:
    return word in vocabulary.prepositions and word not in vocabulary.objects
