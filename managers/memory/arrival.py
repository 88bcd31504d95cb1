"""Tells whether a core memory is about what stood at a location on arrival (docs/specification.md, Core memories)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

LEAST_SHARED = 0.25  # of the words of a title or of a text, for a model uses words of its own, too
SHORTEST_WORD = 4  # letters; shorter ones say nothing about the matter, and longer ones are compared by so many
_WORD = re.compile(rf"\w{{{SHORTEST_WORD},}}")


def names(text: str, things: Collection[str]) -> set[str]:
    """Return those of the things that the text names, by the last word of their names."""
    words = set(re.findall(r"\w+", text.casefold()))
    return {thing for thing in things if thing.split() and words & _forms(thing.split()[-1].casefold())}


def was_shown(title: str, text: str, arrival: str) -> bool:
    """Tell whether the words of a memory are those of a text of arrival, by some of its title or its text.

    It is so, too, where the memory has no words by which to tell.
    """
    shown = _stems(arrival)
    parts = [stems for stems in (_stems(title), _stems(text)) if stems]
    return not parts or any(len(stems & shown) >= LEAST_SHARED * len(stems) for stems in parts)


def _stems(text: str) -> set[str]:
    return {word[:SHORTEST_WORD] for word in _WORD.findall(text.casefold())}


def _forms(word: str) -> set[str]:
    return {word, f"{word}s", f"{word}es"}
