"""Judges how a story ends: from what it did, from its last banner, and from what Jericho knows of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from session.values import Ending

_BANNER = re.compile(r"\*\*\*+\s*(.{1,80}?)\s*\*\*\*+")
_DEATH = re.compile(r"\byou(?:'ve| have| are|'re)?\s+(?:just\s+)?(?:died?|dead|killed|been killed)\b", re.IGNORECASE)
_VICTORY = re.compile(r"\b(?:won|win|victor\w*|triumph\w*|congratulations)\b", re.IGNORECASE)
_DENIAL = re.compile(r"\b(?:not|never|nobody|almost|nearly|fail\w*|los[et])\b|n['\u2019]t\b", re.IGNORECASE)
_LAST_QUESTION = re.compile(r"\bRESTART\b.{0,200}\b(?:RESTORE|QUIT)\b[^.]{0,200}$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class StoryEnding:
    """Whether the player died in one step, and how the story ended in it, if it did."""

    died: bool
    ending: Ending | None


_PLAYS_ON = StoryEnding(died=False, ending=None)


def judge_ending(text: str, *, stopped: bool, victory: bool, defeat: bool) -> StoryEnding:
    """Judge the step that printed ``text``.

    stopped: the machine runs no more, or the story started anew
    victory, defeat: what Jericho's profile says of the text. A defeat may be a death that the player survives, and
        counts for nothing where the story's own banner says that the player has won.
    """
    if not (stopped or victory or defeat or "***" in text or "RESTART" in text):
        return _PLAYS_ON
    if victory:
        return StoryEnding(died=False, ending="won")
    banner = " ".join(_BANNER.findall(text))
    killed = bool(_DEATH.search(banner))
    won = bool(_VICTORY.search(banner)) and not killed and not _DENIAL.search(banner)
    died = killed or (defeat and not won)
    if not stopped and not _LAST_QUESTION.search(text[-400:]):
        return StoryEnding(died=died, ending=None)
    if died:
        return StoryEnding(died=True, ending="lost")
    return StoryEnding(died=False, ending="won" if won else "over")
