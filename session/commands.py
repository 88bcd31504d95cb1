"""Parses commands, and describes the vocabulary of a story."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from session.errors import ConfigurationError
from session.text import one_line

ParserFamily = Literal["infocom", "inform", "unknown"]
"""The origin of a story's parser.

Infocom's parser accepts only nouns of its dictionary, and one noun is enough to name a thing. In Inform's parser each
word of a phrase must name the thing, and a story may parse words by its own rules.
"""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a story, in lower case and cut to ``letters`` letters as its parser cuts them.

    verbs: words that a command may start with; some need more words after them
    free_verbs: verbs whose objects need not be present: speech, topics, distant places
    near_verbs: verbs whose objects must be present by the story's grammar, or by their meaning in English
    nouns: words that the dictionary marks as nouns, even if no object has them as a name
    directions: words that move the player by themselves
    objects: for each word the Z-machine objects with it in their list of names; empty if such lists are unknown
    mentions: for each word the objects with it anywhere in their properties or routines, which may be a name
    animate: objects that the story file marks as living; empty if the mark is unknown
    """

    letters: int
    words: frozenset[str]
    verbs: frozenset[str] = frozenset()
    free_verbs: frozenset[str] = frozenset()
    near_verbs: frozenset[str] = frozenset()
    nouns: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    directions: frozenset[str] = frozenset()
    objects: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    mentions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    animate: frozenset[int] = frozenset()
    family: ParserFamily = "unknown"

    def cut(self, word: str) -> str:
        """Return the word as the parser compares it: in lower case, and cut to its first letters."""
        return word.lower()[: self.letters]

    def means_same(self, one: str, other: str) -> bool:
        """Return whether two commands differ at most in the words for a thing, as in ``wake alan``, ``wake guard``."""
        if one == other:
            return True
        words = [[self.cut(word) for word in command.split()] for command in (one, other)]
        return len(words[0]) == len(words[1]) and all(
            first == second or not set(self.objects.get(first, ())).isdisjoint(self.objects.get(second, ()))
            for first, second in zip(*words, strict=True)
        )


def read_script(path: Path) -> list[str]:
    """Return the commands of a file, one on each line. Lines that begin with ``#`` are comments.

    Raises ``ConfigurationError`` if the file is not text, or contains no command.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not a script of commands: {error}") from error
    commands = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not commands:
        raise ConfigurationError(f"{path} contains no command; expected one on each line")
    return commands


COMMON_COMMANDS = (
    *("north", "south", "east", "west", "up", "down", "northeast", "northwest", "southeast", "southwest"),
    *("look", "inventory", "take all", "enter", "out"),
)
"""Commands that nearly every story understands, for a player that chooses at random."""

DIRECTIONS = {
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
    "ne": "northeast",
    "nw": "northwest",
    "se": "southeast",
    "sw": "southwest",
    "u": "up",
    "d": "down",
}
"""The directions by their abbreviations."""
_ARTICLES = frozenset({"a", "an", "the", "my", "some"})
_NOT_ONE_CLAUSE = re.compile(r"[.,;:?!\"]|\b(?:and|then|but|except)\b")
_WORD = re.compile(r"[a-z0-9'-]+")
_WAITING = frozenset({"wait", "z"})
_ROUTINE = _WAITING | {"look", "l", "inventory", "i", "again", "g", "score"}
_LOOKING_AT = frozenset({"examine", "x"})
_PERCEIVING = frozenset({"look", "l", "read", "search", "inspect", "consult", "listen", "smell", "taste", "feel"})
TAKING = frozenset({"take", "get", "grab", "carry", "pick"})
_CONFIRMING = re.compile(
    r"\byou (?:can )?(?:also )?see\b|\byou(?:'re| are) (?:now )?(?:carrying|holding|wearing)\b|\bthere are\b"
    r"|\btime passes\b|\b(?:put|taken?) (?:on|off)\b|^(?:ok(?:ay)?\W+)?you\b(?!')|^ok(?:ay)?\b"
    r"|(?<![\w'-])(?:a|also|an|and|done|dropped|from|got|here|in|into|is|it|now|of|onto|put|removed|reveal(?:s|ing)"
    r"|some|taken?|the|there|to|with)(?![\w'-])"
)
"""Words with which stories confirm a command of the player, or list things: none that denies, counts or names."""
_SPEECH = frozenset(
    {"ask", "tell", "say", "talk", "speak", "answer", "greet", "hello", "insult", "shout", "yell", "whisper"}
)
_STOP = re.compile(r"(?:[.;,]|\b(?:and|then)\b)(?:[\s.;,]|\b(?:and|then)\b)*", re.IGNORECASE)
_JOIN = re.compile(r"(?:[\s,]|and)+", re.IGNORECASE)
"""A stop that may also join the things of one command."""
AGAIN = frozenset({"again", "g"})
"""Words that repeat the command before, by the convention of the parsers of Infocom and Inform."""
PRONOUNS = frozenset({"it", "them", "him", "her"})
_GOING = frozenset({"go", "walk", "run", "head", "proceed", "travel", "climb", "crawl", "swim"})
_ORDER = re.compile(r"\s*(?:ask|command|order|tell)\b.*\bto\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of one clause: a verb, then phrases with prepositions between them.

    words: all words in full and in lower case, the verb first
    phrases: the words of each phrase as the dictionary cuts them, without articles; no phrase is empty
    """

    words: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]


def read_command(action: str, vocabulary: Vocabulary) -> Command | None:
    """Return the command in ``action``, ``None`` for an empty text, a quotation, a list, or several commands."""
    text = action.lower().strip(" .!")
    if not text or _NOT_ONE_CLAUSE.search(text):
        return None
    words = tuple(text.split())
    phrases: list[tuple[str, ...]] = [()]
    for each in map(vocabulary.cut, words[1:]):
        if each in vocabulary.prepositions and each not in vocabulary.objects:
            phrases.append(())
        elif each not in _ARTICLES:
            phrases[-1] += (each,)
    return Command(words, tuple(filter(None, phrases)))


@lru_cache(maxsize=4096)  # the same commands are looked at each turn
def plain_command(action: str) -> str:
    """Return the command in a normal form, without differences in case, blanks and full stops."""
    return one_line(action).lower().strip(" .!")


def typed(action: str, *, is_key: bool) -> str:
    """Return the plain command, or ``key n`` for a key, which is not the command of that name."""
    return f"key {plain_command(action)}" if is_key else plain_command(action)


def is_waiting(command: str) -> bool:
    """Return whether a plain command only lets time pass."""
    return command in _WAITING


def is_routine(command: str) -> bool:
    """Return whether a plain command only looks around or lets time pass, so that repeating it is normal."""
    return command in _ROUTINE


def passes_time(command: str) -> bool:
    """Return whether a plain command only waits or looks at something, so that it causes no events."""
    return is_routine(command) or command.split(" ", 1)[0] in _WAITING | _LOOKING_AT


def only_informs(command: str) -> bool:
    """Return whether a plain command waits, perceives or speaks, so that its result may be the story's text alone."""
    return passes_time(command) or is_speech(command) or perceives(command)


def perceives(command: str) -> bool:
    """Return whether a plain command looks, reads or listens, so that the story describes or quotes something."""
    return command.split(" ", 1)[0] in _LOOKING_AT | _PERCEIVING


def only_confirms(sentence: str, command: str, names: Collection[str]) -> bool:
    """Return whether a sentence confirms a plain command, or lists things, without other words than its own and names.

    Past forms of its verb count as its own: "opened" after "open door". "opens" may be what another one does. Speech
    and questions confirm nothing.
    """
    own, text = command.split(), sentence.casefold()
    stem = "".join(own[:1]).removesuffix("e")
    past = re.compile(f"{re.escape(stem)}(?:{re.escape(stem[-1:])})?e[dn]")
    rest = re.findall(r"[\w'-]+", _CONFIRMING.sub(" ", text))
    is_plain = re.search(r"\w", text) and not re.search(r'["\u201c\u201d?]', text)
    return bool(is_plain) and all(word in own or word in names or past.fullmatch(word) for word in rest)


def is_speech(command: str) -> bool:
    """Return whether a plain command is speech: by its verb, "yes" or "no", or as in "guard, open the gate"."""
    return "," in command or command in {"yes", "no"} or command.split(" ", 1)[0] in _SPEECH


def referred_to(commands: Sequence[str], number: int) -> int | None:
    """Return the index of the command before that the one at index ``number`` depends on for its meaning, if any.

    "again" depends on the command before it, a pronoun on the last one of several words.
    """
    command = plain_command(commands[number])
    is_again = command in AGAIN
    if not is_again and PRONOUNS.isdisjoint(command.split()[1:]):
        return None
    return next((at for at in range(number - 1, -1, -1) if is_again or " " in plain_command(commands[at])), None)


def steps_of(line: str) -> list[str]:
    """Split a line at full stops, semicolons and "then"."""
    steps, at = [], 0
    for stop in _STOP.finditer(line):
        if not _JOIN.fullmatch(stop[0]):
            steps.append(line[at : stop.start()].strip())
            at = stop.end()
    return [step for step in (*steps, line[at:].strip()) if step]


def is_joined(line: str) -> bool:
    """Return whether commas or "and" join parts of the line, which may be commands."""
    return any(_JOIN.fullmatch(stop[0]) for stop in _STOP.finditer(line))


def commands_of(line: str, vocabulary: Vocabulary) -> list[str]:
    """Return the commands of a line, in order.

    After a stop only a verb or a direction of the story begins another command: "ask mrs. smith" is one command. After
    a comma or "and" it must also not be part of the command before: "take sword and light" is one if a light is a
    thing. An order ("guard, open the gate and go north") ends at a full stop or semicolon only. A line with a quotation
    is not split.
    """
    stops = [] if '"' in line else list(_STOP.finditer(line))
    starts = vocabulary.verbs | vocabulary.directions | (AGAIN & vocabulary.words)
    is_order = bool(stops) and _is_order(line[: stops[0].start()], stops[0][0], vocabulary)
    for stop in stops:
        first, rest = line[: stop.start()].strip(" .;,"), line[stop.end() :]
        following = _WORD.match(rest.lower())
        if not first or not following or vocabulary.cut(following[0]) not in starts:
            continue
        if is_order and not {".", ";"}.intersection(stop[0]):
            continue
        if not _JOIN.fullmatch(stop[0]) or _begins_command(rest, first, vocabulary):
            return [first, *commands_of(rest, vocabulary)]
    return [line]


def _is_order(head: str, stop: str, vocabulary: Vocabulary) -> bool:
    """Return whether a line that begins with ``head`` and ``stop`` is an order to a character."""
    words = _words(head, vocabulary)
    if _ORDER.match(head):
        return True
    if "," not in stop or not words or is_move(head, vocabulary) or is_routine(plain_command(head)):
        return False
    return words[0] not in vocabulary.verbs or (len(words) == 1 and words[0] in vocabulary.mentions)


def _begins_command(rest: str, first: str, vocabulary: Vocabulary) -> bool:
    """Return whether a verb or direction after ``first`` and a comma or "and" begins another command.

    It is not one if it continues a list of things or a speech.
    """
    goes, words, second = is_move(first, vocabulary), _words(first, vocabulary), _STOP.split(rest)[0]
    word, following = (*_words(second, vocabulary), "")[:2]
    if not goes and words[-1] in vocabulary.directions and not following:
        return word not in vocabulary.directions  # "examine north and south"
    if goes or is_move(second, vocabulary) or is_routine(plain_command(second)):
        return True
    if words[0] in _SPEECH or word in vocabulary.directions - vocabulary.verbs:
        return False
    things = set(vocabulary.mentions.get(word, ()))
    is_name = bool(things) or (word in vocabulary.nouns and vocabulary.family == "infocom")
    return not is_name or (following != "" and things.isdisjoint(vocabulary.mentions.get(following, ())))


def is_move(text: str, vocabulary: Vocabulary) -> bool:
    """Return whether the text is a direction, or a verb of movement and a direction, by the story's words."""
    words = [word for word in _words(text, vocabulary) if word not in {"the", "to"}]
    return bool(words) and words[-1] in vocabulary.directions and (len(words) == 1 or {*words[:-1]} <= _GOING)


def _words(text: str, vocabulary: Vocabulary) -> list[str]:
    return [vocabulary.cut(word) for word in _WORD.findall(text.lower())]


def words_of(text: str, vocabulary: Vocabulary) -> frozenset[str]:
    """Return every word of a text as the dictionary cuts it, and the parts of hyphenated words."""
    found = {part for word in _WORD.findall(text.lower()) for part in (word, *word.split("-"))}
    return frozenset(map(vocabulary.cut, found))
