"""The commands of an episode so far, and the routes that are in them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from session.route import Goal, KnownRoute, RouteStep, Waypoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.values import Observation, TurnRecord


class Trail:
    """What was played in an episode, from its opening to its first death: nobody wants to be led further.

    tried: how often each command was chosen at each location, routes aside, death or not
    """

    def __init__(self) -> None:
        self._start: Waypoint | None = None
        self._steps: list[_TriedStep] = []
        self._goals: list[tuple[int, Goal]] = []
        self._best: int | None = None
        self._met: set[tuple[str, int]] = set()
        self._is_over = False
        self.tried: dict[int, Counter[str]] = {}

    def add(self, record: TurnRecord) -> None:
        """Add a turn, and note what was reached in it."""
        if self._start is None:
            self._start = Waypoint.of(record.before)
            self._reached(record.before)
        if record.before.location is not None and not record.is_of_route:
            self.tried.setdefault(record.before.location.num, Counter())[record.action] += 1
        self._is_over = self._is_over or record.after.died or record.after.lost
        if self._is_over:
            return
        step = RouteStep(record.action, Waypoint.of(record.after))
        self._steps.append(_TriedStep(step, has_effect=_has_effect(record)))
        self._goals += [(len(self._steps), goal) for goal in self._reached(record.after)]

    def routes(self, episode: int) -> Iterator[KnownRoute]:
        """Yield a route to everything that was reached after the opening, in that order; they have no number yet."""
        if self._start is None:
            return
        for length, goal in self._goals:
            played = self._steps[:length]
            steps = tuple(each.step for each in played if each.has_effect)
            whole = tuple(each.step for each in played)
            yield KnownRoute(0, goal, self._start, steps, episode, spare=whole if whole != steps else ())

    def _reached(self, observation: Observation) -> list[Goal]:
        """Return what is reached for the first time in this episode."""
        found = []
        score, location = observation.score, observation.location
        if score is not None and (self._best is None or score > self._best):
            self._best = score
            found.append(Goal("score", score))
        if location is not None:
            found.append(Goal("room", location.num, location.label))
        found += [Goal("thing", thing.num, thing.name) for thing in observation.inventory or ()]
        new = [goal for goal in found if (goal.kind, goal.number) not in self._met]
        self._met.update((goal.kind, goal.number) for goal in new)
        return new


class _TriedStep(NamedTuple):
    """A command that was played, and whether it changed anything, as far as can be told."""

    step: RouteStep
    has_effect: bool


def _has_effect(record: TurnRecord) -> bool:
    before, after = record.before, record.after
    if after.refusal is not None:
        return False
    if before.noticed is None or before.noticed != after.noticed:
        return True
    took_time = before.moves is None or before.moves != after.moves
    return took_time and before.world_hash != after.world_hash
