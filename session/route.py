"""A route: commands from the story's opening that led somewhere, and what each of them led to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain, pairwise
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, NonNegativeInt, PositiveInt
from typing_extensions import Self

from session.text import description_in
from session.values import GameObject, Observation

GoalKind = Literal["score", "room", "thing"]
LEAST_TRUST = 0.3
"""A route that worked more rarely is not offered any more."""


@dataclass(frozen=True, slots=True)
class Waypoint:
    """What could be seen at one point of a route; ``None`` where the story does not tell, or nobody has looked.

    place: the location's name, for people
    carried, seen: the numbers of the objects that were carried and seen there, in order
    mark: 16 hex digits, equal for two moments where place, score and all things in reach that the route has touched are
        alike; "" where too little is known
    is_described: the story printed the location's name above a description, as it does on arrival unless it is dark
    """

    location_id: int | None = None
    place: str = ""
    score: int | None = None
    carried: tuple[int, ...] | None = None
    seen: tuple[int, ...] | None = None
    mark: str = ""
    is_described: bool = False

    @classmethod
    def of(cls, observation: Observation, touched: Collection[int] = ()) -> Self:
        """Return what an observation shows, on a route that touches the things of those numbers."""
        location = observation.location
        return cls(
            location.num if location else None,
            location.label if location else "",
            observation.score,
            _numbers(observation.inventory),
            _numbers(observation.visible),
            _mark(observation, touched),
            location is not None and description_in(observation.text, location.name) is not None,
        )

    def deviation(
        self, before: Observation, observation: Observation, touched: Collection[int], held: Collection[int]
    ) -> str:
        """Return in a few words what an observation shows that is not as it was here; "" where nothing does.

        before: what was seen a turn ago
        touched: the things that the route needs where they were; what else it carried may be anywhere
        held: the things that the player has had in this episode, which are no news wherever they lie now
        """
        if observation.refusal is not None:
            return "the command did not reach the story"
        if observation.died:
            return "you died"
        location = observation.location
        if self.location_id is not None and (location is None or location.num != self.location_id):
            return f"you are not at {self.place} but {f'at {location.label}' if location else 'somewhere unknown'}"
        if self.score is not None and observation.score != self.score:
            return f"the score is not {self.score} but {observation.score}"
        if self.is_described and (location is None or description_in(observation.text, location.name) is None):
            return f"the story does not describe {self.place} as it did then"
        return self._change_of_things(before, observation, touched, held)

    def _change_of_things(
        self, before: Observation, observation: Observation, touched: Collection[int], held: Collection[int]
    ) -> str:
        carried, seen = observation.inventory or (), observation.visible or ()
        if not {thing.num for thing in carried}.issuperset(self.carried_set.intersection(touched)):
            return "you do not carry all that you carried then"
        if self.seen and observation.visible is None:
            return "you cannot see what is here"
        needed = {*(self.seen or ())}.intersection(touched).difference(held)
        if not {thing.num for thing in (*carried, *seen)}.issuperset(needed):
            return "something that the route needs is not here"
        if self.seen is not None:
            old = {*self.seen, *self.carried_set, *held}
            more = {thing.num: thing.name or f"object #{thing.num}" for thing in (*carried, *seen)}
            more = {number: name for number, name in more.items() if number not in old}
            was_there = standings(before).keys() & more.keys()
            told = {"this is new here": more.keys() - was_there, "this is still here": was_there}
            return "; ".join(
                f"{what}: {', '.join(more[each] for each in more if each in those)}"
                for what, those in told.items()
                if those
            )
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
class Tries:
    """The episodes in which a route was followed, and those in which it led to its end."""

    followed: NonNegativeInt = 0
    worked: NonNegativeInt = 0


@dataclass(frozen=True, slots=True)
class KnownRoute:
    """Commands that led from the opening to a goal, with what came of them since.

    number: by which people and models call it; it is never given to another one
    episode: in which it was played first
    followed, worked: the episodes in which it was followed from the opening, and those in which it led to its end
    joined: the same by the number of commands that were left out, when it was followed from a later point
    stops: how often it stopped, by the number of the command (from 1) that led elsewhere
    spare: the same with the commands that seemed to change nothing; empty where there were none
    touched: the numbers of the things that its commands moved or changed, as far as could be seen
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
    touched: tuple[int, ...] = ()
    joined: Mapping[int, Tries] = field(default_factory=dict)

    @property
    def commands(self) -> tuple[str, ...]:
        """What is to be typed."""
        return tuple(step.command for step in self.steps)

    @property
    def key(self) -> str:
        """16 hex digits that tell its commands from those of others, whatever its number."""
        return key_of(self.commands)

    @property
    def gain(self) -> int:
        """The points that it wins; 0 where the story keeps no score."""
        return self.gain_after(0)

    def gain_after(self, done: int) -> int:
        """Return the points that are left to win after so many of its commands."""
        at = self.steps[done - 1].leads_to if done else self.start
        return (self.steps[-1].leads_to.score or 0) - (at.score or 0)

    def tries(self, done: int = 0) -> Tries:
        """Return how often it was followed after so many of its commands, and with what success."""
        return self.joined.get(done, Tries()) if done else Tries(self.followed, self.worked)

    def trust(self, done: int = 0) -> float:
        """Return the share of tries after so many commands that led to its end, including the one that taught it."""
        worked, tried = (self.proof.worked, self.proof.tried) if self.proof else (1, 1)
        since = self.tries(done)
        return (worked + since.worked) / (tried + since.followed)

    def promise(self, done: int = 0) -> float:
        """Return the points that it can be expected to win after so many of its commands."""
        return self.gain_after(done) * self.trust(done)

    def with_try(self, done: int, *, worked: bool) -> Self:
        """Return the route after one more try that began after so many of its commands."""
        old = self.tries(done)
        new = Tries(old.followed + 1, old.worked + worked)
        if done:
            return replace(self, joined={**self.joined, done: new})
        return replace(self, followed=new.followed, worked=new.worked)

    def is_beginning_of(self, other: Self) -> bool:
        """Return whether the other route starts with all commands of this one."""
        return other.commands[: len(self.steps)] == self.commands

    @property
    def carries(self) -> int:
        """How many things are carried at its end."""
        return len(self.steps[-1].leads_to.carried or ())

    def point_like(self, observation: Observation) -> int | None:
        """Return after how many of its commands it stands as it does now; ``None`` where it never did.

        That is where place and score are the same and every thing in reach that it has touched is as it was. Where that
        is so at several points, it is the first one: what the others have done before is not in sight. At the end
        nothing is left to follow.
        """
        mark = _mark(observation, self.touched)
        points = (self.start, *(step.leads_to for step in self.steps[:-1]))
        return next((at for at, point in enumerate(points) if mark and point.mark == mark), None)


def key_of(commands: Iterable[str]) -> str:
    """Return 16 hex digits that tell these commands from others."""
    return sha256("\n".join(commands).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def touched_in(moments: Iterable[Observation]) -> frozenset[int]:
    """Return the things that were moved or changed between one moment and the next, as far as could be seen.

    What is wherever the player is, as the sky, was not moved.
    """
    return frozenset(chain.from_iterable(_touched(before, after) for before, after in pairwise(moments)))


def standings(observation: Observation) -> dict[int, Standing]:
    """Return how each thing in reach stands, by its number."""
    seen = {thing.num: Standing(False, thing.parent, thing.attributes) for thing in observation.visible or ()}
    carried = {thing.num: Standing(True, thing.parent, thing.attributes) for thing in observation.inventory or ()}
    return seen | carried


class Standing(NamedTuple):
    """Where a thing is and how; ``holder``: the number of the object that it is in."""

    is_carried: bool
    holder: int
    attributes: frozenset[int]


def _touched(before: Observation, after: Observation) -> Iterator[int]:
    old, new = standings(before), standings(after)
    here, there = ({moment.location.num} if moment.location else set() for moment in (before, after))
    for number in old.keys() | new.keys():
        was, now = old.get(number), new.get(number)
        if was is None or now is None:
            is_touched = any(each is not None and each.is_carried for each in (was, now))
        else:
            goes_along = was.holder in here and now.holder in there
            is_touched = was != (now._replace(holder=was.holder) if goes_along else now)
        if is_touched:
            yield number


def _numbers(things: Iterable[GameObject] | None) -> tuple[int, ...] | None:
    return None if things is None else tuple(sorted({thing.num for thing in things}))


def _mark(observation: Observation, touched: Collection[int]) -> str:
    if observation.noticed is None:
        return ""
    if observation.inventory is None or observation.visible is None:
        told = repr(observation.noticed)
    else:
        standing = standings(observation)
        things = [
            (each, *standing[each][:2], sorted(standing[each].attributes))
            for each in sorted(touched)
            if each in standing
        ]
        told = repr((observation.location.num if observation.location else None, observation.score, things))
    return sha256(told.encode()).hexdigest()[:16]
