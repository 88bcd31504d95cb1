"""The file ``routes.json``: the best routes of all runs in a work folder, and how they are described."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import NonNegativeInt, TypeAdapter

from session.files.document_store import read_json
from session.route import LEAST_TRUST, KnownRoute, RouteStep, key_of
from session.text import counted

LAST_SHOWN = 3  # commands
MOST_SCORES = 3
MOST_ROOMS = 6
MOST_THINGS = 4
LONGEST_DETOUR = 1.5
"""How many times as long as the shortest route to its goal one may be that carries more."""


@dataclass(frozen=True, slots=True)
class RouteBook:
    """All routes.

    latest: the highest number given to a route so far
    tried: how often each command was chosen at each location, by location id, in all episodes that have ended
    failed: the keys of beginnings of shortened routes that stopped at their last command, and of shortened routes that
        failed with every seed
    said: 8 hex digits of each sentence that the story printed in these episodes
    fatal: the commands that ended the story, by the mark of the moment (``Waypoint.mark``)
    deaths: how often each command ended the story at each location, by location id
    """

    version: Literal[1] = 1
    latest: NonNegativeInt = 0
    routes: tuple[KnownRoute, ...] = ()
    tried: Mapping[int, Mapping[str, NonNegativeInt]] = field(default_factory=dict)
    failed: tuple[str, ...] = ()
    said: frozenset[str] = frozenset()
    fatal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    deaths: Mapping[int, Mapping[str, NonNegativeInt]] = field(default_factory=dict)

    def render(self) -> str:
        """Return the text of the file, with each command on a line of its own."""
        routes = _listed(map(_rendered, self.routes), " ")
        tried = [f"{json.dumps(str(place))}: {json.dumps(counts)}" for place, counts in sorted(self.tried.items())]
        counted = "".join(f"{mark}\n {line}" for mark, line in zip(["", *"," * len(tried)], tried, strict=False))
        head = f'"version": {self.version}, "latest": {self.latest}, "routes": {routes}'
        rest = {"failed": self.failed, "said": sorted(self.said), "fatal": self.fatal, "deaths": self.deaths}
        told = "".join(f',\n"{name}": {json.dumps(value)}' for name, value in rest.items() if value)
        return f'{{{head},\n"tried": {{{counted}}}{told}}}\n'

    def find(self, number: int) -> KnownRoute | None:
        """Return the route of that number."""
        return next((route for route in self.routes if route.number == number), None)


@dataclass(frozen=True, slots=True)
class Learnt:
    """An edit: adds the routes of an episode.

    rooms: the rooms to which routes are wanted, the most wanted first
    tried, said, fatal, deaths: as in ``RouteBook``, of the episode
    """

    routes: tuple[KnownRoute, ...]
    rooms: tuple[int, ...] = ()
    tried: Mapping[int, Mapping[str, NonNegativeInt]] = field(default_factory=dict)
    said: frozenset[str] = frozenset()
    fatal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    deaths: Mapping[int, Mapping[str, NonNegativeInt]] = field(default_factory=dict)

    def apply_to(self, document: RouteBook) -> RouteBook:
        """Return the book with the best of the old and the new routes."""
        every = (*document.routes, *self.routes)
        scores = sorted({route.goal.number for route in every if route.goal.kind == "score"}, reverse=True)
        things = dict.fromkeys(route.goal.number for route in every if route.goal.kind == "thing")
        wanted = {"score": scores[:MOST_SCORES], "room": self.rooms[:MOST_ROOMS], "thing": tuple(things)[:MOST_THINGS]}
        kept = tuple(route for route in document.routes if route.goal.number in wanted[route.goal.kind])
        book = document if kept == document.routes else replace(document, routes=kept)
        for route in self.routes:
            if route.goal.number in wanted[route.goal.kind]:
                book = _with(book, route)
        if not self.tried:
            return book
        fatal = {
            mark: tuple(dict.fromkeys((*document.fatal.get(mark, ()), *commands)))
            for mark, commands in self.fatal.items()
        }
        return replace(
            book,
            tried=_added(document.tried, self.tried),
            said=document.said | self.said,
            fatal={**document.fatal, **fatal},
            deaths=_added(document.deaths, self.deaths),
        )


@dataclass(frozen=True, slots=True)
class FollowedRoute:
    """An edit: the route was followed, and stopped after the command of that number, from 1; 0: it came to its end.

    start: how many of its commands were left out at the beginning
    """

    key: str
    stopped_at: NonNegativeInt = 0
    start: NonNegativeInt = 0

    def apply_to(self, document: RouteBook) -> RouteBook:
        """Return the book with one try more of the route.

        One that broke off is tried as it was played, next time, and so are all others that begin as it did up to there.
        """
        routes = tuple(self._counted(route) if route.key == self.key else route for route in document.routes)
        book = document if routes == document.routes else replace(document, routes=routes)
        stopped = next((route for route in document.routes if route.key == self.key and route.spare), None)
        if stopped is None or not self.stopped_at:
            return book
        failed = tuple(dict.fromkeys((*book.failed, key_of(stopped.commands[: self.stopped_at]))))
        return replace(book, failed=failed, routes=tuple(_as_played(route, {*failed}) for route in book.routes))

    def _counted(self, route: KnownRoute) -> KnownRoute:
        tried = route.with_try(self.start, worked=not self.stopped_at)
        if not self.stopped_at:
            return tried
        at = _place_in(route.spare, route.steps[: self.stopped_at]) if route.spare else self.stopped_at
        tried = replace(tried, stops={**route.stops, at: route.stops.get(at, 0) + 1})
        return replace(tried, steps=route.spare, spare=(), joined={}) if route.spare else tried


@dataclass(frozen=True, slots=True)
class RemovedRoute:
    """An edit: a user removes the route."""

    key: str

    def apply_to(self, document: RouteBook) -> RouteBook:
        """Return the book without the route, or the same book if it does not contain the route."""
        routes = tuple(route for route in document.routes if route.key != self.key)
        return document if routes == document.routes else replace(document, routes=routes)


@dataclass(frozen=True, slots=True)
class TriedRoute:
    """An edit: a route was tried out, and these forms of it take its place."""

    key: str
    forms: tuple[KnownRoute, ...]

    def apply_to(self, document: RouteBook) -> RouteBook:
        """Return the book with the best of these forms and of other routes to the same goal."""
        route = next((route for route in document.routes if route.key == self.key), None)
        if route is None:
            return document
        book = replace(document, routes=tuple(each for each in document.routes if each is not route))
        if route.spare and all(len(form.steps) > len(route.steps) for form in self.forms):  # only all commands work
            book = replace(book, failed=tuple(dict.fromkeys((*book.failed, route.key))))
        for number, form in enumerate(self.forms):
            book = _with(book, form, number=None if number else route.number)
        return book


RouteEdit = Learnt | FollowedRoute | RemovedRoute | TriedRoute


def parse_routes(text: str, path: Path) -> RouteBook:
    """Return the routes that the text of the file ``path`` holds; none for "". Raises ``StoreError``."""
    return read_json(_FILE, text, path, "contains no routes")


_FILE = TypeAdapter(RouteBook)
_ROUTE = TypeAdapter(KnownRoute)


def _added(
    one: Mapping[int, Mapping[str, int]], other: Mapping[int, Mapping[str, int]]
) -> Mapping[int, Mapping[str, int]]:
    """Return the sums of two counts of commands by location id."""
    return {place: dict(Counter(one.get(place, {})) + Counter(other.get(place, {}))) for place in {**one, **other}}


def _with(book: RouteBook, new: KnownRoute, number: int | None = None) -> RouteBook:
    """Return the book with a new route if it is the shortest to its goal, or carries more for a few commands more.

    If its shortened form begins like one that stopped, the route is kept as it was played.

    number: its number, if it already has one
    """
    if not new.steps or (new.goal.kind == "score" and new.gain() <= 0):
        return book
    new = _as_played(new, {*book.failed})
    if any(len(route.steps) == len(new.steps) and route.commands == new.commands for route in book.routes):
        return book
    new = replace(new, number=number or book.latest + 1)
    goal = new.goal.kind, new.goal.number
    rivals = [route for route in book.routes if (route.goal.kind, route.goal.number) == goal]
    to_goal = [*rivals, new]
    shortest = min(to_goal, key=lambda route: (route.trust() < LEAST_TRUST, len(route.steps)))
    most = len(shortest.steps) * LONGEST_DETOUR
    in_reach = [route for route in to_goal if len(route.steps) <= most and route.trust() >= LEAST_TRUST]
    richest = max([shortest, *in_reach], key=lambda route: route.carries)
    if new not in (shortest, richest):
        return book
    others = [route for route in book.routes if route not in rivals]
    best = [shortest] if richest is shortest else [shortest, richest]
    kept = sorted([*others, *best], key=lambda route: route.number)
    return replace(book, latest=max(book.latest, new.number), routes=tuple(kept))


def _as_played(route: KnownRoute, failed: AbstractSet[str]) -> KnownRoute:
    """Return the route with all of its commands if its shortened form begins in one of the ways that failed."""
    beginnings = (key_of(route.commands[:length]) for length in range(1, len(route.steps) + 1))
    if not (route.spare and failed) or failed.isdisjoint(beginnings):
        return route
    return replace(route, steps=route.spare, spare=(), joined={})


def _place_in(whole: Iterable[RouteStep], part: Sequence[RouteStep]) -> int:
    """Return after how many of the steps all those of ``part``, which are among them in that order, were taken."""
    taken = 0
    for number, step in enumerate(whole, start=1):
        taken += step == part[taken]
        if taken == len(part):
            return number
    return len(part)


def _rendered(route: KnownRoute) -> str:
    fields = _ROUTE.dump_python(route, mode="json", exclude_defaults=True)
    lists = {name: fields.pop(name) for name in ("steps", "spare") if name in fields}
    head = json.dumps(fields)[1:-1]
    tail = [f'"{name}": {_listed(map(json.dumps, steps), "  ")}' for name, steps in lists.items()]
    return "{" + ", ".join([head, *tail]) + "}"


def _listed(items: Iterable[str], indent: str) -> str:
    """Return a JSON list with each item on a line of its own."""
    return "[" + ",".join(f"\n{indent}{item}" for item in items) + "]"


def route_aim(route: KnownRoute, done: int = 0) -> str:
    """Return what the route is for, in a word or two, and what it wins after ``done`` of its commands."""
    gain = route.gain(done)
    if route.goal.kind == "score":
        return f"+{gain}"
    goal = f"to {route.goal.name}" if route.goal.kind == "room" else f"take {route.goal.name}"
    return f"{goal}, +{gain}" if gain > 0 else goal


def route_line(route: KnownRoute, done: int = 0) -> str:
    """Return the route on a line, with the first of the commands that are left after ``done`` of them, and the last."""
    numbered = [f"{number}. {command}" for number, command in enumerate(route.commands[done:], start=1)]
    shown = numbered if len(numbered) <= LAST_SHOWN + 1 else [numbered[0], "…", *numbered[-LAST_SHOWN:]]
    left = f"{counted(len(numbered), 'turn')}{' from here' if done else ''}"
    return f"{route.number}: {route_aim(route, done)} in {left}, {route_record(route, done)}: {', '.join(shown)}"


def route_record(route: KnownRoute, done: int = 0) -> str:
    """Return the results of the route so far, counting its commands from number ``done``."""
    tries = route.tries(done)
    if route.spare and not tries.followed and route.proof is None:
        return "shortened, not tried yet"
    parts = [f"worked in {1 + tries.worked} of {counted(1 + tries.followed, 'episode')}"]
    if route.proof is not None:
        parts.append(f"in {route.proof.worked} of {route.proof.tried} trials")
    ahead = enumerate(route.commands[done:], start=1)
    stops = [f"{number} ({command})" for number, command in ahead if number + done in route.stops]
    if stops:
        parts.append(f"stopped at command {', '.join(stops)}")
    return ", ".join(parts)
