"""Text from stories and models made safe to show in a terminal."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    r"""``text`` with all that is not seen shown instead of obeyed: ESC becomes ``\x1b``, line ends stay.

    That is what controls the terminal, turns the direction of writing, has no width, or has no meaning that all agree
    on (private and unassigned characters, halves of surrogate pairs).
    """
    spaced = text.replace("\r\n", "\n").replace("\t", "    ")
    return spaced if spaced.isprintable() else "".join(map(_shown, spaced))


def _shown(character: str) -> str:
    if character == "\n" or character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
