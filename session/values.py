"""The values that a turn is made of: frozen, without behaviour beyond reading themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Ending = Literal["won", "lost", "over"]
"""``over``: the story ended and does not let us know how."""

Role = Literal["agent", "critic", "info_ext", "analysis", "memory"]
ROLES: tuple[Role, ...] = ("agent", "critic", "info_ext", "analysis", "memory")


@dataclass(frozen=True, slots=True)
class Location:
    """Where the player is. ``num`` is the Z-machine's object number: the only key of a room.

    ``name`` is the full short name; it may be empty and several rooms may share one.
    """

    num: int
    name: str

    @property
    def label(self) -> str:
        """A name to show: ``Location #ID`` where the story gives none (decision 21)."""
        return self.name or f"Location #{self.num}"


@dataclass(frozen=True, slots=True)
class GameObject:
    """An object of the story as it stands at one moment.

    ``num``, ``parent`` are Z-machine object numbers (``parent`` 0: nowhere); ``attributes`` are the
    numbers of the attributes that are set.
    """

    num: int
    name: str
    parent: int = 0
    attributes: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Observation:
    """All that one step of the game shows, read from the machine once.

    ``None`` means that the story does not let us know; it never stands for zero or empty.

    text: what the story printed in answer, without a status line
    location: the room the player is in (for a vehicle: the room around it)
    inventory: what the player carries, one level deep, in the machine's order
    visible: what can be seen here besides the inventory, open containers and surfaces looked into
    score, max_score, moves: points, points and the story's own count of turns
    world_hash: 8 hex digits; equal when the object tree with its attributes and properties is equal
    died: the player died in this very step (some stories go on after that)
    ending: how the story ended; once set it stays set until a restart or restore
    refusal: why the command never reached the story (then nothing else changed and no turn was spent)
    parents: the object that each object of the story is in, at the object's own number; ``()``: there is no tree
    awaits_key: the story waits for a single key, not for a command
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

    @property
    def won(self) -> bool:
        """The story ended in victory."""
        return self.ending == "won"

    @property
    def lost(self) -> bool:
        """The story ended in defeat."""
        return self.ending == "lost"

    @property
    def noticed(self) -> tuple[object, ...] | None:
        """What the player can tell of the moment: equal, and hashed the same, when all of it is as it was.

        That is place, score, belongings and what can be seen with its attributes, in any order. The whole object tree
        will not do: in many stories something moves out of sight in every turn. Its hash stands in where belongings or
        sight are not known; ``None`` where it is not known either: then nothing can be said.
        """
        standing = (self.location.num if self.location else None, self.score)
        if self.inventory is not None and self.visible is not None:
            return (*standing, frozenset(self.inventory), frozenset(self.visible))
        return (*standing, self.world_hash) if self.world_hash else None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model read out of the prose of an observation (decision 24).

    ``exits`` are the ways out that the text names, as the model words them.
    """

    is_room_description: bool = False
    exits: tuple[str, ...] = ()
    in_combat: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """A command that the agent wants to play, with its reasoning and its reading of the text before."""

    action: str
    reasoning: str = ""
    reading: Reading | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the critic says of a proposal. ``source`` names who decided."""

    accepted: bool
    reason: str = ""
    source: Literal["parser", "object_tree", "map", "llm", "none"] = "none"
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn, whole: what was seen, what was proposed and judged, what was played, what came of it.

    turn: counts from 1 within an episode; a proposal that is sent back costs none
    proposals, verdicts: in the order they were made, pairwise; the last proposal is the one played
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
        """Why the agent wanted it."""
        return self.proposals[-1].reasoning

    @property
    def reading(self) -> Reading | None:
        """What was read out of the text before the turn, by whoever read it."""
        return self.proposals[0].reading

    @property
    def score_change(self) -> int | None:
        """Points won or lost in this turn; ``None`` where the score is not known."""
        if self.before.score is None or self.after.score is None:
            return None
        return self.after.score - self.before.score

    @property
    def moved(self) -> bool:
        """The player's location is known before and after, and differs."""
        before, after = self.before.location, self.after.location
        return before is not None and after is not None and before.num != after.num


@dataclass(frozen=True, slots=True)
class StoryFacts:
    """What is fixed for a story file.

    sha256: of the whole file
    known: Jericho has a profile of this very file
    directions: the words of the story's own dictionary that move the player, where they are known
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
    """Tokens as the server counted them; ``cached`` are those of ``prompt`` it had already."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
