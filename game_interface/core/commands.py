"""Normalises and filters commands before they reach the interpreter: some hang it, crash it or end the session."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

LONGEST_LINE = 198
"""Bytes that the interpreter accepts; a story's own buffer is often shorter."""
ENDED = "The story has ended: reset it or restore a saved state."
"""The refusal of every command after the story's end."""
DICTIONARY_LETTERS = 9
"""Significant letters of a word from version 4 on; 6 in earlier versions (Z-Machine Standard 1.1 §13)."""

_PLAIN = str.maketrans(
    "\u2018\u2019\u201a\u201c\u201d\u201e\u2010\u2011\u2012\u2013\u2014\u00f8", "'''\"\"\"-----o"
) | str.maketrans({"\u2026": "...", "\u00df": "ss", "\u00e6": "ae", "\u0153": "oe", "\u0152": "OE"})
_SEPARATORS = re.compile(r"[.,;:!?\"()]|\b(?:then|and)\b")
SAVING = frozenset({"save", "restore", "restart", "quit", "q", "undo"})
"""Verbs that would end or restart the session."""
KEYS = {
    **dict.fromkeys(("enter", "return", "newline"), b""),
    **dict.fromkeys(("space", "spacebar", "space bar"), b" "),
    **dict.fromkeys(("escape", "esc"), b"\x1b"),
    **dict.fromkeys(("delete", "del", "backspace"), b"\x08"),
    **{
        name: bytes([code])
        for code, arrow in enumerate(("up", "down", "left", "right"), start=129)
        for name in (arrow, f"{arrow} arrow", f"arrow {arrow}", f"cursor {arrow}")
    },
    **{
        name: bytes([132 + number])
        for number in range(1, 13)
        for name in (f"f{number}", f"function {number}", f"function key {number}")
    },
    **{f"keypad {digit}": bytes([145 + digit]) for digit in range(10)},
}
"""The keys that have a name, as the interpreter expects them."""
_KEY_WORDS = re.compile(r"[-<>\[\]]|^\s*(?:press|hit)\b|\b(?:the|key)\b")
"""What players write around the name of a key."""
_LIKE_A_VERB = "recording"
"""Indistinguishable from ``record`` in a six-letter dictionary, and a story may require that verb."""
_RECORDING = frozenset({"script", "unscript", "noscript", "transcript", _LIKE_A_VERB, "replay"})
_FILLERS = frozenset(
    (
        *("a", "all", "an", "current", "file", "game", "it", "my", "now", "o", "off", "on", "oops", "please"),
        *("progress", "session", "state", "story", "the", "this", "to"),
    )
)
"""Words that parsers ignore around a verb; ``oops`` inserts the next word into the previous command."""


def plain(text: str) -> str:
    """Return ``text`` with letters without accents, and ASCII for typographic characters if there is a usual form."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def normalised(command: str, letters: Collection[str] = ()) -> str:
    """Return ``command`` in ASCII if possible, with single spaces between words and none at the ends.

    letters: the letters beyond ASCII in the story's dictionary, which stay as they are
    """
    if not command.isascii():
        composed = unicodedata.normalize("NFC", command)
        command = "".join(low if (low := each.lower()) in letters else plain(each) for each in composed)
    return re.sub(" {2,}", " ", command.replace("\t", " ").strip())


@lru_cache(maxsize=4096)  # the valid actions of every turn are chosen from the same few hundred commands
def refusal(command: str, letters: int = DICTIONARY_LETTERS, longest: int = LONGEST_LINE) -> str | None:
    """Return why ``command`` must not reach the story's parser, as a message to the player; ``None`` if it may.

    letters: significant letters of a word in the story's dictionary
    longest: size of the story's text buffer in bytes
    """
    line = normalised(command)
    foreign = next((letter for letter in line if not letter.isascii()), "")
    faults = {
        "An empty command does nothing.": not line,
        "One command at a time: no line breaks.": "\n" in line or "\r" in line,
        f"The story reads plain English letters only, not {foreign!r}.": bool(foreign),
        "The command holds control characters.": not line.isprintable(),
        "The story cannot read a backslash.": "\\" in line,
        "That looks like a path, and the story can do nothing with files.": line.startswith(("/", ".."))
        or "/.." in line,
        f"The command is too long: {len(line)} letters, and the story has room for {longest}.": len(line) > longest,
    }
    fault = next((reason for reason, holds in faults.items() if holds), None)
    return fault or _leaves_the_story(line.lower(), letters)


def keypress(command: str) -> bytes:
    """Return the single key to send for ``command`` if the story waits for a key: the named one, or the first letter.

    Without either that is Enter. Codes of the Z-Machine Standard 1.1 §3.8.
    """
    named = KEYS.get(" ".join(_KEY_WORDS.sub(" ", command.lower()).split()))
    if named is not None:
        return named
    line = normalised(command) or (" " if command.startswith(" ") else "")
    key = line[:1].encode("ascii", "ignore")
    return key if b" " <= key <= b"~" and key != b"\\" else b""


def _leaves_the_story(line: str, letters: int) -> str | None:
    recording = _RECORDING if letters >= len(_LIKE_A_VERB) else _RECORDING - {_LIKE_A_VERB}
    for words in _clauses(line):
        if words and words[0].startswith("#"):
            return "Commands that start with # are for testing the story, not for playing it."
        if len(words) != 1:
            continue
        if words[0] in SAVING:
            return leaving(words[0])
        if words[0] in recording:
            return f"{words[0]!r} is not for the player: every session is recorded already."
    return None


def _clauses(line: str) -> list[list[str]]:
    return [[word for word in clause.split() if word not in _FILLERS] for clause in _SEPARATORS.split(line)]


def ends_session(command: str) -> bool:
    """Return whether a verb that would end or restart the session is a clause of the command."""
    return any(len(words) == 1 and words[0] in SAVING for words in _clauses(normalised(command).lower()))


def leaving(command: str) -> str:
    """Return the refusal of ``command``, which would end or restart the session."""
    return f"{command!r} is not available: saving, quitting and restarting happen outside the story."
