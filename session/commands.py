"""How commands are written, and which words a story knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from session.text import one_line

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


_ARTICLES = frozenset({"a", "an", "the", "my", "some"})
_NOT_ONE_CLAUSE = re.compile(r"[.,;:?!\"]|\b(?:and|then|but|except)\b")
_WORD = re.compile(r"[a-z0-9'-]+")
_WAITING = frozenset({"wait", "z"})
_ROUTINE = _WAITING | {"look", "l", "inventory", "i", "again", "g", "score"}
_LOOKING_AT = frozenset({"examine", "x"})
_SPEECH = frozenset({"ask", "tell", "say", "talk", "speak", "answer", "greet", "hello", "shout", "yell", "whisper"})
_STOP = re.compile(r"\s*[.;]\s*|(?:\s*,|\s+and\b)?\s*\bthen\b\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of one clause: a verb, then phrases with prepositions between them.

    words: all words in full and in lower case, the verb first
    phrases: the words of each phrase as the dictionary cuts them, without articles; no phrase is empty
    frame: the verb and the prepositions in full, with ``None`` in the place of each phrase
    """

    words: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    frame: tuple[str | None, ...]


def read_command(action: str, vocabulary: Vocabulary) -> Command | None:
    """Return the command in ``action``, or ``None`` for an empty one, a quotation, a list, or more than one command."""
    text = action.lower().strip(" .!")
    if not text or _NOT_ONE_CLAUSE.search(text):
        return None
    words = tuple(text.split())
    frame: list[str | None] = [words[0]]
    phrases: list[tuple[str, ...]] = []
    for full, each in zip(words[1:], map(vocabulary.cut, words[1:]), strict=True):
        if each in vocabulary.prepositions and each not in vocabulary.objects:
            frame.append(full)
        elif each not in _ARTICLES:
            if frame[-1] is not None:
                frame.append(None)
                phrases.append(())
            phrases[-1] += (each,)
    return Command(words, tuple(phrases), tuple(frame))


def plain_command(action: str) -> str:
    """Return the command in the one form in which two that differ by case, blanks or full stops are the same."""
    return one_line(action).lower().strip(" .!")


def is_waiting(command: str) -> bool:
    """Tell whether a plain command only lets time pass."""
    return command in _WAITING


def is_routine(command: str) -> bool:
    """Tell whether a plain command only looks about or lets time pass, for which it is typed again and again."""
    return command in _ROUTINE


def passes_time(command: str) -> bool:
    """Tell whether a plain command only waits or looks, at whatever it may be: what happens then is not its doing."""
    return is_routine(command) or command.split(" ", 1)[0] in _WAITING | _LOOKING_AT


def is_speech(command: str) -> bool:
    """Tell whether a plain command speaks to somebody: by its verb, or as in "guard, open the gate"."""
    return "," in command or command.split(" ", 1)[0] in _SPEECH


def steps_of(line: str) -> list[str]:
    """Return what a line holds between full stops, semicolons and "then"."""
    return [step for step in _STOP.split(line) if step]


def first_command(line: str, vocabulary: Vocabulary) -> str:
    """Return the first command of a line of several, or all of a line that is one command."""
    return commands_of(line, vocabulary)[0]


def commands_of(line: str, vocabulary: Vocabulary) -> list[str]:
    """Return the commands of a line, in order.

    After a stop only a verb or a direction of the story begins another command: "ask mrs. smith" is one. A line with a
    quotation is never parted.
    """
    starts = vocabulary.verbs | vocabulary.directions
    for stop in () if '"' in line else _STOP.finditer(line):
        first, following = line[: stop.start()].strip(" .;"), _WORD.match(line.lower(), stop.end())
        if first and following and vocabulary.cut(following[0]) in starts:
            return [first, *commands_of(line[stop.end() :], vocabulary)]
    return [line]


def words_of(text: str, vocabulary: Vocabulary) -> frozenset[str]:
    """Return every word of a text as the dictionary cuts it; of a word with hyphens its parts, too."""
    found = {part for word in _WORD.findall(text.lower()) for part in (word, *word.split("-"))}
    return frozenset(map(vocabulary.cut, found))
