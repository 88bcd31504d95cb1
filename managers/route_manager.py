"""Learns routes from play, and shows them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from types import MappingProxyType

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.known import ROUTES_SHOWN, Known, route_key
from managers.map_manager import MapManager
from managers.plan import Played, Walked
from managers.routes.document import (
    Effect,
    RouteBook,
    RouteLines,
    doubts_of,
    held_key,
    parse_routes,
    route_aim,
    route_lines,
)
from managers.routes.trail import Trail
from managers.transcripts.document import Game
from session.commands import plain_command
from session.context import OfferedRoute, Place, PromptSection
from session.events import EpisodeEnd, RoutesProven
from session.files.document_store import DocumentStore
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.route import LEAST_TRUST, Course, Goal, Route, RouteStep, mark_of
from session.text import counted, points_changed
from session.values import Observation, TurnRecord
from zorkgpt.mapping.navigation import fewest_moves

ROUTES_FILE = "routes.json"
FATAL = 1000
"""Times that a command counts as tried where it ended the story before."""

RouteStore = DocumentStore[RouteBook]


def open_routes(workdir: Path) -> RouteStore:
    """Open the routes of a work folder. Raises ``StoreError``."""
    path = workdir / ROUTES_FILE
    return DocumentStore(path, partial(parse_routes, path=path))


class RouteManager(BaseManager):
    """Keeps ``routes.json`` in the work folder: commands from the opening that led to points, rooms and objects.

    At the end of an episode, its routes are written to the file.

    map_manager: provides ways between locations
    games: returns earlier games
    shown_commands: returns, by the title of the section of the prompt that has them, the plain commands of the plan and
        of games, by name, to which lines about routes may refer

    Raises ``StoreError`` if the file cannot be read.
    """

    files = (SharedFile(ROUTES_FILE),)

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        map_manager: MapManager,
        *,
        games: Callable[[], Iterable[Game]] = tuple,
        shown_commands: Callable[[], Mapping[str, Mapping[str, Sequence[str]]]] = dict,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self._map = map_manager
        self._games = games
        self._shown_commands = shown_commands
        self._store = open_routes(config.zork_game_workdir)
        self.stores = (self._store,)
        self.reset()

    @property
    def book(self) -> RouteBook:
        """All routes that are kept."""
        return self._store.document

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._trail = Trail()
        self._done: list[Played] = []  # location ids and plain commands of this game
        self._led: list[tuple[Played, int]] = []  # where they led
        self._changed: dict[Played, frozenset[int]] = {}  # those that did something, with the things that they changed
        self._won: dict[Played, int] = {}  # those that won points, with how often they were played before
        self._times: Counter[Played] = Counter()  # how often commands were played, without moves that failed
        self._won_with: set[int] = set()  # the things that they got
        self._has_followed = False
        self._failed: set[tuple[str, str]] = set()  # commands that stopped a route on the spot, each with the mark then
        self._found: list[tuple[Route, int]] = []  # the routes from here, of the moment ``_found_at``
        self._found_at: tuple[object, ...] = (self,) * 4

    def times_tried(self, action: str) -> int:
        """Return how often the command was chosen here in earlier episodes, plus how often its result was seen.

        What is done with a thing that the player has had is counted wherever it was done. What ended the story at a
        moment like this one, or at least every second time at this location, counts as tried very often.
        """
        state, here = self.game_state, self.game_state.current_room_id or 0
        times = self.book.tried.get(here, {}).get(action, 0)
        is_fatal_now = state.turn_count > 0 and action in self.book.fatal.get(mark_of(state.latest), ())
        if is_fatal_now or 0 < times <= 2 * self.book.deaths.get(here, {}).get(action, 0):
            times += FATAL
        is_handling = not self._trail.held_words.isdisjoint(action.lower().split())
        if is_handling:
            places = [*self.book.tried.items(), *self._trail.tried.items()]
            times += sum(counts.get(action, 0) for place, counts in places if place != here)
        return times + self._times_seen(here, action, is_handling=is_handling)

    def _times_seen(self, here: int, action: str, *, is_handling: bool) -> int:
        """Return how many turns ended where the command leads, with the same things held; 0 if its effect is unknown.

        is_handling: the command's effect elsewhere counts, because it handles a thing that the player has had
        """
        known = (self._trail.effects, self.book.effects)
        effect = next((effects[here][action] for effects in known if action in effects.get(here, {})), None)
        if effect is None and is_handling:
            elsewhere = (effects[place].get(action) for effects in known for place in effects)
            found = next(filter(None, elsewhere), None)
            effect = None if found is None else found._replace(to_id=here)
        state = self.game_state
        if effect is None or not state.turn_count or state.latest.inventory is None:
            return 0
        held = state.latest.carried.difference(effect.lost).union(effect.gained)
        seen = (
            visits.get(effect.to_id, {}).get(held_key(held), 0) for visits in (self._trail.visits, self.book.visits)
        )
        return sum(seen)

    def offers(self, observation: Observation) -> tuple[OfferedRoute, ...]:
        """Return the routes that can be followed now, best first."""
        found = self._from_here(observation)
        promising = [each for each in found if self.book.promise(*each) > 0 and not self._has_followed]
        # Of two routes that promise as many points, the one that was followed less comes first.
        best = min(promising, key=lambda each: (-self.book.promise(*each), each[0].followed), default=None)
        return tuple(
            OfferedRoute(route.number, f"follow route {route.number} ({route_aim(route, done)})", best == (route, done))
            for route, done in found
        )

    def course(self, number: int, until: int | None, observation: Observation) -> Course | str:
        """Return the rest of a route from here, or why it cannot be followed. ``until``: its last command, from 1."""
        if until is not None and until < 1:
            return "`until` is the number of a command, from 1"
        found = self._from_here(observation)
        for route, done in found:
            if route.number == number:
                whole = self.book.find(number) or route
                steps = self._played(route)[done:][:until]
                gain = route.gain(done)
                point = route.points[done]
                missing = point.carried_set - observation.carried
                return Course(
                    "route",
                    f"Route {route.number}",
                    steps,
                    known=len(steps),
                    aim=points_changed(gain) if route.goal.kind == "score" else route_aim(route, done),
                    key=whole.key,
                    skipped=done,
                    touched=tuple(number for number in route.touched if number not in missing),
                    is_part=done + len(steps) < len(whole.steps),
                    in_sight=frozenset(thing.num for thing in observation.visible or ()).difference(point.seen or ()),
                )
        numbers = ", ".join(str(route.number) for route, _ in found) or "none"
        return f"there is no route {number} from here; those that begin here: {numbers}"

    def note_followed(self, course: Course, number: int, record: TurnRecord, problem: str) -> None:
        """Count a try of a route that has ended with its command of that number, from 1; ``problem``: why it failed."""
        if course.key and (problem or not course.is_part):
            stopped_at = course.skipped + number if problem else 0
            self._store.defer(partial(RouteBook.with_try, key=course.key, stopped_at=stopped_at, start=course.skipped))
        if problem and not record.moved and (mark := mark_of(record.after)):
            self._failed.add((record.action, mark))

    @override
    def learn(self, record: TurnRecord) -> None:
        touched = self._trail.add(record)
        self._has_followed |= any(verdict.source == "route" for verdict in record.verdicts)
        done = record.before.location_id, plain_command(record.action)
        if (record.score_change or 0) > 0:
            self._won.setdefault(done, self._times[done])
            self._won_with.update(thing.num for thing in record.gained)
        if record.after.refusal is None:
            self._done.append(done)
            self._times[done] += record.moved or not self.movements.is_direction(done[1])
            if self._trail.has_changed:
                self._changed[done] = self._changed.get(done, frozenset()) | touched
            if record.after.location is not None and not record.after.died:
                self._led.append((done, record.after.location.num))

    @override
    def finish(self, end: EpisodeEnd) -> None:
        routes = tuple(self._trail.routes(self.game_state.episode))
        if self._trail.tried:
            trail, rooms = self._trail, self._wanted_rooms(routes)
            episode = RouteBook(
                routes=routes,
                tried=trail.tried,
                said=frozenset(trail.said),
                names=trail.held,
                fatal=trail.fatal,
                deaths=trail.deaths,
                visits=trail.visits,
                effects=trail.effects,
            )
            self._store.apply(lambda book: book.with_episode(episode, rooms))
        self._store.demand()

    def untried(self) -> list[Route]:
        """Return the routes that were never tried out, those to the highest scores first."""
        routes = [route for route in self.book.routes if route.proof is None]
        return sorted(routes, key=lambda route: (route.goal.kind != "score", -route.gain(), len(route.steps)))

    def take_proof(self, proven: RoutesProven) -> None:
        """Put the proven forms of routes in their places."""
        for route in proven.routes:
            self._store.apply(partial(RouteBook.with_forms, key=route.key, forms=route.forms))

    def walked(self) -> Walked:
        """Return what was played in this game and on the known routes."""
        known = self.book.walked
        leads_to = dict(known.leads_to)
        exits = self._map.game_map.connections.items()
        of_map = (((place, exit_), to) for place, leads in exits for exit_, to in leads.items())
        for played, to in (*self._led, *of_map):
            leads_to[played] = {*leads_to.get(played, ()), to}
        pairs, won_after = {*known.pairs, *pairwise(self._done)}, {**self._won}
        for game in self._games():
            start: int | None = self.game_state.opening_id
            places = [*accumulate(game.turns, lambda here, turn: turn.to_id or here, initial=start)]
            commands = (plain_command(turn.action) for turn in game.turns)
            all_played: list[Played] = [*zip(places, commands, strict=False)]
            pairs.update(pairwise(all_played))
            for each, to in zip(all_played, places[1:], strict=True):
                leads_to.setdefault(each, set() if to is None else {to})  # deaths too, after which a story may go on
            times = defaultdict[Played, int](int)
            for each, turn in zip(all_played, game.turns, strict=True):
                if turn.change > 0:
                    won_after.setdefault(each, times[each])
                times[each] += turn.to_id is not None or not self.movements.is_direction(each[1])
        return replace(known, leads_to=leads_to, pairs=pairs, won_after=won_after)

    def games_played(self) -> Iterator[list[tuple[str, int]]]:
        """Yield the plain commands of this game and of earlier ones, each with the points that it won or lost."""
        own = ((turn.action, turn.score_change) for turn in self.game_state.turns if turn.after.refusal is None)
        earlier = (((turn.action, turn.change) for turn in game.turns) for game in self._games())
        for game in (own, *earlier):
            yield [(plain_command(action), points or 0) for action, points in game]

    def effects_of(self, command: str, location_id: int) -> Iterator[Effect]:
        """Yield what a plain command, or one with other words for its things, did at a location in earlier games."""
        for known, effect in self.book.effects_at.get(location_id, ()):
            if self.vocabulary.means_same(known, command):
                yield effect

    def things_of(self, location_id: int | None, command: str) -> frozenset[int]:
        """Return the things that a plain command got at a location in earlier games and, below 0, lost."""
        effects = [] if location_id is None else self.effects_of(command, location_id)
        return frozenset(num for each in effects for num in each.things)

    def shown(self, observation: Observation) -> tuple[Sequence[tuple[Route, int]], RouteLines]:
        """Return the best routes from here, each with the number of commands done, and their lines."""
        best = self._best(observation)
        lines = route_lines(best, self.book.names, ROUTES_SHOWN)
        return [each for each in best if each[0].number in lines.numbers], lines

    def _best(self, observation: Observation) -> list[tuple[Route, int]]:
        found = self._worth_showing(self._from_here(observation), observation.location_id)
        return [(replace(route, steps=self._played(route)), done) for route, done in found]

    def _worth_showing(self, found: Sequence[tuple[Route, int]], here: int | None) -> Iterator[tuple[Route, int]]:
        """Yield the routes but those for which a shorter route with the same things or a known way does as well.

        Without points left, one of a game that differs from this one is left out, too.
        """
        ways = [(route.goal, len(route.steps) - done, route.steps[-1].leads_to.carried_set) for route, done in found]
        shortest: defaultdict[Goal, dict[AbstractSet[int], int]] = defaultdict(dict)  # by the things that it carries
        for goal, length, things in ways:
            shortest[goal][things] = min(length, shortest[goal].get(things, length))
        moves: Mapping[int, int] | None = None
        for (route, done), (goal, length, things) in zip(found, ways, strict=True):
            if any(left < length and others >= things for others, left in shortest[goal].items()):
                continue
            if route.doubts and not route.gain(done):
                continue
            if goal.kind == "room" and not route.gain(done) and here is not None:
                moves = fewest_moves(self._map.game_map, here) if moves is None else moves
                if moves.get(goal.number, length + 1) <= length:
                    continue
            yield route, done

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        if self.config.agent.reasoning_length is not None:
            return None  # a small model chooses from a list, which has the route that it may follow
        best = self._best(observation)
        by_section = {title: commands for title, commands in self._shown_commands().items() if commands}
        whole = self._section_of(best)
        if not (best and by_section):
            return whole
        shown_commands = {name: each for commands in by_section.values() for name, each in commands.items()}
        section = self._section_of(best, shown_commands)
        return replace(section, refers_to=tuple(by_section), instead=whole)

    def _section_of(
        self, best: Sequence[tuple[Route, int]], shown_commands: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> PromptSection:
        lines, numbers, left_out = route_lines(best, self.book.names, ROUTES_SHOWN, shown_commands)
        text = "\n".join(filter(None, [*lines, left_out]))
        return PromptSection("ROUTES", text, 5, Place.HERE, tuple(map(route_key, numbers)), is_of_plan=True)

    @override
    def outlook(self) -> str:
        routes = sorted(((route, 0) for route in self._trusted()), key=self._by_gain_per_turn)
        if not routes:
            return ""
        best, most = max((route for route, _ in routes), key=Route.gain), self.config.max_turns_per_episode
        route = f"; the route to +{best.gain()} takes {len(best.steps)}" if best.gain() > 0 else ""
        limit = f"An episode has at most {counted(most, 'turn')}{route}."
        offered = [*self._worth_showing(routes, self.game_state.opening_id)]  # as at the next opening, for its numbers
        lines, _, left_out = route_lines(offered, self.book.names, ROUTES_SHOWN)
        return "\n".join(filter(None, [*(f"Route {line}" for line in lines), left_out, limit]))

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "routes",
            "state": {"file": str(self._store.path)},
            "metrics": {
                "routes": len(self.book.routes),
                "trusted": len(self._trusted()),
                "best_gain": max((route.gain() for route in self.book.routes), default=0),
                "unsaved": self._store.unsaved,
            },
        }

    @override
    def known(self) -> Known:
        from_here = tuple(self._from_here(self.game_state.latest))
        return Known(routes=self.book.routes, usable=len(self._trusted()), from_here=from_here)

    def _trusted(self) -> list[Route]:
        least = self.config.routes.shuffled  # a single step cannot be played in another order
        return [route for route in self.book.routes if len(route.steps) > least and route.trust() >= LEAST_TRUST]

    def _from_here(self, observation: Observation) -> list[tuple[Route, int]]:
        """Return the routes that can be joined now, best first, each with the number of commands already done.

        Their scores count from the present one. A route whose goal was reached ends with its last points, if any. One
        whose next command stopped a route here is left out until something changes.
        """
        now = (observation, self.book, self.game_state, len(self._failed))
        if all(old is new for old, new in zip(self._found_at, now, strict=True)):
            return self._found
        mark, is_opening = mark_of(observation), self.game_state.turn_count == 0
        found = []
        for route in self.book.routes:
            done = 0 if is_opening else route.point_like(observation, self._done, self.book.names)
            if done is None or route.trust(done) < LEAST_TRUST or len(route.steps) <= self.config.routes.shuffled:
                continue
            now_route = route.from_now(done, observation.score, self._won, self._won_with)
            is_reached = now_route.goal.kind == "score" or self._trail.has_reached(now_route.goal)
            if not is_opening and is_reached:
                if now_route.gain(done) <= 0:
                    continue
                now_route = now_route if self.config.routes.shuffled else now_route.to_last_point(done)
            if (self._played(route)[done].command, mark) not in self._failed:
                doubts = "" if is_opening else doubts_of(route, done, observation, self._changed, self.book.names)
                found.append((replace(now_route, doubts=doubts) if doubts else now_route, done))
        self._found_at, self._found = now, sorted(found, key=self._by_gain_per_turn)
        return self._found

    def _played(self, route: Route) -> tuple[RouteStep, ...]:
        """Return the steps of a route as they are played, which is in another order in the control of an ablation."""
        if not self.config.routes.shuffled:
            return route.steps
        # In another order, what was recorded after a command says nothing of what the command changes.
        steps = tuple(RouteStep(step.command, replace(step.leads_to, mark="")) for step in route.steps)
        middle = len(steps) // 2
        return steps[middle:] + steps[:middle]

    def _wanted_rooms(self, routes: tuple[Route, ...]) -> tuple[int, ...]:
        """Return the rooms that routes are kept to: those with untried exits first, then those farthest away."""
        rooms = {route.goal.number for route in (*routes, *self.book.routes) if route.goal.kind == "room"}
        start = next((route.start.location_id for route in (*routes, *self.book.routes)), None)
        if start is None:
            return tuple(sorted(rooms))
        moves = fewest_moves(self._map.game_map, start)
        untried = {room: bool(self._map.game_map.untried_exits(room)) for room in rooms}
        return tuple(sorted(rooms, key=lambda room: (not untried[room], -moves.get(room, 0), room)))

    def _by_gain_per_turn(self, found: tuple[Route, int]) -> tuple[float, int, int]:
        route, done = found
        left = len(route.steps) - done
        return -self.book.promise(route, done) / left, left, route.number
