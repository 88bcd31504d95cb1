"""What a story prints: its text without padding, its headings and questions, and how it announces its end."""

from __future__ import annotations

import re
from dataclasses import dataclass

from session.values import Ending

_STATUS = re.compile(r"(?:\A>? ?|^ )[^\n]* {3,}(?:Score|Moves|Time): [^\n]*\n", re.MULTILINE)
_LAST_VERSION_WITH_STATUS_LINE = 3


def plain_text(printed: str, version: int) -> str:
    """Return the text of a story of ``version`` without its status line and prompt.

    - Up to version 3 the interpreter draws the status line as it was before the command, as the first line here, and
      again for each turn of a command that takes several.
    - From version 4 on stories draw it themselves, and ``Containment`` removes it.
    - Some stories print the prompt again before their answer.
    """
    if version <= _LAST_VERSION_WITH_STATUS_LINE and "    " in printed:
        printed = _STATUS.sub("", printed)
    text = printed.strip().removesuffix(">").rstrip()
    return text.removeprefix(">").lstrip() if text.startswith(">\n") else text


_CAPITAL = r"A-Z\u00c0-\u00d6\u00d8-\u00de\u0152\u0410-\u042f"
_HEADING = re.compile(rf"(?:\A|\n\n)([{_CAPITAL}0-9\"'\u2018\u201c\u00ab][^\n.!?:;]{{0,58}}[^\n.!?:;, ])(?=\n|\Z)")
_POSTURE = re.compile(r" \([^)]*\)\Z")
"""The addition of some stories to a heading: the object on or in which the player is."""


def headings_in(text: str) -> list[str]:
    """Return the lines of ``text`` that are headings, without a trailing addition in brackets."""
    return [_POSTURE.sub("", line) for line in _HEADING.findall(text) if "  " not in line]


def heading_of(text: str, looked: str) -> str | None:
    """Return the heading of the room in ``text``: one that also starts ``looked``, the answer to ``look``."""
    headings = headings_in(looked)
    return headings[0] if headings and looked.startswith(headings[0]) and headings[0] in headings_in(text) else None


_MARKS = r"(?:\*{3,}|[*+=~#_-]{2,}|[*+=~#_-](?: [*+=~#_-])+)"
_BANNER = re.compile(
    rf"\*\*\*+\s*(.{{1,80}}?)\s*\*\*\*+|^[ \t]*{_MARKS}[ \t]*(\w.{{0,80}}?)[ \t]*{_MARKS}[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
"""Three or more stars anywhere, or any marks around a line."""
_DEATH = re.compile(
    r"\byou(?:(?:'ve| have)?\s+(?:just\s+)?(?:died?|been killed|killed yourself)"
    r"|(?: are|'re)\s+(?:just\s+)?(?:dead|killed))\b",
    re.IGNORECASE,
)
_PLAYER = (
    r"\b(?:you|we|i)(?:(?:['\u2019](?:ve|re|m|d)|\s+(?:have|had|are|am|were|was))\b)?"
    r"\s+(?:(?:just|now|all|also|\w+ly)\s+)*"
)
"""A banner's subject and its auxiliary verb, without a denial: the player, not an enemy or a friend."""
_GOOD_FORTUNE = (
    r"(?:rescu|sav|promot|crown|reward|forgiv|freed|releas|knight|victor|honou?r|marr|redeem|acquit|accept|elect"
    r"|vindicat|exonerat|reunit|restor|heal|cured|chosen|hired|enlighten|absolv|admitt|award|invit|bless|grant|pardon"
    r"|reinstat|successful|brave|good|great)"
)
_DYING = re.compile(
    _PLAYER + r"(?:die[ds]?|dead|perish\w*|expired?|drown\w*|suffocate\w*|starved?|no more|ceased to (?:be|exist)"
    r"|(?:\w+\s+)?to (?:(?:your|my|our) )?death"
    r"|(?:been|gotten|got)\s+(?:\w+ly\s+)?(?:killed|slain|murdered|executed))\b"
    r"|\A\s*(?:dead|killed)\W*\Z|\b(?:r\.?i\.?p\.?|rest in peace)(?!\w)",
    re.IGNORECASE,
)
"""How the banner at an end calls it a death."""
_LOSS = re.compile(
    _PLAYER + r"(?:succumb\w*|doomed|ruined|mad"
    r"|defeated(?!\s+\w)|fail(?:ed|ure)?|missed|lose|lost(?=\s*(?:[^\w\s]|$)|\s+(?:the|to|it|everything)\b"
    r"|\s+your (?:life|mind|soul|head|way|job|sanity)\b)|(?:gone|went|going|driven)\s+(?:\w+ly\s+)?(?:mad|insane|crazy)"
    r"|(?:run|ran) out of|\w+\s+to (?:(?:your|my|our) )?doom"
    rf"|(?:been|gotten|got)\s+(?!(?:\w+\s+)?{_GOOD_FORTUNE}\w*)\w+(?:ed|en|t|ung|unk|own|ost|ain))\b"
    r"|\b(?:mission|quest|task|attempt)\b(?:\s+(?:has|is|was))?(?:\s+a)?\s+fail(?:ed|ure)\b"
    r"|\A\s*(?:failure|defeat(?:ed)?|doomed)\W*\Z|\btime(?:'s| is| has run) (?:up|out)\b",
    re.IGNORECASE,
)
"""What the banner at an end says of a player who failed, or had something done to them."""
_VICTORY = re.compile(
    _PLAYER + r"(?:won|win)\b|\A\W*(?:won|win(?:ner)?)\b"
    r"|\b(?:victor(?:y|ious)|triumph\w*|congratulations|mission accomplished)\b",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"\b(?:not|never|nobody|almost|nearly|fail\w*|los[et])\b|n['\u2019]t\b", re.IGNORECASE)
_LAST_QUESTION = re.compile(r"\bRESTART\b.{0,200}\b(?:RESTORE|QUIT)\b[^.]{0,200}$", re.DOTALL)
_END = re.compile(
    r"\b(?:restart|restore|quit|(?:play|start) again|try again\b[^.!\n]*\?|start over|(?:another|new) (?:game|try)"
    r"|the end|end of (?:the )?(?:session|game|story)|game over"
    r"|you(?:'ve| have| are|'re)? (?:(?!will|would|shall|should|can|could|may|might|must|never|not)\w+ )?"
    r"(?:dead|die|died|killed))(?!\w)",
    re.IGNORECASE,
)
_NEW_GAME = re.compile(
    r"\b(?:restart|undo|(?:play|start) again|again\b[^.!]*\?|start over|(?:another|new) (?:game|try)"
    r"|restore\b.*\bquit|quit\b.*\brestore)(?!\w)",
    re.IGNORECASE,
)
"""Excludes a bare "quit" (every menu has it) and a bare "try again" (also a hint to the player)."""
_QUESTION = re.compile(r"\?|\b(?:yes or no|y/n|please (?:answer|choose|enter|press|type))\b", re.IGNORECASE)
_TO_LEAVE = re.compile(
    r"\b(?:quit|restart|stop playing|give up"
    r"|(?:leave|end|abandon) (?:the|this|your) (?:game|session|story))\b[^.?!]*\?",
    re.IGNORECASE,
)
_TAIL = 800
"""Characters at the end of a text in which a story announces its end."""


def judge_ending(
    text: str, *, stopped: bool, victory: bool, defeat: bool, locked_in: bool = False, all_points: bool = False
) -> tuple[bool, Ending | None]:
    """Return whether the player died in the step that printed ``text``, and how the story ended in it, if it did.

    At an end it is a death only if the story calls it one.

    stopped: the machine has stopped, or the story restarted
    victory, defeat: whether Jericho's profile recognises the text as such. A defeat may be a death that the player
        survives. The story's banner takes precedence: a victory in it excludes a death, and a death excludes a
        victory unless the player has all points
    locked_in: the story no longer accepts commands
    all_points: the player has the maximum score
    """
    banner = "\n".join(_banners(text))
    killed = bool(_DEATH.search(banner))
    won = bool(_VICTORY.search(banner)) and not killed and not _DENIAL.search(banner)
    if victory and (all_points or not killed):
        return False, "won"
    lost = defeat and not won
    if not (stopped or locked_in or asks_what_next(text)):
        return killed or lost, None
    died = killed or (not won and bool(_DYING.search(banner) or _DEATH.search(text[-_TAIL:])))
    if died or lost or (not won and _LOSS.search(banner)):
        return died, "lost"
    return False, "won" if won or all_points else "over"


def asks_what_next(text: str) -> bool:
    """Return whether ``text`` ends with the usual question after an end."""
    return bool(_LAST_QUESTION.search(text[-400:]))


def names_the_outcome(text: str) -> bool:
    """Return whether a banner in ``text`` says that the player has won or lost."""
    return any(form.search(banner) for banner in _banners(text) for form in (_VICTORY, _DEATH, _DYING, _LOSS))


def _banners(text: str) -> list[str]:
    return [starred or marked for starred, marked in _BANNER.findall(text)]


def sounds_like_an_end(text: str) -> bool:
    """Return whether ``text`` contains words that are common at a story's end. They also occur elsewhere."""
    return "***" in text or bool(_END.search(text[-_TAIL:]))


def offers_a_new_game(text: str) -> bool:
    """Return whether the last line of ``text`` offers a new game or a return to an earlier state."""
    return bool(_NEW_GAME.search(last_line(text)))


def asks_to_leave(text: str) -> bool:
    """Return whether ``text`` ends by requesting confirmation to end or restart the session."""
    return bool(_TO_LEAVE.search(text[-_TAIL:]))


def last_line(text: str) -> str:
    """Return the last line of ``text`` that is not blank."""
    return text.rstrip().rpartition("\n")[2].strip()


_INSISTING = re.compile("please (?:answer|give)", re.IGNORECASE)
"""How stories repeat the previous question."""


@dataclass(frozen=True, slots=True)
class StoryQuestion:
    """The question at the end of the story's latest text, and the number of consecutive texts that ended with it.

    text: empty if the text did not end with a question
    """

    text: str = ""
    times: int = 0

    def after(self, text: str) -> StoryQuestion:
        """Return the question after the story has printed ``text``."""
        line = last_line(text)
        if not _QUESTION.search(line):
            return StoryQuestion()
        if self.text and _INSISTING.match(line):
            return StoryQuestion(self.text, self.times + 1)
        return StoryQuestion(line, self.times + 1 if line == self.text else 1)
