"""JSON objects in the midst of other text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_DECODER = json.JSONDecoder()
_TORN = re.compile(r"(t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|[eE][+-]?|u[0-9a-fA-F]{0,4})?")
"""What the decoder has left of a literal, a number or an escape that breaks off; nothing between two of them."""


class _Span(NamedTuple):
    """Where an outermost object is; ``end`` is ``None`` where the text ends within it."""

    start: int
    end: int | None


def object_end(text: str, start: int) -> int | None:
    """The position after the JSON value that begins at ``start``; ``None`` where there is none."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (json.JSONDecodeError, RecursionError):
        return None


def json_objects(text: str) -> Iterator[str]:
    """The outermost whole JSON objects of ``text``, each as it is written, in their order.

    What is within an object that the text breaks off is a part of that object, and none of its own.
    """
    return (text[span.start : span.end] for span in _spans(text) if span.end is not None)


def breaks_off(text: str) -> bool:
    """``text`` ends in the middle of a JSON object."""
    return any(span.end is None for span in _spans(text))


def _spans(text: str) -> Iterator[_Span]:
    start = text.find("{")
    while start >= 0:
        end = object_end(text, start)
        if end is not None:
            yield _Span(start, end)
        elif _is_cut(text, start):
            yield _Span(start, None)
            return
        start = text.find("{", end or start + 1)


def _is_cut(text: str, start: int) -> bool:
    try:
        _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return error.msg.startswith("Unterminated string") or bool(_TORN.fullmatch(text[error.pos :].rstrip()))
    except RecursionError:
        return False
    return False
