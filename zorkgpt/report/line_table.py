"""Keeps texts that repeat each other: every line once, and a text as ranges of these lines."""

from __future__ import annotations

Ranges = tuple[int, ...]
"""A text: the number of a line and how many lines follow from it, again and again; () for "". """


class LineTable:
    """Distinct lines, in the order in which they first came. Prompts of a run share most of theirs."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def lines(self) -> tuple[str, ...]:
        """Every line that is kept."""
        return tuple(self._numbers)

    def keep(self, text: str) -> Ranges:
        """Keep the lines of the text and return where they are: joined by line feeds they are the text again."""
        if not text:
            return ()
        ranges: list[int] = []
        following = -1
        for line in text.split("\n"):
            number = self._numbers.setdefault(line, len(self._numbers))
            if number == following:
                ranges[-1] += 1
            else:
                ranges += (number, 1)
            following = number + 1
        return tuple(ranges)
