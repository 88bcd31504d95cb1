"""What the page of a report is given, as values: docs/report.md says what each of them is for.

``None`` always means that a run did not record it, or that nobody knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from session.events import EpisodeEnd
from session.values import Ending, Reading, Seed
from zorkgpt.mapping.map_layout import Shown
from zorkgpt.report.figures import RoleUsage
from zorkgpt.report.learnt import Item, ItemChange
from zorkgpt.report.line_table import Ranges
from zorkgpt.report.repetition import RunMoment

PAGE_FORMAT = 1
MilestoneKind = Literal["score", "room", "thing"]
MarkKind = Literal["death", "won", "lost", "room", "score", "memory", "knowledge", "route", "objective"]


@dataclass(frozen=True, slots=True)
class Note:
    """What cannot be shown, and why, in a sentence; ``moment``: from where on."""

    text: str
    moment: RunMoment | None = None


@dataclass(frozen=True, slots=True)
class PageCall:
    """A model call.

    system, user: the prompt as it was rebuilt, in the run's lines
    agrees: whether the checksum of the rebuilt prompt is the recorded one
    answer: as it was understood
    error: why there was no answer
    """

    role: str
    model: str
    system: Ranges | None
    user: Ranges | None
    agrees: bool | None
    sha256: str
    answer: dict[str, Any] | None
    thoughts: str
    error: str | None
    seconds: float
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    requests: int | None
    dollars: float | None


@dataclass(frozen=True, slots=True)
class Tokens:
    """Of several calls together."""

    prompt: int
    cached: int
    completion: int


@dataclass(frozen=True, slots=True)
class PageAttempt:
    """A command that the agent proposed, and what was said to it; the last one of a turn was played."""

    command: str
    reasoning: str
    accepted: bool
    reason: str
    source: str
    confidence: float | None
    follow: int | None
    go_to: int | None


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened besides: the kind of its event, and a line about it."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class PageTurn:
    """A turn; number 0 is the opening, without a command.

    unplayed: models were asked, but no command was played any more
    from_id, place: ids of the locations before and after it
    inventory, visible: names, after it
    read: the keys of the items that the agent was shown
    """

    turn: int
    text: str
    refusal: str | None
    place: int | None
    place_name: str
    score: int | None
    moves: int | None
    inventory: tuple[str, ...] | None
    visible: tuple[str, ...] | None
    died: bool
    ending: Ending | None
    tokens: Tokens
    dollars: float | None
    calls: tuple[PageCall, ...]
    read: tuple[str, ...]
    changes: tuple[ItemChange, ...]
    events: tuple[Happening, ...]
    command: str | None = None
    unplayed: bool = False
    by_route: bool = False
    reasoning: str = ""
    attempts: tuple[PageAttempt, ...] = ()
    from_id: int | None = None
    score_change: int | None = None
    reading: Reading | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PageEpisode:
    """An episode with its turns, the opening first."""

    episode: int
    seed: Seed
    end: EpisodeEnd | Literal["unfinished"]
    score: int | None
    best_score: int | None
    max_score: int | None
    rooms: int
    seconds: float
    turns: tuple[PageTurn, ...]


@dataclass(frozen=True, slots=True)
class PageRoom:
    """A room of the map: its cell, when it was first seen in the run, and the exits that lead nowhere known."""

    id: int
    name: str
    x: int
    y: int
    first: RunMoment | None
    untried: tuple[str, ...]
    refused: dict[str, str]


@dataclass(frozen=True, slots=True)
class PageWay:
    """All ways between two rooms; ``first``: when one was first walked in the run; ``shown``: how it is drawn."""

    from_id: int
    to_id: int
    there: tuple[str, ...]
    back: tuple[str, ...]
    shown: Shown
    first: RunMoment | None


@dataclass(frozen=True, slots=True)
class PageMap:
    """The map as it was at the end of the run."""

    rooms: tuple[PageRoom, ...]
    ways: tuple[PageWay, ...]


@dataclass(frozen=True, slots=True)
class PageMilestone:
    """Something that runs of one story may have in common; ``turns``: when each episode first had it."""

    key: str
    kind: MilestoneKind
    label: str
    turns: dict[int, int]


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment that stands out."""

    moment: RunMoment
    kind: MarkKind
    label: str


@dataclass(frozen=True, slots=True)
class PageRun:
    """A run. ``lines``: those that prompts are made of; ``learnt_known``: the turns say what was learnt from them."""

    id: str
    story: str
    story_sha256: str
    model: str
    assistance: tuple[str, ...]
    versions: dict[str, str]
    created: str
    command: str
    forked_from: str
    state: str
    reason: str
    planned: int
    configuration: dict[str, Any]
    notes: tuple[Note, ...]
    prompts: Literal["rebuilt", "partly", "none"]
    usage: tuple[RoleUsage, ...]
    metrics: dict[str, int | float | None]
    lines: tuple[str, ...]
    start: tuple[Item, ...]
    learnt_known: bool
    end: tuple[Item, ...]
    map: PageMap | None
    milestones: tuple[PageMilestone, ...]
    marks: tuple[Mark, ...]
    episodes: tuple[PageEpisode, ...]


@dataclass(frozen=True, slots=True)
class PageData:
    """All that a page is given; ``follow``: a run is still being played."""

    program: str
    runs: tuple[PageRun, ...] = ()
    follow: bool = False
    kind: Literal["runs", "ablation"] = "runs"
    ablation: None = None
    format: int = PAGE_FORMAT
