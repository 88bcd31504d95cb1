"""Small helpers for text that a model or a person reads."""

from __future__ import annotations

CUT_MARK = " […]"


def one_line(text: str) -> str:
    """Return the text on one line: each run of white space becomes one space, and none is left around it."""
    return " ".join(text.split())


def text_key(text: str) -> str:
    """Return a key that is equal for two texts with the same words, whatever their case and white space."""
    return one_line(text).casefold()


def counted(number: int, noun: str) -> str:
    """Return the number with its noun, which gets an "s" unless the number is 1: "1 turn", "2 turns"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def cut_at(text: str, characters: int, mark: str = CUT_MARK) -> str:
    """Return a text of at most so many characters, or its beginning, which ends in ``mark``.

    Where there is no room for more, the mark alone is left.
    """
    if len(text) <= characters:
        return text
    return text[: max(0, characters - len(mark))].rstrip() + mark
