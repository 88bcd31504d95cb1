"""Text from stories and models made safe to show in a terminal."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""``text`` with control characters shown instead of obeyed: ESC becomes ``\x1b``, line ends stay."""
    return _UNPRINTABLE.sub(_shown, text.replace("\r\n", "\n").replace("\t", "    "))


def _shown(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
