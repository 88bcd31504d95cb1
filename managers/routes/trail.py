"""The trail of an episode, from which routes are learned, and how they are shortened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from hashlib import md5
from typing import NamedTuple

from managers.routes.document import Effect, held_key
from session.route import Goal, KnownRoute, RouteStep, Standing, Waypoint, standings, touched_in
from session.text import sentences_of
from session.values import Observation, TurnRecord

Commands = tuple[str, ...]
PAIR = 2
_NUMBER = re.compile(r"\d+")


def minimised(commands: Commands, still_works: Callable[[Commands], bool]) -> Commands:
    """Return the commands that are needed. Removes halves first, then ever smaller parts, while the rest still works.

    No single command and no two in a row can be removed from the result: going somewhere and back is two commands,
    neither of which can be removed alone.
    """
    size = len(commands) // 2
    while size:
        shorter = commands
        for start in range(len(commands) - size, -size, -(size // 2 or 1)):
            fewer = shorter[: max(start, 0)] + shorter[start + size :]
            if fewer and still_works(fewer):
                shorter = fewer
        size = min(PAIR, len(shorter) - 1) if size <= PAIR and shorter != commands else size // 2
        commands = shorter
    return commands


class Trail:
    """The turns of an episode, from its opening to its first death or its end, after which no route may lead.

    A victory with the highest possible score does not count as the end: a route may lead there.

    held, held_words: the things that the player has had in this episode, by number, and the words of their names
    tried: how often each command was chosen at each location, in all turns that are not part of a route
    said: the digests of the sentences that the story printed
    fatal: the commands that killed the player or ended the story too early, by the mark of the moment
    deaths: how often each command did so at each location
    visits: how many turns ended at each location with the player holding these things (``held_key``)
    effects: what each command did when it was last played at each location, unless it killed the player
    """

    def __init__(self) -> None:
        self._moments: list[_TrailPoint] = []
        self._steps: list[_PlayedStep] = []
        self._goals: list[tuple[int, Goal]] = []
        self._best: int | None = None
        self._met: set[tuple[str, int]] = set()
        self._is_over = False
        self.held: dict[int, str] = {}
        self.held_words: set[str] = set()
        self.tried: dict[int, Counter[str]] = {}
        self.said: set[str] = set()
        self.fatal: dict[str, tuple[str, ...]] = {}
        self.deaths: dict[int, Counter[str]] = {}
        self.visits: dict[int, Counter[str]] = {}
        self.effects: dict[int, dict[str, Effect]] = {}

    def add(self, record: TurnRecord) -> None:
        """Add a turn, and note what was reached in it."""
        if not self._moments:
            self._moments.append(_TrailPoint(record.before, standings(record.before), frozenset()))
            self._reached(record.before)
        if record.before.location is not None and not record.is_of_route:
            self.tried.setdefault(record.before.location.num, Counter())[record.action] += 1
        self.said.update(digests_of(record.before.text), digests_of(record.after.text))
        after = record.after
        if after.location is not None and after.inventory is not None:
            held = held_key(each.num for each in after.inventory)
            self.visits.setdefault(after.location.num, Counter())[held] += 1
            if record.before.location is not None and not after.died:
                gained, lost = (tuple(each.num for each in things) for things in (record.gained, record.lost))
                effect = Effect(after.location.num, gained, lost)
                self.effects.setdefault(record.before.location.num, {})[record.action] = effect
        is_best = after.ending == "won" and (
            after.max_score is None or after.score is None or after.score >= after.max_score
        )
        if after.died or (after.ending is not None and not is_best):
            mark = mark_of(record.before)
            self.fatal[mark] = (*self.fatal.get(mark, ()), record.action)
            if record.before.location is not None:
                self.deaths.setdefault(record.before.location.num, Counter())[record.action] += 1
            self._is_over = True
        if self._is_over:
            return
        before = self._moments[-1]
        touched = before.touched | touched_in([before.seen, after])
        self._moments.append(_TrailPoint(after, standings(after), touched))
        earlier = record.before
        works_unseen = record.did_something and earlier.noticed == after.noticed
        is_noticed = earlier.noticed is None or earlier.noticed != after.noticed
        took_time = earlier.moves is None or earlier.moves != after.moves
        has_effect = is_noticed or (took_time and earlier.world_hash != after.world_hash)
        self._steps.append(_PlayedStep(record.action, after.refusal is None and has_effect, works_unseen))
        self._goals += [(len(self._steps), goal) for goal in self._reached(after)]

    def routes(self, episode: int) -> Iterator[KnownRoute]:
        """Yield a route to everything that was reached after the opening, in that order; they have no number yet."""
        for length, goal in self._goals:
            played, moments = self._steps[:length], self._moments[: length + 1]
            used = moments[-1].touched - _unused(moments, played)
            touched = tuple(sorted(used))
            start, *points = (Waypoint.of(moment.seen, touched) for moment in moments)
            whole = tuple(RouteStep(step.command, point) for step, point in zip(played, points, strict=True))
            steps = tuple(whole[number] for number in _needed(moments, played, used))
            yield KnownRoute(0, goal, start, steps, episode, spare=whole if whole != steps else (), touched=touched)

    def _reached(self, observation: Observation) -> list[Goal]:
        """Return what is reached for the first time in this episode."""
        found = []
        score, location = observation.score, observation.location
        if score is not None and (self._best is None or score > self._best):
            self._best = score
            found.append(Goal("score", score))
        if location is not None:
            found.append(Goal("room", location.num, location.label))
        for thing in observation.inventory or ():
            found.append(Goal("thing", thing.num, thing.name))
            self.held[thing.num] = thing.name
            self.held_words.update(thing.words)
        new = [goal for goal in found if (goal.kind, goal.number) not in self._met]
        self._met.update((goal.kind, goal.number) for goal in new)
        return new


def mark_of(observation: Observation) -> str:
    """Return a digest of place, score and the objects in reach. It is equal for two moments that agree in these."""
    return Waypoint.of(observation, standings(observation).keys()).mark


def digests_of(text: str) -> frozenset[str]:
    """Return 8 hex digits of each sentence; numbers do not count, since they go up from turn to turn."""
    return frozenset(
        md5(_NUMBER.sub("#", each).encode(), usedforsecurity=False).hexdigest()[:8] for each in sentences_of(text)
    )


class _TrailPoint(NamedTuple):
    """What could be seen after a step, how each thing in reach stood, and what was touched up to then."""

    seen: Observation
    stood: Mapping[int, Standing]
    touched: frozenset[int]


class _PlayedStep(NamedTuple):
    """A command with its known results."""

    command: str
    has_effect: bool
    works_unseen: bool


def _unused(moments: Sequence[_TrailPoint], played: Sequence[_PlayedStep]) -> frozenset[int]:
    """Return the objects that were taken and put down again while nothing else happened.

    moments: the opening, and the state after each step
    """
    unused = moments[-1].touched - _carried(moments[0]) - _carried(moments[-1])
    while True:
        in_use: set[int] = set()
        for step, before, after in zip(played, moments, moments[1:], strict=False):
            touched = touched_in((before.seen, after.seen))
            in_hand = touched | _carried(before) | _carried(after)
            moved = _carried(before) ^ _carried(after)
            is_same_sight = (before.seen.location, before.seen.score) == (after.seen.location, after.seen.score)
            is_same_sight = is_same_sight and before.stood.keys() == after.stood.keys()
            if step.works_unseen or not is_same_sight or not touched <= unused & moved:
                in_use |= in_hand
        if unused.isdisjoint(in_use):
            return unused
        unused -= in_use


def _carried(moment: _TrailPoint) -> frozenset[int]:
    return frozenset(number for number, standing in moment.stood.items() if standing.is_carried)


def _needed(moments: Sequence[_TrailPoint], played: Sequence[_PlayedStep], touched: frozenset[int]) -> list[int]:
    """Return the indexes of the steps that changed anything, without detours that lead back to the same state.

    The state is the same if the place, the score and each touched object as last seen are the same.

    moments: the opening, and the state after each step
    touched: the objects that count
    """
    known = _known_first(moments, touched)
    unseen = 0
    needed: list[int] = []
    reached: list[Hashable] = [_standing(moments[0].seen, known, unseen)]
    for number, (step, before, after) in enumerate(zip(played, moments, moments[1:], strict=False)):
        old, new = before.stood, after.stood
        known |= {each: new.get(each) for each in touched if each in new or (each in old and old[each].is_carried)}
        unseen += step.works_unseen
        standing = _standing(after.seen, known, unseen)
        if standing is not None and standing in reached:
            del needed[reached.index(standing) :], reached[reached.index(standing) + 1 :]
        elif step.has_effect:
            needed.append(number)
            reached.append(standing)
    return needed


def _known_first(moments: Sequence[_TrailPoint], touched: frozenset[int]) -> dict[int, Standing | None]:
    """Return the state of each object when first seen; ``None`` if an action revealed it."""
    known: dict[int, Standing | None] = {}
    for before, moment in zip((None, *moments), moments, strict=False):
        is_come_upon = before is not None and before.seen.location != moment.seen.location
        for number in touched & moment.stood.keys() - known.keys():
            standing = moment.stood[number]
            known[number] = standing if before is None or (is_come_upon and not standing.is_carried) else None
    return known


def _standing(moment: Observation, known: Mapping[int, Standing | None], unseen: int) -> Hashable:
    """Return what the player knows of the position of objects, or ``None`` if too little is known."""
    if moment.location is None or moment.inventory is None or moment.visible is None:
        return None
    return moment.location.num, moment.score, unseen, frozenset(known.items())
