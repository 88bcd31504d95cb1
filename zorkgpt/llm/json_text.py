"""JSON objects in the midst of other text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_DECODER = json.JSONDecoder()


def object_end(text: str, start: int) -> int | None:
    """The position after the JSON value that begins at ``start``; ``None`` where there is none."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (json.JSONDecodeError, RecursionError):
        return None


def json_objects(text: str) -> Iterator[str]:
    """The outermost whole JSON objects of ``text``, each as it is written, in their order."""
    start = text.find("{")
    while start >= 0:
        end = object_end(text, start)
        if end is not None:
            yield text[start:end]
        start = text.find("{", end or start + 1)


def breaks_off(text: str) -> bool:
    """``text`` ends in the middle of its first JSON object."""
    start = text.find("{")
    if start < 0:
        return False
    try:
        _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip())
    except RecursionError:
        return False
    return False
