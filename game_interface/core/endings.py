"""How a story ends, judged from what it did and, where that is not enough, from what it printed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from session.values import Ending

_BANNER = re.compile(r"\*\*\*+\s*(.{1,80}?)\s*\*\*\*+")
_DEATH = re.compile(r"\byou(?:'ve| have| are|'re)?\s+(?:just\s+)?(?:died?|dead|killed|been killed)\b", re.IGNORECASE)
_VICTORY = re.compile(r"\b(?:won|win|victor\w*|triumph\w*|congratulations)\b", re.IGNORECASE)
_LAST_QUESTION = re.compile(r"\bRESTART\b.{0,200}\b(?:RESTORE|QUIT)\b[^.]{0,200}$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class StoryEnding:
    """What became of the player in one step."""

    died: bool
    ending: Ending | None


_PLAYS_ON = StoryEnding(died=False, ending=None)


def judge_ending(text: str, *, stopped: bool, victory: bool, defeat: bool) -> StoryEnding:
    """The outcome of the step that printed ``text``.

    stopped: the machine runs no more, or the story started anew
    victory, defeat: what Jericho's profile says of the text; a defeat may be a death that the player survives
    """
    if not (stopped or victory or defeat or "***" in text or "RESTART" in text):
        return _PLAYS_ON
    banner = " ".join(_BANNER.findall(text))
    died = (defeat and not victory) or bool(_DEATH.search(banner))
    if victory:
        return StoryEnding(died=False, ending="won")
    if not stopped and not _LAST_QUESTION.search(text[-400:]):
        return StoryEnding(died=died, ending=None)
    if died or defeat:
        return StoryEnding(died=died, ending="lost")
    return StoryEnding(died=False, ending="won" if _VICTORY.search(banner) else "over")
