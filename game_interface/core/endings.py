"""Judges how a story ends: from what it did, from its own words, and from what Jericho knows of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from session.values import Ending

_BANNER = re.compile(r"\*\*\*+\s*(.{1,80}?)\s*\*\*\*+", re.DOTALL)
_DEATH = re.compile(r"\byou(?:'ve| have| are|'re)?\s+(?:just\s+)?(?:died?|dead|killed|been killed)\b", re.IGNORECASE)
_VICTORY = re.compile(r"\b(?:won|win|victor\w*|triumph\w*|congratulations)\b", re.IGNORECASE)
_DENIAL = re.compile(r"\b(?:not|never|nobody|almost|nearly|fail\w*|los[et])\b|n['\u2019]t\b", re.IGNORECASE)
_LAST_QUESTION = re.compile(r"\bRESTART\b.{0,200}\b(?:RESTORE|QUIT)\b[^.]{0,200}$", re.DOTALL)
_END = re.compile(
    r"\b(?:restart|restore|quit|(?:play|start) again|try again\b[^.!\n]*\?|start over|(?:another|new) (?:game|try)"
    r"|the end|end of (?:the )?(?:session|game|story)|game over"
    r"|you(?:'ve| have| are|'re)? (?:\w+ )?(?:dead|die|died|killed))(?!\w)",
    re.IGNORECASE,
)
_NEW_GAME = re.compile(
    r"\b(?:restart|undo|(?:play|start) again|again\b[^.!]*\?|start over|(?:another|new) (?:game|try)"
    r"|restore\b.*\bquit|quit\b.*\brestore)(?!\w)",
    re.IGNORECASE,
)
"""Every menu offers to quit, and a lesson asks the player to try again: neither alone offers a new game."""
_QUESTION = re.compile(r"\?|\b(?:yes or no|y/n|please (?:answer|choose|enter|press|type))\b", re.IGNORECASE)
_TO_LEAVE = re.compile(
    r"\b(?:quit|restart|stop playing|give up"
    r"|(?:leave|end|abandon) (?:the|this|your) (?:game|session|story))\b[^.?!]*\?",
    re.IGNORECASE,
)
_TAIL = 800
"""Letters at the end of a text in which a story tells of its end."""


@dataclass(frozen=True, slots=True)
class StoryEnding:
    """Whether the player died in one step, and how the story ended in it, if it did."""

    died: bool
    ending: Ending | None


PLAYS_ON = StoryEnding(died=False, ending=None)


def judge_ending(
    text: str, *, stopped: bool, victory: bool, defeat: bool, locked_in: bool = False, all_points: bool = False
) -> StoryEnding:
    """Judge the step that printed ``text``.

    stopped: the machine runs no more, or the story started anew
    victory, defeat: what Jericho's profile says of the text. A defeat may be a death that the player survives. The
        story's own banner comes first: whoever won by it has not died, and whoever died by it has not won, unless with
        all points
    locked_in: the story takes no command any more
    all_points: the player has all the points that there are
    """
    banner = " ".join(_BANNER.findall(text))
    killed = bool(_DEATH.search(banner))
    won = bool(_VICTORY.search(banner)) and not killed and not _DENIAL.search(banner)
    if victory and (all_points or not killed):
        return StoryEnding(died=False, ending="won")
    died = killed or (defeat and not won)
    if not (stopped or locked_in or _LAST_QUESTION.search(text[-400:])):
        return StoryEnding(died=died, ending=None)
    if died or (not won and _DEATH.search(text[-_TAIL:])):
        return StoryEnding(died=True, ending="lost")
    return StoryEnding(died=False, ending="won" if won or all_points else "over")


def sounds_like_an_end(text: str) -> bool:
    """Return whether ``text`` holds words that stories end with, among others; to be made sure of."""
    return "***" in text or bool(_END.search(text[-_TAIL:]))


def offers_a_new_game(text: str) -> bool:
    """Return whether the last line of ``text`` offers to begin anew, or to go back."""
    return bool(_NEW_GAME.search(last_line(text)))


def is_question(line: str) -> bool:
    """Return whether ``line`` is a question or asks for an answer."""
    return bool(_QUESTION.search(line))


def asks_to_leave(text: str) -> bool:
    """Return whether ``text`` ends with the question whether the player wants to end or restart the session."""
    return bool(_TO_LEAVE.search(text[-_TAIL:]))


def last_line(text: str) -> str:
    """Return the last line of ``text`` that is not blank."""
    return text.rstrip().rpartition("\n")[2].strip()
