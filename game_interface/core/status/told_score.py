"""Reads the figures in a story's own answer to ``score``."""

from __future__ import annotations

import re
from typing import NamedTuple

_OUT_OF = re.compile(
    r"(-?\d+)(?: points?)?,?\s*(?:/|\(?(?:out )?of\b|\(total of)\s*(?:(?:a|the|an?)\s+)?"
    r"(?:(?:possible|maximum|total|grand|of)\s+)*(\d+)",
    re.IGNORECASE,
)
_SCORED = re.compile(
    r"\bscored?\b(?: (?:is|of|was|would be|so far|you|have|stands|at|now|a|total|currently|only))*:?"
    r"\s*(-?\d+)\b(?!:)",
    re.IGNORECASE,
)
_POINTS = re.compile(r"(-?\d+) points?\b", re.IGNORECASE)
_KEEPS_NONE = re.compile(
    r"\b(?:no|without(?: a)?) (?:scor|point)|\b(?:not|n['\u2019]t) (?:\w+ )*(?:scor|point)", re.IGNORECASE
)


class ToldScore(NamedTuple):
    """The score that a story told, and the most points that there are; ``None`` for what it did not tell."""

    score: int | None = None
    maximum: int | None = None


def told_score(answer: str) -> ToldScore:
    """Return the figures that ``answer`` names: no maximum but 0 where the story says that it keeps no score."""
    if not re.search("scor|point", answer, re.IGNORECASE):
        return ToldScore()
    out_of = _OUT_OF.search(answer)
    if out_of and int(out_of[2]):
        return ToldScore(int(out_of[1]), int(out_of[2]))
    if out_of or _KEEPS_NONE.search(answer):
        return ToldScore(maximum=0)
    alone = _SCORED.search(answer) or _POINTS.search(answer)
    return ToldScore(int(alone[1])) if alone else ToldScore()
