"""Tries out routes between episodes with several seeds, and shortens them. It is reported as assistance."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import takewhile
from threading import Event as Flag

from game_interface.core.game import Game, SavedState
from managers.routes.document import LONGEST_DETOUR
from managers.routes.trail import Commands, minimised
from orchestration.learning import Learning
from session.errors import GameError
from session.events import ProvenRoute, RoutesProven
from session.files.recording import Recording
from session.game_configuration import GameConfiguration
from session.route import Proof, Route, RouteStep, Waypoint, touched_in
from session.values import Observation, derived_seed, died_in_vain


def build_route_proof(
    configuration: GameConfiguration, game: Game, learning: Learning, recording: Recording, stop: Flag
) -> Callable[[int], None]:
    """Return a function that tries out new routes after an episode; without ``proven-routes`` it does nothing.

    A recorded proof is reused, and nothing is tried. ``stop`` ends the proof early, as its limits do, and a crash of
    the interpreter ends it too: the results so far are kept.

    game: is reset by the next episode
    """
    routes = learning.routes
    if routes is None or "proven-routes" not in configuration.assist:
        return lambda _episode: None
    options = configuration.routes
    seeds = [derived_seed(1, number, "proof") for number in range(2, options.proof_seeds + 2)]

    def tried_out(episode: int) -> RoutesProven | None:
        limits = _Limits(stop, time.monotonic() + options.proof_seconds, options.proof_commands)
        found: list[ProvenRoute] = []
        try:
            for route in takewhile(lambda _route: not limits.are_reached, routes.untried()):
                trial = _RouteTrial(game, route, seeds, limits)
                found.append(ProvenRoute(route.key, route.number, len(route.steps), trial.forms()))
        except GameError as error:
            routes.log_warning("the interpreter crashed while routes were tried out", error=str(error))
        return RoutesProven(episode, tuple(found)) if found else None

    def prove(episode: int) -> None:
        proven = recording.get(RoutesProven, partial(tried_out, episode))
        if proven is not None:
            routes.take_proof(proven)

    return prove


@dataclass(slots=True)
class _Limits:
    """What ends the trials after an episode: the flag, the time by the clock, or when no commands are left."""

    stop: Flag
    end: float
    commands: int

    @property
    def are_reached(self) -> bool:
        return self.stop.is_set() or self.commands <= 0 or time.monotonic() >= self.end


class _RouteTrial:
    """Tries one route with several seeds."""

    def __init__(self, game: Game, route: Route, seeds: Sequence[int], limits: _Limits) -> None:
        self._route = route
        self._plays = {seed: _SeededPlay(game, seed, limits) for seed in seeds}
        self._limits = limits

    def forms(self) -> tuple[Route, ...]:
        """Return the shortest form of the route, and the one that carries most if it differs."""
        goal = self._route.steps[-1].leads_to
        for steps in filter(None, (self._route.steps, self._route.spare)):
            commands = tuple(step.command for step in steps)
            seeds = [seed for seed in self._plays if self._reaches(commands, seed, frozenset())]
            if seeds:
                break
        else:
            return (replace(self._route, proof=Proof(0, len(self._plays))),)
        shortest = self._shortest(commands, seeds, frozenset())
        richest, carried = shortest, set(goal.carried or ())
        while carried:
            form = self._shortest(commands, seeds, carried)
            if len(form) <= LONGEST_DETOUR * len(shortest):
                richest = form
                break
            carried.discard(max(carried))
        forms = [self._form(shortest, frozenset())]
        return tuple(forms if richest == shortest else [*forms, self._form(richest, carried)])

    def _shortest(self, commands: Commands, seeds: list[int], carried: frozenset[int] | set[int]) -> Commands:
        return minimised(
            commands,
            lambda shorter: (
                not self._limits.are_reached and all(self._reaches(shorter, seed, carried) for seed in seeds)
            ),
        )

    def _reaches(self, commands: Commands, seed: int, carried: frozenset[int] | set[int]) -> bool:
        """Return whether the commands reach the goal of the route with at least those things carried."""
        seen = self._plays[seed].play(commands)
        if seen is None:
            return False
        end, here = self._route.steps[-1].leads_to, Waypoint.of(seen[-1])
        is_there = self._route.goal.is_reached(seen[-1])
        if self._route.goal.kind == "score":
            is_there = (here.location_id, here.score) == (end.location_id, end.score)
        return is_there and here.carried_set >= carried

    def _form(self, commands: Commands, carried: frozenset[int] | set[int]) -> Route:
        """Return the route with these commands, and with the waypoints that all seeds with equal results share."""
        seeds = [seed for seed in self._plays if self._reaches(commands, seed, carried)]
        plays = [self._plays[seed].play(commands) or [] for seed in seeds]
        results = [[(moment.location, moment.score) for moment in play] for play in plays]
        alike = [play for play, result in zip(plays, results, strict=True) if result == results[0]]
        touched = tuple(sorted(frozenset.union(*(touched_in(play, commands) for play in alike))))
        waypoints = ([Waypoint.of(moment, touched) for moment in play] for play in alike)
        start, *ends = (reduce(_merged, points) for points in zip(*waypoints, strict=True))
        same = commands == self._route.commands
        kept = self._route if same else replace(self._route, followed=0, worked=0, stops={}, joined={})
        proof, steps = Proof(len(alike), len(self._plays)), tuple(map(RouteStep, commands, ends))
        return replace(kept, start=start, steps=steps, spare=(), proof=proof, touched=touched)


def _merged(one: Waypoint, other: Waypoint) -> Waypoint:
    """Return the waypoint of both plays: what both carried, and everything that either saw."""
    carried = one.carried and other.carried and tuple(sorted(one.carried_set & other.carried_set))
    seen = one.seen and other.seen and tuple(sorted({*one.seen, *other.seen}))
    return replace(one, carried=carried, seen=seen)


@dataclass(slots=True)
class _SeededPlay:
    """Plays lists of commands from the opening with one seed, and reuses the common beginning with the last list."""

    game: Game
    seed: int
    limits: _Limits
    _commands: Commands = ()
    _states: list[SavedState] = field(default_factory=list)

    def play(self, commands: Commands) -> list[Observation] | None:
        """Return the opening and the observation after each command; ``None`` if one was refused or killed in vain.

        Raises ``GameError``.
        """
        pairs = zip(commands, self._commands, strict=False)
        known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if known:
            self.game.restore(self._states[known])
        else:
            self.game.reset(self.seed)
            self._states = [self.game.save()]
        self._commands, self._states = commands[:known], self._states[: known + 1]
        for command in commands[known:]:
            before, after = self.game.observation, self.game.step(command)
            self.limits.commands -= 1
            if after.refusal is not None or died_in_vain(before, after) or after.ending == "lost":
                return None
            self._commands += (command,)
            self._states.append(self.game.save())
        return [state.observation for state in self._states]
