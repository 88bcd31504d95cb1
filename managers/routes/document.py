"""The file ``routes.json``: the best routes of all runs in a work folder, and how they are described."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from difflib import Match, SequenceMatcher
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from managers.plan import Played, Walked
from session.commands import plain_command
from session.errors import StoreError, first_problem
from session.files.markdown import BYTE_ORDER_MARK
from session.route import LEAST_TRUST, Route, RouteStep, key_of
from session.text import counted, one_line, with_numbers
from session.values import Observation

MOST_SKIPPED = 6  # commands that a line names although they are not in it
MOST_SHOWN = 2400  # characters of the lines about all routes together; the first is shown anyway
MOST_SCORES = 3
MOST_ROOMS = 6
MOST_THINGS = 4
LEAST_RUN = 8
"""The least number of consecutive commands for which a line about a route refers to equal ones in the same prompt."""
LONGEST_DETOUR = 1.5
"""How many times as long as the shortest route to its goal one may be that carries more."""


class Effect(NamedTuple):
    """What a command did: the location id after it, and the numbers of the things that the player got and lost."""

    to_id: int
    gained: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()

    @property
    def things(self) -> frozenset[int]:
        """The things that the player got and, below 0, lost."""
        return frozenset([*self.gained, *(-num for num in self.lost)])


@dataclass(frozen=True)
class RouteBook:
    """All routes.

    latest: the highest number given to a route so far
    tried: how often each command was chosen at each location, by location id, in all episodes that have ended
    failed: the keys of beginnings of shortened routes that stopped at their last command, and of shortened routes that
        failed with every seed
    said: 8 hex digits of each sentence that the story printed in these episodes
    names: the name of each thing that the player had in them, by its number
    fatal: the commands that ended the story, by the mark of the moment (``Waypoint.mark``)
    deaths: how often each command ended the story at each location, by location id
    visits: how many turns ended at each location with the player holding these things (``held_key``), by location id
    effects: what each command did when it was last played at each location, by location id
    """

    version: Literal[1] = 1
    latest: NonNegativeInt = 0
    routes: tuple[Route, ...] = ()
    tried: Mapping[int, Mapping[str, NonNegativeInt]] = field(default_factory=dict)
    failed: tuple[str, ...] = ()
    said: frozenset[str] = frozenset()
    names: Mapping[int, str] = field(default_factory=dict)
    fatal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    deaths: Mapping[int, Mapping[str, NonNegativeInt]] = field(default_factory=dict)
    visits: Mapping[int, Mapping[str, NonNegativeInt]] = field(default_factory=dict)
    effects: Mapping[int, Mapping[str, Effect]] = field(default_factory=dict)

    def render(self) -> str:
        """Return the text of the file, with each command on a line of its own."""
        routes = _listed(map(_rendered, self.routes), " ")
        tried = [f"{json.dumps(str(place))}: {json.dumps(counts)}" for place, counts in sorted(self.tried.items())]
        counted = "".join(f"{mark}\n {line}" for mark, line in zip(["", *"," * len(tried)], tried, strict=False))
        head = f'"version": {self.version}, "latest": {self.latest}, "routes": {routes}'
        rest = {"failed": self.failed, "said": sorted(self.said), "names": self.names}
        rest |= {"fatal": self.fatal, "deaths": self.deaths, "visits": self.visits, "effects": self.effects}
        others = "".join(f',\n"{name}": {json.dumps(value)}' for name, value in rest.items() if value)
        return f'{{{head},\n"tried": {{{counted}}}{others}}}\n'

    def find(self, number: int) -> Route | None:
        """Return the route of that number."""
        return next((route for route in self.routes if route.number == number), None)

    @cached_property
    def _by_commands(self) -> Mapping[tuple[str, ...], Sequence[Route]]:
        found: defaultdict[tuple[str, ...], list[Route]] = defaultdict(list)
        for route in self.routes:
            found[route.commands].append(route)
        return found

    @cached_property
    def _lengths(self) -> frozenset[int]:
        return frozenset(map(len, self._by_commands))

    def promise(self, route: Route, done: int) -> float:
        """Return the points to be expected from a route of the book after so many of its commands.

        If it begins with another one, what that one promises is won even if the rest fails.
        """
        whole = (self.find(route.number) or route).commands  # the route itself may end earlier
        begun = (whole[:length] for length in self._lengths if done < length <= len(whole))
        others = (each for commands in begun for each in self._by_commands.get(commands, ()))
        safe = max((each.promise(done) for each in others if each.number != route.number), default=0)
        return route.promise(done) + (1 - route.trust(done)) * max(safe, 0)

    @cached_property
    def effects_at(self) -> Mapping[int, Sequence[tuple[str, Effect]]]:
        """What plain commands did at each location, as far as it is known."""
        found: defaultdict[int, list[tuple[str, Effect]]] = defaultdict(list)
        for place, effects in self.effects.items():
            found[place] += [(plain_command(action), effect) for action, effect in effects.items()]
        for route in self.routes:
            for step, (before, after) in zip(route.steps, pairwise(route.points), strict=True):
                here, there, one, other = before.location_id, after.location_id, before.carried, after.carried
                if here is not None and there is not None and one is not None and other is not None:
                    effect = Effect(there, tuple({*other} - {*one}), tuple({*one} - {*other}))
                    found[here].append((plain_command(step.command), effect))
        return found

    @cached_property
    def walked(self) -> Walked:
        """What was played in earlier games, as far as it is kept."""
        leads_to: defaultdict[Played, set[int]] = defaultdict(set)
        pairs: set[tuple[Played, Played]] = set()
        for place, effects in self.effects.items():
            for command, effect in effects.items():
                leads_to[place, plain_command(command)].add(effect.to_id)
        for route in self.routes:
            for form in (route, replace(route, steps=route.spare)) if route.spare else (route,):
                played = form.played()
                pairs.update(pairwise(played))
                for each, step in zip(played, form.steps, strict=True):
                    to = step.leads_to.location_id
                    leads_to[each].update([] if to is None else [to])
        known = {each: to for each, to in leads_to.items() if to}
        return Walked(known, pairs, is_whole=bool(self.effects))

    def with_episode(self, episode: RouteBook, rooms: Sequence[int] = ()) -> RouteBook:
        """Return the book with what an episode taught, and the best of the old and the new routes.

        rooms: the rooms to which routes are wanted, the most wanted first
        """
        every = (*self.routes, *episode.routes)
        scores = sorted({route.goal.number for route in every if route.goal.kind == "score"}, reverse=True)
        things = dict.fromkeys(route.goal.number for route in every if route.goal.kind == "thing")
        wanted = {"score": scores[:MOST_SCORES], "room": rooms[:MOST_ROOMS], "thing": tuple(things)[:MOST_THINGS]}
        book = self._with_routes(route for route in self.routes if route.goal.number in wanted[route.goal.kind])
        for route in episode.routes:
            if route.goal.number in wanted[route.goal.kind]:
                book = _with(book, route)
        if not episode.tried:
            return book
        fatal = {
            mark: tuple(dict.fromkeys((*self.fatal.get(mark, ()), *commands)))
            for mark, commands in episode.fatal.items()
        }
        return replace(
            book,
            tried=_added(self.tried, episode.tried),
            said=self.said | episode.said,
            names={**self.names, **episode.names},
            fatal={**self.fatal, **fatal},
            deaths=_added(self.deaths, episode.deaths),
            visits=_added(self.visits, episode.visits),
            effects={
                place: {**self.effects.get(place, {}), **episode.effects.get(place, {})}
                for place in {**self.effects, **episode.effects}
            },
        )

    def with_try(self, key: str, stopped_at: int = 0, start: int = 0) -> RouteBook:
        """Return the book with one try more of the route with that key (specification, Trust in routes).

        stopped_at: the number of the command after which it stopped, from 1; 0: it came to its end
        start: how many of its commands were left out at the beginning
        """
        tried = next((route for route in self.routes if route.key == key), None)
        if tried is None:
            return self
        again = tried.with_try(start, worked=not stopped_at)
        if stopped_at:
            again = replace(again, stops={**again.stops, stopped_at: again.stops.get(stopped_at, 0) + 1})
        book = self._with_routes(again if route is tried else route for route in self.routes)
        if not stopped_at or not tried.spare:
            return book
        failed = tuple(dict.fromkeys((*book.failed, key_of(tried.commands[:stopped_at]))))
        return replace(book, failed=failed, routes=tuple(_unshortened(route, {*failed}) for route in book.routes))

    def without(self, key: str) -> RouteBook:
        """Return the book without the route with that key."""
        return self._with_routes(route for route in self.routes if route.key != key)

    def with_forms(self, key: str, forms: Sequence[Route]) -> RouteBook:
        """Return the book with the best of these forms, found when the route was tried out, and of its other rivals."""
        route = next((route for route in self.routes if route.key == key), None)
        if route is None:
            return self
        book = self._with_routes(each for each in self.routes if each is not route)
        if route.spare and all(len(form.steps) > len(route.steps) for form in forms):  # only all commands work
            book = replace(book, failed=tuple(dict.fromkeys((*book.failed, route.key))))
        for number, form in enumerate(forms):
            book = _with(book, form, number=None if number else route.number)
        return book

    def _with_routes(self, routes: Iterable[Route]) -> RouteBook:
        """Return the book with these routes, or the same book if it has them."""
        kept = tuple(routes)
        return self if kept == self.routes else replace(self, routes=kept)


def parse_routes(text: str, path: Path) -> RouteBook:
    """Return the routes that the text of the file ``path`` holds; none for "". Raises ``StoreError``."""
    try:
        return _FILE.validate_json(text.removeprefix(BYTE_ORDER_MARK) or "{}")
    except ValidationError as error:
        raise StoreError(
            f"{path} contains no routes that this version reads ({first_problem(error)}); "
            "correct it, or move it away to start a new one"
        ) from error


def held_key(things: Iterable[int]) -> str:
    """Return the numbers of the things that the player holds, in order, as the keys of ``RouteBook.visits``."""
    return " ".join(map(str, sorted(things)))


_FILE = TypeAdapter(RouteBook)
_ROUTE = TypeAdapter(Route)


def _added(
    one: Mapping[int, Mapping[str, int]], other: Mapping[int, Mapping[str, int]]
) -> Mapping[int, Mapping[str, int]]:
    """Return the sums of two counts of commands by location id."""
    return {place: dict(Counter(one.get(place, {})) + Counter(other.get(place, {}))) for place in {**one, **other}}


def _with(book: RouteBook, new: Route, number: int | None = None) -> RouteBook:
    """Return the book with a new route if it is the shortest to its goal, or carries more for a few commands more.

    number: its number, if it already has one
    """
    if not new.steps or (new.goal.kind == "score" and new.gain() <= 0):
        return book
    new = _unshortened(new, {*book.failed})
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


def _unshortened(route: Route, failed: AbstractSet[str]) -> Route:
    """Return the route with all of its commands if a shortened route that begins like it has failed."""
    begun = (key_of(route.commands[:length]) for length in range(1, len(route.steps) + 1))
    if not route.spare or failed.isdisjoint(begun):
        return route
    return replace(route, steps=route.spare, spare=(), stops={}, joined={})


def _rendered(route: Route) -> str:
    fields = _ROUTE.dump_python(route, mode="json", exclude_defaults=True)
    lists = {name: fields.pop(name) for name in ("steps", "spare") if name in fields}
    head = json.dumps(fields)[1:-1]
    tail = [f'"{name}": {_listed(map(json.dumps, steps), "  ")}' for name, steps in lists.items()]
    return "{" + ", ".join([head, *tail]) + "}"


def _listed(items: Iterable[str], indent: str) -> str:
    """Return a JSON list with each item on a line of its own."""
    return "[" + ",".join(f"\n{indent}{item}" for item in items) + "]"


def route_aim(route: Route, done: int = 0) -> str:
    """Return what the route is for, in a word or two, what it wins after ``done`` of its commands, and then loses."""
    gain = route.gain(done)
    points = f"{'perhaps ' if route.doubts else ''}+{gain}{f' (then {route.loss})' if route.loss else ''}"
    if route.goal.kind == "score":
        return points
    is_shared = any(each.place == route.goal.name and each.location_id != route.goal.number for each in route.points)
    number = f"L{route.goal.number} " if is_shared else ""
    name = route.goal.name or f"object #{route.goal.number}"
    goal = f"to {number}{name}" if route.goal.kind == "room" else f"take {name}"
    return f"{goal}, {points}" if gain > 0 else goal


def last_command(steps: Sequence[RouteStep]) -> str:
    """Return the last of these commands with the location where it is typed, for display."""
    place = one_line(steps[-2].leads_to.place) if len(steps) > 1 else ""
    return f"`{one_line(steps[-1].command)}`{f' at {place}' if place else ''}"


class RouteLines(NamedTuple):
    """Lines about routes, the numbers of these routes, and a line about how many have no room; "" if all have."""

    lines: list[str]
    numbers: tuple[int, ...]
    left_out: str


def route_lines(
    found: Sequence[tuple[Route, int]],
    names: Mapping[int, str],
    most: int,
    shown_commands: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> RouteLines:
    """Return at most so many lines about routes with all their commands, the best first.

    A route with which a longer one begins has no line of its own.

    found: routes, the best first, each with the number of its commands that are done
    names: of things, by number
    shown_commands: the plain commands of the plan and of games in the same prompt, to which lines refer, by their names
    """
    ahead = [route.commands[done:] for route, done in found]
    begun: dict[tuple[str, ...], int] = {}  # the longest that goes on from each end of one
    ends = {len(commands) for commands in ahead}
    for at in sorted(range(len(ahead)), key=lambda at: -len(ahead[at])):
        for end in ends:
            begun.setdefault(ahead[at][:end], at)
    longest = [*dict.fromkeys(begun[commands] for commands in ahead)]
    lines: list[str] = []
    for at in longest[:most]:
        line = route_line(*found[at], names=names, shown_commands=shown_commands)
        if lines and sum(map(len, lines)) + len(line) > MOST_SHOWN:
            break
        lines.append(line)
    others = len(longest) - len(lines)
    left_out = f"{counted(others, 'more route')} not shown." if others else ""
    return RouteLines(lines, tuple(found[at][0].number for at in longest[: len(lines)]), left_out)


def route_line(
    route: Route,
    done: int = 0,
    *,
    names: Mapping[int, str] | None = None,
    shown_commands: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """Return the route on a line: its aim, its record, all commands that are left after ``done`` of them, its things.

    names: of the things that it may take, by number
    shown_commands: as in ``route_lines``
    """
    now, left = route.points[done], f"{counted(len(route.steps) - done, 'turn')}{' from here' * bool(done)}"
    more = sorted(route.steps[-1].leads_to.carried_set - now.carried_set)
    things = ", ".join(with_numbers(Counter(_name_of(each, names) for each in more if each in (names or {}))))
    then = [f"then you also hold: {things}" if things else "", route.doubts]
    unchanged = ", ".join(str(number) for number, step in enumerate(route.steps[done:], start=1) if step.only_text)
    rest = filter(None, [f"only text: {unchanged}" if unchanged else "", *then])
    aim, record, commands = route_aim(route, done), route_record(route, done), _numbered(route, done, shown_commands)
    return "; ".join([f"{route.number}: {aim} in {left}, {record}: {commands}", *rest])


def doubts_of(
    route: Route,
    done: int,
    now: Observation,
    changed: Mapping[tuple[int | None, str], Collection[int]],
    names: Mapping[int, str],
) -> str:
    """Return how this game differs from that of a route before the point at which it is joined now; "" if it does not.

    Of the commands that only that game or only this one has, the latest are named, those at places ahead first.

    changed: the things that the commands of this game changed, by location id and plain command
    names: of things, by number
    """
    then, inside = route.points[done], now.inside.num if now.inside else 0
    missing = [] if now.inventory is None else sorted(then.carried_set - now.carried)
    without = ", ".join(with_numbers(Counter(_name_of(each, names) for each in missing)))
    ahead = {point.location_id for point in route.points[done:]}
    reasons = {"not held now": without}
    if then.inside not in (None, inside):
        seen = {thing.num: thing.name for thing in now.in_reach.values()}
        out_of = {"not tried outside": _name_of(then.inside or 0, {**names, **seen})}
        reasons |= {"not tried in or on": now.inside.label} if now.inside else out_of
    commands = {"not done in this game": route.not_done(done, changed)}
    commands["done in this game only"] = route.only_done(done, now, changed)
    for what, found in commands.items():
        found.sort(key=lambda each: each[0] in ahead)
        more = [f"{len(found) - MOST_SKIPPED} more"] if len(found) > MOST_SKIPPED else []
        latest = (f"{one_line(command)} (L{place})" for place, command in found[-MOST_SKIPPED:])
        reasons[what] = ", ".join([*more, *latest])
    return "; ".join(f"{what}: {each}" for what, each in reasons.items() if each)


def _name_of(number: int, names: Mapping[int, str] | None) -> str:
    return (names or {}).get(number) or f"object #{number}"


def _numbered(route: Route, done: int, shown_commands: Mapping[str, Sequence[str]]) -> str:
    """Return the commands of a route that are left, with their numbers and the points that each one won or lost.

    Of at least ``LEAST_RUN`` consecutive commands that the plan or a game has in the same order, only the numbers are
    given, here and there. A route refers to one of them only, to that which has most of its commands.
    """
    shown, marks, score = list[str](), list[str](), route.score_after(done)
    for number, (command, step) in enumerate(zip(route.commands[done:], route.steps[done:], strict=True), start=1):
        before, score = score, step.leads_to.score if step.leads_to.score is not None else score
        change = 0 if before is None or score is None else score - before
        shown.append(f"{number}. {command}{f' ({change:+})' if change else ''}")
        marks.append(f"{number}: {change:+}" if change else "")
    plain = tuple(map(plain_command, route.commands))
    runs = {name: [*_runs_after(done, commands, plain)] for name, commands in shown_commands.items()}
    name = max(runs, key=lambda name: sum(each.size for each in runs[name]), default="")
    for there, here, size in reversed(runs.get(name, ())):
        points = ", ".join(filter(None, marks[here : here + size]))
        where = f"in {name}" if there == here else f"{there + 1} to {there + size} of {name}"
        shown[here : here + size] = [f"{here + 1} to {here + size} as {where}{f' ({points})' if points else ''}"]
    return ", ".join(shown)


def _runs_after(done: int, commands: Sequence[str], others: tuple[str, ...]) -> Iterator[Match]:
    """Yield where at least ``LEAST_RUN`` commands in a row are equal, in the order of both.

    done: how many commands at the beginning of the others are left out
    """
    for there, here, size in _matches(tuple(commands), others):
        skipped = max(0, done - here)
        if size - skipped >= LEAST_RUN:
            yield Match(there + skipped, here + skipped - done, size - skipped)


@lru_cache(maxsize=64)  # the same routes are shown each turn
def _matches(commands: tuple[str, ...], others: tuple[str, ...]) -> Sequence[Match]:
    return SequenceMatcher(None, commands, others, autojunk=False).get_matching_blocks()


def route_record(route: Route, done: int = 0) -> str:
    """Return the results of the route so far, counting its commands from number ``done``."""
    tries, played = route.tries(done), not route.spare  # the original play is not a try of a shortened route
    parts = []
    if route.spare and not tries.worked and route.proof is None:
        parts.append("shortened, not yet played to its end" if tries.followed else "shortened, not tried yet")
    elif played + tries.followed:
        parts.append(f"worked in {played + tries.worked} of {counted(played + tries.followed, 'episode')}")
    if route.proof is not None:
        parts.append(f"{'' if parts else 'worked '}in {route.proof.worked} of {route.proof.tried} trials")
    ahead = enumerate(route.commands[done:], start=1)
    stops = [f"{number} ({command})" for number, command in ahead if number + done in route.stops]
    if stops:
        parts.append(f"stopped at command {', '.join(stops)}")
    return ", ".join(parts)
