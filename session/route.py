"""A route: commands from the story's opening that led somewhere, and what each of them led to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

    from session.values import GameObject, Observation

GoalKind = Literal["score", "room", "thing"]
LEAST_TRUST = 0.3
"""A route that worked more rarely is not offered any more."""


@dataclass(frozen=True, slots=True)
class Waypoint:
    """What could be seen at one point of a route; ``None`` where the story does not tell, or nobody has looked.

    place: the location's name, for people
    carried, seen: the numbers of the objects that were carried and seen there, in order
    mark: 16 hex digits, equal for two moments which the player cannot tell apart; "" where too little is known
    """

    location_id: int | None = None
    place: str = ""
    score: int | None = None
    carried: tuple[int, ...] | None = None
    seen: tuple[int, ...] | None = None
    mark: str = ""

    @classmethod
    def of(cls, observation: Observation) -> Self:
        """Return what an observation shows."""
        location = observation.location
        return cls(
            location.num if location else None,
            location.label if location else "",
            observation.score,
            _numbers(observation.inventory),
            _numbers(observation.visible),
            _mark(observation),
        )

    def deviation(self, observation: Observation) -> str:
        """Return in a few words what an observation shows that is not as it was here; "" where nothing does."""
        if observation.refusal is not None:
            return "the command did not reach the story"
        if observation.died:
            return "you died"
        location = observation.location
        if self.location_id is not None and (location is None or location.num != self.location_id):
            return f"you are not at {self.place} but {f'at {location.label}' if location else 'somewhere unknown'}"
        if self.score is not None and observation.score != self.score:
            return f"the score is not {self.score} but {observation.score}"
        return self._change_of_things(observation)

    def _change_of_things(self, observation: Observation) -> str:
        carried, seen = observation.inventory or (), observation.visible or ()
        if self.carried is not None and not {thing.num for thing in carried}.issuperset(self.carried):
            return "you do not carry all that you carried then"
        if self.seen is not None:
            new = {thing.num: thing for thing in (*carried, *seen) if thing.num not in {*self.seen, *self.carried_set}}
            if new:
                return f"this is new here: {', '.join(thing.name or f'object #{thing.num}' for thing in new.values())}"
        return ""

    @property
    def carried_set(self) -> frozenset[int]:
        """The numbers of the objects that were carried."""
        return frozenset(self.carried or ())


@dataclass(frozen=True, slots=True)
class RouteStep:
    """A command of a route, and what it led to."""

    command: str
    leads_to: Waypoint


@dataclass(frozen=True, slots=True)
class Goal:
    """What a route is for: a score, the first sight of a room, or the first hold of a thing.

    number: the score, or the object number of the room or the thing
    name: of the room or the thing
    """

    kind: GoalKind
    number: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """How many of the seeds with which a route was tried brought it to its goal."""

    worked: NonNegativeInt
    tried: PositiveInt


@dataclass(frozen=True, slots=True)
class KnownRoute:
    """Commands that led from the opening to a goal, with what came of them since.

    number: by which people and models call it; it is never given to another one
    episode: in which it was played first
    followed, worked: the episodes in which it was followed, and those in which it led to its end
    stops: how often it stopped, by the number of the command (from 1) that led elsewhere
    spare: the same with the commands that seemed to change nothing; empty where there were none
    """

    number: int
    goal: Goal
    start: Waypoint
    steps: Annotated[tuple[RouteStep, ...], Field(min_length=1)]
    episode: int
    followed: NonNegativeInt = 0
    worked: NonNegativeInt = 0
    stops: Mapping[int, int] = field(default_factory=dict)
    proof: Proof | None = None
    spare: tuple[RouteStep, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """What is to be typed."""
        return tuple(step.command for step in self.steps)

    @property
    def key(self) -> str:
        """16 hex digits that tell its commands from those of others, whatever its number."""
        return sha256("\n".join(self.commands).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def gain(self) -> int:
        """The points that it wins; 0 where the story keeps no score."""
        return (self.steps[-1].leads_to.score or 0) - (self.start.score or 0)

    @property
    def trust(self) -> float:
        """The share of its tries that led to its end, the one that it was learnt in among them."""
        worked, tried = (self.proof.worked, self.proof.tried) if self.proof else (1, 1)
        return (worked + self.worked) / (tried + self.followed)

    @property
    def carries(self) -> int:
        """How many things are carried at its end."""
        return len(self.steps[-1].leads_to.carried or ())

    def point_like(self, observation: Observation) -> int | None:
        """Return after how many of its commands all looked as it does now; ``None`` where it never did.

        Where that is so at several points, it is the last one. At the end nothing is left to follow.
        """
        mark = _mark(observation)
        points = (self.start, *(step.leads_to for step in self.steps[:-1]))
        return next((at for at in range(len(points) - 1, -1, -1) if mark and points[at].mark == mark), None)


def _numbers(things: Iterable[GameObject] | None) -> tuple[int, ...] | None:
    return None if things is None else tuple(sorted({thing.num for thing in things}))


def _mark(observation: Observation) -> str:
    if observation.noticed is None:
        return ""
    if observation.inventory is None or observation.visible is None:
        told = repr(observation.noticed)
    else:
        things = [
            sorted((thing.num, thing.parent, *sorted(thing.attributes)) for thing in group)
            for group in (observation.inventory, observation.visible)
        ]
        told = repr((observation.location.num if observation.location else None, observation.score, things))
    return sha256(told.encode()).hexdigest()[:16]
