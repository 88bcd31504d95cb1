"""The values of the map: rooms, their exits, and what is known of these.

A confidence is a number from 0.01 to 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter, not_
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, PlainSerializer

from session.values import Ending, Location

_BACK = {
    "north": "south",
    "east": "west",
    "northeast": "southwest",
    "northwest": "southeast",
    "up": "down",
    "in": "out",
    "fore": "aft",
    "port": "starboard",
}
OPPOSITES = _BACK | {back: exit_ for exit_, back in _BACK.items()}
"""The direction that leads back, as a rule, by each direction as the map spells it."""

COMPASS = frozenset(word for word in OPPOSITES if "north" in word or "south" in word) | {"east", "west"}
OTHER_WORDS = {
    "in": {"enter", "board", "into", "inside"},
    "out": {"exit", "leave", "outside"},
    "down": {"descend", "downstairs", "down"},
    "up": {"climb", "ascend", "upstairs"},
}
"""Words of other commands that lead the same way; the first direction with a word of a command is meant."""

INITIAL_CONFIDENCE = 0.8
LEADS_BACK = "leads back here"
"""What the map says, in the place of the story's answer, of an exit that led to the room itself."""
SURE = 0.5
"""An edge of less confidence is shown as unsure: a command that is no direction, walked once, or one that failed."""
LEAST_CONFIDENCE = 0.01

WalkOutcome = Literal["new", "verified", "contradicted"]
FailureOutcome = Literal["counted", "pruned", "contradicted"]


class Edge(NamedTuple):
    """An exit of a room; the file calls it ``15_north``."""

    location_id: NonNegativeInt
    exit: str

    @classmethod
    def from_key(cls, key: str | Edge) -> Edge:
        """Return the edge that the file calls ``key``. Raises ``ValueError``."""
        if isinstance(key, Edge):
            return key
        location_id, _, exit_ = key.partition("_")
        return cls(int(location_id), exit_)

    @property
    def key(self) -> str:
        """The edge's name in the file."""
        return f"{self.location_id}_{self.exit}"


EdgeKey = Annotated[Edge, BeforeValidator(Edge.from_key), PlainSerializer(attrgetter("key"), return_type=str)]
Visits = Annotated[NonNegativeInt, Field(exclude_if=not_)]
ByRoom = dict[NonNegativeInt, Annotated[set[str], PlainSerializer(sorted, return_type=list[str])]]
SEVERAL = BeforeValidator(lambda value: tuple(filter(None, (value,))) if isinstance(value, str) else value)
Answers = Annotated[
    tuple[str, ...],
    SEVERAL,
    PlainSerializer(lambda answers: list(answers) if len(answers) > 1 else "".join(answers)),
]
"""Different answers, each once, in the order of time; a single one is a text in the file."""
MOST_ANSWERS = 8
"""Of an exit: the first ones and the latest, for some stories count or choose their words by chance."""
ByEdge = Annotated[dict[EdgeKey, Answers], Field(exclude_if=not_)]


class Carry(NamedTuple):
    """The room to which the story moved the player during a command that is not an exit, when this was last seen.

    stayed: turns that the player had been in the room before it
    is_answer: it answered a question of the story, and the command that the story asked about comes before it
    """

    to_id: NonNegativeInt
    episode: NonNegativeInt
    turn: NonNegativeInt
    stayed: NonNegativeInt = 0
    is_answer: bool = False


@dataclass(frozen=True, slots=True)
class FatalExit:
    """How taking an exit killed the player or ended the story; ``episode`` and ``turn`` are those of the first time.

    words: the first line of the story's text
    ending: ``None`` if the player died; else the scores are those at the end
    room: the room in which the story ended
    """

    episode: NonNegativeInt = field(compare=False)
    turn: NonNegativeInt = field(compare=False)
    words: str
    ending: Ending | None = None
    score: int | None = None
    max_score: int | None = None
    room: NonNegativeInt | None = None
    is_dark: bool = False


class Room(BaseModel):
    """A location of the map, identified by its Z-machine object number; names may be empty or shared.

    exits: exits that were walked or that the story names, without pruned ones
    visits: how often the player came here, and in how many episodes; the last of them was ``last_episode``
    is_dark: it was dark when the player last came, so that no text named its exits
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    id: NonNegativeInt
    name: str
    exits: tuple[str, ...] = ()
    visits: Visits = 0
    episodes: Visits = 0
    last_episode: Visits = 0
    is_dark: Annotated[bool, Field(exclude_if=not_)] = False

    @property
    def label(self) -> str:
        """A name to show, never empty."""
        return Location(self.id, self.name).label


def by_destination(exits: Mapping[str, int]) -> dict[int, list[str]]:
    """Return the commands that lead to each location, both in a fixed order."""
    commands: defaultdict[int, list[str]] = defaultdict(list)
    for exit_, to_id in sorted(exits.items()):
        commands[to_id].append(exit_)
    return dict(sorted(commands.items()))


def in_order(answers: Iterable[str]) -> str:
    """Return different answers to an exit as one text, the first one first; "" for none."""
    return " Later: ".join(answers)


def plain_line(text: str) -> str:
    """Return the text with white space and unprintable characters as single spaces: a name cannot start a new line."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())
