"""The values that a turn is made of: what was seen, what was proposed and judged, what was played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Ending = Literal["won", "lost", "over", "crashed"]
"""``over``: the story ended and does not tell how. ``crashed``: the interpreter stopped at a fault of the story's."""

Seed = int | Literal["jericho"]
"""What a story's chance is drawn from: 1 or more. ``jericho``: what Jericho's walkthrough was played with."""

Role = Literal["agent", "critic", "info_ext", "analysis", "memory"]
ROLES: tuple[Role, ...] = ("agent", "critic", "info_ext", "analysis", "memory")


@dataclass(frozen=True, slots=True)
class Location:
    """A room of the story.

    num: the Z-machine's object number, the only thing that tells rooms apart
    name: the room's short name in full; it may be empty, and several rooms may share one
    """

    num: int
    name: str

    @property
    def label(self) -> str:
        """The room's name, or ``Location #ID`` where it has none (docs/specification.md, Rooms without a name)."""
        return self.name or f"Location #{self.num}"


@dataclass(frozen=True, slots=True)
class GameObject:
    """An object of the story at one moment.

    num, parent: Z-machine object numbers: its own, and of what it is in (0: nowhere)
    attributes: the numbers of the attributes that are set
    """

    num: int
    name: str
    parent: int = 0
    attributes: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that one step of the game shows.

    ``None`` means that the story does not tell; it never stands for zero or empty.

    text: what the story printed in answer, without a status line
    location: the room the player is in (for a vehicle: the room around it)
    inventory: what the player carries, one level deep, in the machine's order
    visible: what can be seen here besides the inventory, open containers and surfaces looked into
    score, max_score: points
    moves: the story's own count of turns
    world_hash: 8 hex digits, equal when all objects, their attributes and their properties are equal
    died: the player died in this very step; some stories go on after that
    ending: how the story ended; it stays set until a restart or a restore
    refusal: why the command was not given to the story; nothing else changed then, and no turn of the story passed
    parents: for each object number the object that it is in; empty where there is no object tree
    awaits_key: the story waits for a single key, not for a command
    attributes_hash: 8 hex digits, equal when all objects have the same attributes, wherever they are; "" in
        observations that an earlier version recorded, which are equal to ours all the same
    """

    text: str
    location: Location | None = None
    inventory: tuple[GameObject, ...] | None = None
    visible: tuple[GameObject, ...] | None = None
    score: int | None = None
    max_score: int | None = None
    moves: int | None = None
    world_hash: str = ""
    died: bool = False
    ending: Ending | None = None
    refusal: str | None = None
    parents: tuple[int, ...] = field(default=(), repr=False)
    awaits_key: bool = False
    attributes_hash: str = field(default="", compare=False)

    @property
    def won(self) -> bool:
        """Whether the story ended in victory."""
        return self.ending == "won"

    @property
    def lost(self) -> bool:
        """Whether the story ended in defeat."""
        return self.ending == "lost"

    @property
    def noticed(self) -> tuple[object, ...] | None:
        """A value that is equal for two moments which the player cannot tell apart; ``None`` where too little is known.

        It is made of place, score, belongings, and the visible objects with their attributes, in any order. The hash of
        the object tree would not do, for in many stories something out of sight moves in every turn; it is used only
        where belongings or visible objects are not known.
        """
        standing = (self.location.num if self.location else None, self.score)
        if self.inventory is not None and self.visible is not None:
            return (*standing, frozenset(self.inventory), frozenset(self.visible))
        return (*standing, self.world_hash) if self.world_hash else None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model read out of the text of an observation (docs/specification.md, Reading the text).

    exits: the ways out that the text names, in the model's words
    """

    is_room_description: bool = False
    exits: tuple[str, ...] = ()
    in_combat: bool = False


@dataclass(frozen=True, slots=True)
class ObjectiveNote:
    """What the agent says of its objectives besides its command.

    done: the number of an objective that the text before the command shows to be achieved
    new: an objective that it sets itself; "" for none
    """

    done: int | None = None
    new: str = ""


@dataclass(frozen=True, slots=True)
class AgentNote:
    """A line that the agent keeps in view for the rest of the episode.

    number: of the note that it replaces; ``None`` for one more
    text: "" drops the note of that number
    """

    text: str = ""
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A command that the agent wants to play, why, and what the agent read out of the text before it.

    objective: what the agent says of its objectives, where it says anything
    follow, go_to: the number of a route to play instead, or the id of a location to walk to; ``action`` is the first
        command of these once they are being played
    until: the number of the route's last command to play, from 1 and counted from here; ``None``: all of them
    note: what the agent wants to keep in view
    """

    action: str
    reasoning: str = ""
    reading: Reading | None = None
    objective: ObjectiveNote | None = None
    follow: int | None = None
    go_to: int | None = None
    until: int | None = None
    note: AgentNote | None = None

    @property
    def wants_way(self) -> bool:
        """Whether the agent wants to be led along a route or to a location."""
        return self.follow is not None or self.go_to is not None

    @property
    def wish(self) -> str:
        """What the agent wants to play: the route or the location to walk to, or else the command."""
        if self.follow is not None:
            return f"follow {self.follow}" if self.until is None else f"follow {self.follow} until {self.until}"
        return self.action if self.go_to is None else f"go_to {self.go_to}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the critic says about a proposal.

    source: who or what decided
    confidence: of a model, 0 to 1; ``None`` where no model decided
    """

    accepted: bool
    reason: str = ""
    source: Literal["parser", "object_tree", "map", "llm", "route", "person", "none"] = "none"
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One whole turn: what was seen, what was proposed and judged, what was played and what came of it.

    turn: its number within the episode, from 1; a rejected proposal takes no turn
    proposals, verdicts: one verdict for each proposal, in the order they were made; the last proposal was played
    """

    episode: int
    turn: int
    before: Observation
    proposals: tuple[Proposal, ...]
    verdicts: tuple[Verdict, ...]
    after: Observation

    @property
    def action(self) -> str:
        """The command that was played."""
        return self.proposals[-1].action

    @property
    def reasoning(self) -> str:
        """Why the agent wanted to play it."""
        return self.proposals[-1].reasoning

    @property
    def is_of_route(self) -> bool:
        """Whether the command was played because it stood on a route, and no model chose it."""
        return bool(self.verdicts) and self.verdicts[-1].accepted and self.verdicts[-1].source == "route"

    @property
    def reading(self) -> Reading | None:
        """What was read out of the text before the turn; ``None`` where nobody read it."""
        return self.proposals[0].reading

    @property
    def is_in_fight(self) -> bool:
        """Whether a model has read that somebody was fighting the player when the command was chosen."""
        return self.reading is not None and self.reading.in_combat

    @property
    def objective_notes(self) -> tuple[ObjectiveNote, ...]:
        """What the agent said of its objectives, once each, however often it proposed a command in this turn."""
        return tuple(dict.fromkeys(each.objective for each in self.proposals if each.objective is not None))

    @property
    def notes(self) -> tuple[AgentNote, ...]:
        """What the agent wanted to keep in view, once each."""
        return tuple(dict.fromkeys(each.note for each in self.proposals if each.note is not None))

    @property
    def score_change(self) -> int | None:
        """The points won (or lost, below 0) in this turn; ``None`` where the score is not known."""
        if self.before.score is None or self.after.score is None:
            return None
        return self.after.score - self.before.score

    @property
    def did_something(self) -> bool:
        """Whether the machine shows that something was changed: what the player notices, or how any object is.

        What is at hand need not be in sight of the object tree, such as a window between two rooms that is opened. That
        something has moved elsewhere does not count, for in many stories somebody always walks about.
        """
        before, after = self.before, self.after
        return before.noticed != after.noticed or before.attributes_hash != after.attributes_hash

    @property
    def came_to_light(self) -> tuple[GameObject, ...]:
        """What is carried or seen now and was not before; nothing where the player moved or that is not known.

        What was only picked up in the room had come to light before, though it may lie on something.
        """
        known, before = _in_reach(self.before), self.before
        if self.moved or not known:
            return ()
        picked_up = {
            thing.num
            for thing in self.after.inventory or ()
            if before.location is not None and _is_within(thing.num, before.location.num, before.parents)
        }
        return tuple(thing for number, thing in _in_reach(self.after).items() if number not in {*known, *picked_up})

    @property
    def moved(self) -> bool:
        """Whether the player is known to have come to another location."""
        before, after = self.before.location, self.after.location
        return before is not None and after is not None and before.num != after.num


def _in_reach(observation: Observation) -> dict[int, GameObject]:
    """Return what is carried or seen, by its number."""
    return {thing.num: thing for thing in (*(observation.inventory or ()), *(observation.visible or ()))}


def _is_within(number: int, holder: int, parents: tuple[int, ...]) -> bool:
    """Tell whether an object is in another, or in something that is."""
    for _ in parents:  # a broken tree may have a circle
        number = parents[number] if number < len(parents) else 0
        if number in (0, holder):
            break
    return number == holder


@dataclass(frozen=True, slots=True)
class StoryFacts:
    """What does not change about a story file.

    sha256: of the story, which in an archive is a part of the file
    known: whether Jericho has a profile of this very file
    directions: the words of the story's dictionary that move the player, as far as they are known
    attribute_names: the attribute numbers whose meaning is known, by a name for it
    """

    path: str
    name: str
    sha256: str
    version: int
    release: int
    serial: str
    known: bool
    max_score: int | None = None
    directions: tuple[str, ...] = ()
    attribute_names: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens of a model call as the server counted them; ``cached`` is the part of ``prompt`` in its cache."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
