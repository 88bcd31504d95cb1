"""The text that a story prints, without padding, and its headings."""

from __future__ import annotations

import re

_STATUS_ABOVE = re.compile(r"\A>? ?[^\n]* {3,}(?:Score|Moves|Time): [^\n]*\n")
_BOX_BELOW = re.compile(r"\n> {20,}(\S.*)\Z", re.DOTALL)
_LAST_VERSION_WITH_STATUS_LINE = 3


def told_text(printed: str, version: int) -> str:
    """Return the text of a story of ``version`` without its status line and prompt.

    - Up to version 3 the interpreter draws the status line as it was before the command, as the first line here.
    - From version 4 on stories draw it themselves, and ``Containment`` removes it. A quotation that they draw in a box
      above the text follows the prompt here, padded to the width of the screen.
    - Some stories print the prompt again before their answer.
    """
    if "    " in printed:
        if version <= _LAST_VERSION_WITH_STATUS_LINE:
            printed = _STATUS_ABOVE.sub("", printed)
        else:
            printed = _BOX_BELOW.sub(lambda box: "\n" + re.sub(" {3,}", "\n", box[1]), printed)
    told = printed.strip().removesuffix(">").rstrip()
    return told.removeprefix(">").lstrip() if told.startswith(">\n") else told


_HEADING = re.compile(r"(?:\A|\n\n)([A-Z0-9\"'][^\n.!?:;]{0,58}[^\n.!?:;, ])(?=\n|\Z)")
_POSTURE = re.compile(r" \([^)]*\)\Z")
"""The addition of some stories to a heading: the object on or in which the player is."""


def headings_in(text: str) -> list[str]:
    """Return the lines of ``text`` that are headings, without a trailing addition in brackets."""
    return [_POSTURE.sub("", line) for line in _HEADING.findall(text) if "  " not in line]


def heading_of(text: str, looked: str) -> str | None:
    """Return the heading of the room in ``text``: one that also starts ``looked``, the answer to ``look``."""
    headings = headings_in(looked)
    return headings[0] if headings and looked.startswith(headings[0]) and headings[0] in headings_in(text) else None
