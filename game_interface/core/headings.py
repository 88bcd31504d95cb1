"""Finds the headings that stories print above the description of a room, for rooms whose objects have no name."""

from __future__ import annotations

import re

_HEADING = re.compile(r"(?:\A|\n\n)([A-Z0-9\"'][^\n.!?:;]{0,58}[^\n.!?:;, ])(?=\n|\Z)")
_POSTURE = re.compile(r" \([^)]*\)\Z")
"""What some stories add to a heading: on what or in what the player is."""


def headings_in(text: str) -> list[str]:
    """Return the lines of ``text`` that are set off as headings, without what is in brackets behind them."""
    return [_POSTURE.sub("", line) for line in _HEADING.findall(text) if "  " not in line]


def heading_of(text: str, looked: str) -> str | None:
    """Return the heading of the room that ``text`` describes: one that also heads the answer to ``look``."""
    headings = headings_in(looked)
    return headings[0] if headings and looked.startswith(headings[0]) and headings[0] in headings_in(text) else None
