"""Routes: commands from the story's opening to a goal, with the result of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from itertools import chain, pairwise, repeat, takewhile
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, NonNegativeInt, PositiveInt
from typing_extensions import Self

from session.commands import passes_time, plain_command, referred_to
from session.text import counted, description_in, one_line
from session.values import GameObject, Observation, StopAt, died_in_vain, things_around

GoalKind = Literal["score", "room", "thing"]
LEAST_TRUST = 0.3
"""A route with a lower share of successful tries is not offered."""


@dataclass(frozen=True, slots=True)
class Waypoint:
    """What was seen at one point of a route; ``None`` if it is unknown.

    place: the location's name, for display
    carried, seen: the numbers of the objects that were carried and seen there, in order
    mark: 16 hex digits, equal for two moments with the same place and state of the touched things in reach; "" if too
        little is known
    is_described: the story printed the location's name above a description, as on arrival unless it is dark
    inside: the number of the thing that the player was in or on, such as a boat; 0 for none
    """

    location_id: int | None = None
    place: str = ""
    score: int | None = None
    carried: tuple[int, ...] | None = None
    seen: tuple[int, ...] | None = None
    mark: str = ""
    is_described: bool = False
    inside: int | None = None

    @classmethod
    def of(cls, observation: Observation, touched: Collection[int] = ()) -> Self:
        """Return the waypoint of an observation, on a route that touches the things with those numbers."""
        location = observation.location
        return cls(
            observation.location_id,
            observation.location_label,
            observation.score,
            _numbers(observation.inventory),
            _numbers(observation.visible),
            _mark(observation, touched),
            location is not None and description_in(observation.text, location.name) is not None,
            observation.inside.num if observation.inside else 0,
        )

    def deviation(
        self, before: Observation, observation: Observation, touched: Collection[int], held: Collection[int]
    ) -> str:
        """Return in a few words how an observation differs from this waypoint; "" if it does not.

        touched: the things that the route needs in their place; other belongings may be anywhere
        held: the things that the player has had in this episode, which are not new wherever they are now
        """
        if observation.refusal is not None:
            return "the command did not reach the story"
        if died_in_vain(before, observation):
            return "you died"
        location = observation.location
        if self.location_id is not None and (location is None or location.num != self.location_id):
            there = f"at {location.label} (L{location.num})" if location else "somewhere unknown"
            return f"you are not at {self.place} (L{self.location_id}) but {there}"
        if None not in (self.score, observation.score) and observation.score != self.score:
            return f"the score is not {self.score} but {observation.score}"
        if self.is_described and (location is None or description_in(observation.text, location.name) is None):
            return f"the story does not describe {self.place} as it did then"
        return self._change_of_things(before, observation, touched, held)

    def _change_of_things(
        self, before: Observation, observation: Observation, touched: Collection[int], held: Collection[int]
    ) -> str:
        had, here = observation.carried, observation.in_reach
        if not all(num in had or had & things_around(num, observation) for num in self.carried_set & {*touched}):
            return "you do not carry all that you carried then"
        if self.seen and observation.visible is None:
            return "you cannot see what is here"
        needed = {*(self.seen or ())}.intersection(touched).difference(held)
        if not here.keys() >= needed:
            return "something that the route needs is not here"
        if self.seen is not None:
            old = {*self.seen, *self.carried_set, *held}
            more = {number: thing.label for number, thing in here.items() if number not in old}
            was_there = standings(before).keys() & more.keys()
            kinds = {"this is new here": more.keys() - was_there, "this is still here": was_there}
            return "; ".join(
                f"{what}: {', '.join(more[each] for each in more if each in those)}"
                for what, those in kinds.items()
                if those
            )
        return ""

    @property
    def carried_set(self) -> frozenset[int]:
        """The numbers of the objects that were carried."""
        return frozenset(self.carried or ())


@dataclass(frozen=True, slots=True)
class RouteStep:
    """A command of a route and its result.

    only_text: when it was played, the story answered and nothing changed, but for what changes by itself
    """

    command: str
    leads_to: Waypoint
    only_text: bool = False


class Loss(NamedTuple):
    """How a game had fewer points after the end of a route than at it.

    change: the points then minus those at the route's end
    command: the first one after which there were fewer
    later: its number, counted from the route's end, from 1
    """

    change: int
    command: str
    later: int

    def __str__(self) -> str:
        return f"{self.change} by `{one_line(self.command)}`, {counted(self.later, 'command')} later"


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a route: a score, a new room or a new thing.

    number: the score, or the object number of the room or the thing
    """

    kind: GoalKind
    number: int
    name: str = ""

    def is_reached(self, now: Observation) -> bool:
        """Return whether an observation shows the goal."""
        if self.kind == "score":
            return now.score is not None and now.score >= self.number
        if self.kind == "room":
            return now.location_id == self.number
        return self.number in now.carried


@dataclass(frozen=True, slots=True)
class Proof:
    """The number of seeds with which a route was tried, and with which it reached its goal."""

    worked: NonNegativeInt
    tried: PositiveInt


@dataclass(frozen=True, slots=True)
class Tries:
    """The number of episodes in which a route was followed, and in which it reached its end."""

    followed: NonNegativeInt = 0
    worked: NonNegativeInt = 0


@dataclass(frozen=True, slots=True)
class Route:
    """Commands that led from the opening to a goal, with their record since.

    number: its name for people and models, which is never reused
    episode: in which it was first played
    followed, worked: numbers of episodes in which it was followed from the opening, and in which it reached its end
    joined: the same for later starting points, by the number of commands that were skipped
    stops: how often it stopped, by the number of the failed command, from 1
    spare: its steps including commands without visible effect; empty if there were none
    touched: the object numbers of the things that its commands visibly moved or changed
    doubts: if it is joined now, how this game differs from that one before the point, in words
    loss: how the game in which it was played went on to fewer points than at its end; ``None`` if it did not
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
    doubts: str = ""
    loss: Loss | None = None

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands to type."""
        return tuple(step.command for step in self.steps)

    @property
    def points(self) -> tuple[Waypoint, ...]:
        """What was seen before its first command and after each."""
        return (self.start, *(step.leads_to for step in self.steps))

    def played(self, done: int | None = None) -> Sequence[tuple[int | None, str]]:
        """Return the location id and the plain command of each step, or of the first ``done`` ones."""
        pairs = zip(self.points, self.steps[:done], strict=False)
        return [(point.location_id, plain_command(step.command)) for point, step in pairs]

    @property
    def key(self) -> str:
        """16 hex digits that identify its commands, independent of its number."""
        return key_of(self.commands)

    def gain(self, done: int = 0) -> int:
        """Return the points that remain to be won after so many of its commands; 0 if they are unknown."""
        before, after = self.score_after(done), self.score_after(len(self.steps))
        return 0 if before is None or after is None else after - before

    def score_after(self, done: int) -> int | None:
        """Return the latest known score after so many of its commands; ``None`` if there is none."""
        scores = (self.steps[at].leads_to.score for at in reversed(range(done)))  # of thousands of routes each turn
        return next((score for score in scores if score is not None), self.start.score)

    def not_done(self, done: int, played: Collection[tuple[int | None, str]]) -> list[tuple[int | None, str]]:
        """Return those of the first ``done`` commands that changed something, but nothing in this game.

        Moves, waiting and commands that took a thing are left out: what is not held is known anyway. A command of
        several words that brought a thing in sight along, such as "push cart north", is not only a move.

        played: the location ids and plain commands of this game that did something
        """
        found: dict[tuple[int | None, str], None] = {}
        steps = zip(self.steps, self.played(done), pairwise(self.points), strict=False)
        for step, this, (one, other) in steps:
            has_changed = not step.only_text and "" not in (one.mark, other.mark)
            brings_along = " " in this[1] and not {*(one.seen or ())}.isdisjoint(other.seen or ())
            has_changed &= one.location_id == other.location_id or brings_along
            if has_changed and other.carried_set <= one.carried_set and not passes_time(this[1]) and this not in played:
                found[this] = None
        return list(found)

    def only_done(
        self, done: int, now: Observation, changed: Mapping[tuple[int | None, str], Collection[int]]
    ) -> list[tuple[int | None, str]]:
        """Return the commands of this game that are not among the first ``done`` and changed what the route touches.

        What is in reach, and as it was there on the route, does not count.

        changed: the things that the commands of this game changed, by location id and plain command
        """
        touched = {*self.touched}
        if _mark(now, self.touched) == self.points[done].mark:
            touched -= now.in_reach.keys()
        found = [each for each, things in changed.items() if not touched.isdisjoint(things)]
        return [each for each in found if each not in self.played(done)]

    def tries(self, done: int = 0) -> Tries:
        """Return how often it was followed from the point after so many commands, and how often successfully."""
        return self.joined.get(done, Tries()) if done else Tries(self.followed, self.worked)

    def trust(self, done: int = 0) -> float:
        """Return the share of successful tries from the point after so many commands, including the original one."""
        worked, tried = (self.proof.worked, self.proof.tried) if self.proof else (1, 1)
        since = self.tries(done)
        return (worked + since.worked) / (tried + since.followed)

    def promise(self, done: int = 0) -> float:
        """Return the expected points after so many of its commands."""
        return self.gain(done) * self.trust(done)

    def with_try(self, done: int, *, worked: bool) -> Self:
        """Return the route with one more try from the point after so many of its commands."""
        old = self.tries(done)
        new = Tries(old.followed + 1, old.worked + worked)
        if done:
            return replace(self, joined={**self.joined, done: new})
        return replace(self, followed=new.followed, worked=new.worked)

    @property
    def carries(self) -> int:
        """The number of things that are carried at its end."""
        return len(self.steps[-1].leads_to.carried or ())

    def point_like(
        self,
        observation: Observation,
        played: Iterable[tuple[int | None, str]] = (),
        names: Mapping[int, str] | None = None,
    ) -> int | None:
        """Return the number of its commands after which it can be joined now; ``None`` for none before its end.

        It can be joined where place and touched things in reach are as they were, else where place and things fit its
        remaining commands. Of several such points it is the latest one up to which its commands were played in this
        game, or else the first, since the effects of the later commands are not visible. While the story waits for an
        answer, only the route that has just led to the question can be joined.

        played: the location ids and plain commands of this game, in order
        names: of things, by number
        """
        mark = _mark(observation, self.touched)
        points = list(enumerate(self.points[:-1]))
        found = [at for at, point in points if mark and point.mark == mark]
        found = found or [at for at, point in points if mark and self._fits(at, point, observation, names or {})]
        played = list(played)
        if observation.awaits_answer or observation.awaits_key:
            found = [at for at in found if at and played[-1:] == self.played(at)[-1:]]
        references = _references(self.commands) if found else ()
        found = [at for at in found if self._means_the_same(at, references, played)]
        if len(found) > 1:
            done = done_in_order(self.played(), played)
            found = [at for at in found if at <= done][-1:] or found
        return found[0] if found else None

    def _means_the_same(
        self, at: int, references: Iterable[tuple[int, int]], played: Sequence[tuple[int | None, str]]
    ) -> bool:
        """Return whether no command from number ``at`` on depends for its meaning on one that was not played here."""
        first = next((referred for number, referred in references if number >= at > referred), at)
        before = [plain_command(step.command) for step in self.steps[first:at]]
        return not before or before == [command for _, command in played[-len(before) :]]

    def _fits(self, at: int, point: Waypoint, observation: Observation, names: Mapping[int, str]) -> bool:
        """Return whether the things that the commands after a point take, leave or name are as they were there."""
        if None in (point.location_id, point.carried, point.seen) or observation.location_id != point.location_id:
            return False
        ahead = self.points[at:]
        words = {word for command in self.commands[at:] for word in plain_command(command).split()}
        things = observation.in_reach
        needed = {num for one, other in pairwise(ahead) for num in one.carried_set ^ other.carried_set}
        needed |= {
            num
            for num in self.touched
            if words.intersection(
                [*(things[num].words if num in things else ()), *GameObject(num, names.get(num, "")).words]
            )
        }
        seen = needed.intersection(point.seen or ())
        return needed & point.carried_set == needed & observation.carried and seen <= things.keys()

    def from_now(
        self, done: int, score: int | None, won: Collection[tuple[int | None, str]], got: Collection[int] = ()
    ) -> Self:
        """Return the route with the scores that its commands after ``done`` lead to from the present score.

        won: the location ids and plain commands that have won points in this game, and win no more
        got: the things that were got with points in this game; to get these alone wins no more
        """
        before = self.score_after(done)
        if score is None or before is None or (score == before and not won):
            return self
        points, here = [*self.points], self.points[done]
        points[done] = replace(here, score=score)
        for at, point in enumerate(self.points[done + 1 :], done + 1):
            if point.score is not None:
                is_won = False
                if point.score > before:
                    things = point.carried_set - here.carried_set
                    is_again = bool(things) and things.issubset(got)
                    is_won = is_again or (here.location_id, plain_command(self.steps[at - 1].command)) in won
                score, before = score if is_won else score + point.score - before, point.score
                if score != point.score:
                    points[at] = replace(point, score=score)
            here = point
        pairs = zip(self.steps, points[1:], strict=True)
        steps = tuple(step if step.leads_to is point else replace(step, leads_to=point) for step, point in pairs)
        return replace(self, start=points[0], steps=steps)

    def to_last_point(self, done: int) -> Self:
        """Return the route for its points alone: it ends with the last command after ``done`` that brings some."""
        scores = [self.score_after(at) for at in range(done, len(self.steps) + 1)]
        gains = [at for at, (old, new) in enumerate(pairwise(scores), done + 1) if old is not None and old < (new or 0)]
        if not gains:
            return self
        end, score = gains[-1], scores[gains[-1] - done] or 0
        later = [(step.command, step.leads_to.score) for step in self.steps[end:]]
        loss = loss_after(score, later) or (self.loss and self.loss._replace(later=self.loss.later + len(later)))
        return replace(self, goal=Goal("score", score), steps=self.steps[:end], loss=loss)


@dataclass(frozen=True, slots=True)
class Course:
    """Commands that are played one after the other without a question to a model, until something unexpected happens.

    kind: what it was made of; ``then``: the further commands of an answer
    name: its name, such as ``Route 3``
    steps: all of its commands, each with the expected result; nothing is known of ``Waypoint()``
    most: how many of the steps are played at most; 0: all
    known: how many of the steps, from the first on, have a known result; the player wrote the others itself
    done: how many of them have been played
    aim: its goal, in one or two words
    key: the key of the route; "" for other courses
    skipped: how many commands at the beginning of the route were skipped
    touched: the objects that must be at their recorded places
    is_part: the agent chose to follow the route only up to a command before its end
    left: what is not played without the player's word, as a sentence
    stop_at: what ends it, as in ``Proposal``
    further: how many of the steps, the last ones, are further commands of the answer that chose it
    in_sight: the objects that were in sight when the player chose it, and were not when the route was played
    """

    kind: Literal["route", "way", "plan", "then"]
    name: str
    steps: tuple[RouteStep, ...]
    known: int = 0
    most: int = 0
    done: int = 0
    aim: str = ""
    key: str = ""
    skipped: int = 0
    touched: tuple[int, ...] = ()
    is_part: bool = False
    left: str = ""
    stop_at: StopAt = "news"
    further: int = 0
    in_sight: frozenset[int] = frozenset()

    def name_at(self, number: int) -> str:
        """Return the name for the command of that number, which may be a further one."""
        is_further = number > len(self.steps) - self.further
        return f"Your course after {self.name[0].lower()}{self.name[1:]}" if is_further else self.name


def done_in_order(commands: Iterable[object], played: Iterable[object]) -> int:
    """Return how many of the commands, from the first on, are among those that were played, in this order."""
    rest = iter(played)
    return sum(1 for _ in takewhile(lambda command: command in rest, commands))  # consumes the rest up to it


@lru_cache(maxsize=512)  # the same routes are looked at each turn
def _references(commands: tuple[str, ...]) -> Sequence[tuple[int, int]]:
    """Return the numbers of commands that depend on an earlier one for their meaning, each with that one's number."""
    found = ((number, referred_to(commands, number)) for number in range(len(commands)))
    return [(number, referred) for number, referred in found if referred is not None]


def key_of(commands: Iterable[str]) -> str:
    """Return 16 hex digits that identify these commands."""
    return sha256("\n".join(commands).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def loss_after(score: int | None, later: Iterable[tuple[str, int | None]]) -> Loss | None:
    """Return the first later command that led to fewer points than these; ``None`` for none.

    later: the commands after that score, with the score after each
    """
    for number, (command, now) in enumerate(later, start=1):
        if score is not None and now is not None and now < score:
            return Loss(now - score, command, number)
    return None


def touched_in(moments: Iterable[Observation], commands: Iterable[str] = ()) -> frozenset[int]:
    """Return the things that were visibly moved or changed between consecutive moments.

    A thing that is always with the player, such as the sky, does not count as moved, unless its command names it.
    """
    touched: set[int] = set()
    for (before, after), command in zip(pairwise(moments), chain(commands, repeat("")), strict=False):
        words, things = {*plain_command(command).split()}, after.in_reach
        old, new = standings(before), standings(after)
        here, there = ({moment.location.num} if moment.location else set() for moment in (before, after))
        for number in old.keys() | new.keys():
            was, now = old.get(number), new.get(number)
            if was is None or now is None:
                is_touched = any(each is not None and each.is_carried for each in (was, now))
            else:
                goes_along = was.holder in here and now.holder in there
                goes_along &= words.isdisjoint(things[number].words)
                is_touched = was != (now._replace(holder=was.holder) if goes_along else now)
            if is_touched:
                touched.add(number)
    return frozenset(touched)


def standings(observation: Observation) -> dict[int, Standing]:
    """Return the state of each thing in reach, by its number."""
    seen = {thing.num: Standing(False, thing.parent, thing.attributes) for thing in observation.visible or ()}
    carried = {thing.num: Standing(True, thing.parent, thing.attributes) for thing in observation.inventory or ()}
    return seen | carried


class Standing(NamedTuple):
    """The place and the attributes of a thing. ``holder``: the number of the object that it is in."""

    is_carried: bool
    holder: int
    attributes: frozenset[int]


def mark_of(observation: Observation) -> str:
    """Return a digest of place, score and the objects in reach. It is equal for two moments that agree in these."""
    return _mark(observation, standings(observation).keys(), observation.score)


def _numbers(things: Iterable[GameObject] | None) -> tuple[int, ...] | None:
    return None if things is None else tuple(sorted({thing.num for thing in things}))


def _mark(observation: Observation, touched: Collection[int], *score: int | None) -> str:
    """Return the mark of a moment. ``score``: distinguishes moments with the same place and things."""
    if observation.noticed is None:
        return ""
    if observation.inventory is None or observation.visible is None:
        place, _, *others = observation.noticed
        moment = repr((place, *score, *others))
    else:
        standing = standings(observation)
        in_reach = sorted(standing.keys() & {*touched})
        things = [(each, *standing[each][:2], sorted(standing[each].attributes)) for each in in_reach]
        moment = repr((observation.location_id, *score, things))
    return sha256(moment.encode()).hexdigest()[:16]
