"""Learns routes from play, shows them, and leads the player along one that is followed."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from structlog.typing import FilteringBoundLogger
from typing_extensions import Self, override

from managers.base_manager import BaseManager, ManagerParts, ManagerStatus
from managers.map_manager import MapManager
from managers.routes import view
from managers.routes.document import MOST_ROOMS, FollowedRoute, Learnt, RouteBook, RouteEdit, TriedRoute, parse_routes
from managers.routes.trail import Trail, digests_of, mark_of
from session.context import OfferedRoute, Place, PromptSection
from session.events import EpisodeEnd, RoutesProven
from session.files.document_store import DocumentStore
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.route import LEAST_TRUST, KnownRoute, RouteStep, Waypoint
from session.text import counted, cut_at, description_in, sentences_of
from session.values import Observation, Proposal, TurnRecord

ROUTES_FILE = "routes.json"
MOST_SHOWN = 6
LONGEST_NEWS = 160  # characters
FATAL = 1000
"""Times that a command counts as tried where it ended the story before."""

RouteStore = DocumentStore[RouteBook, RouteEdit]


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A route or walk that is being followed.

    name: its name, such as ``Route 3``
    aim: its goal, in one or two words
    key: the key of the route; "" for a walk to a location
    skipped: how many commands at the beginning of the route were skipped
    is_part: the agent chose to follow it only up to a command before its end
    done: how many of the other commands have been played
    steps: the remaining steps
    touched: the objects that must be at their recorded places
    """

    name: str
    key: str
    skipped: int
    done: int
    steps: tuple[RouteStep, ...]
    aim: str = ""
    touched: tuple[int, ...] = ()
    is_part: bool = False

    @property
    def length(self) -> int:
        """How many commands the way has, those that were played among them."""
        return self.done + len(self.steps)


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step at which a way stopped on the spot; ``mark``: of place, score and all things in reach then."""

    command: str
    mark: str


@dataclass(frozen=True, slots=True)
class RoutesState:
    """The progress on a route or walk.

    news: what the next prompt reports about the last route
    has_stopped: whether it stopped in the last turn, before its end
    failed: the steps of this episode that must not begin a route until something changes
    """

    under_way: UnderWay | None = None
    news: str = ""
    has_stopped: bool = False
    failed: tuple[FailedStep, ...] = ()


def open_routes(workdir: Path) -> RouteStore:
    """Open the routes of a work folder. Raises ``StoreError``."""
    path = workdir / ROUTES_FILE
    return DocumentStore(path, partial(parse_routes, path=path))


class RouteManager(BaseManager):
    """Keeps ``routes.json`` in the work folder: commands from the opening that led to points, rooms and objects.

    At the end of an episode, its routes are written to the file. While a route is followed, ``next_proposal``
    replaces the question to a model. Each turn is compared with the route, and the first difference ends it.

    game_map: provides ways between locations

    Raises ``StoreError`` if the file cannot be read.
    """

    def __init__(
        self,
        logger: logging.Logger | FilteringBoundLogger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        game_map: MapManager | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._map = game_map
        self._store = open_routes(config.zork_game_workdir)
        self._trail = Trail()
        self._latest: Observation | None = None
        self._state = RoutesState()

    @classmethod
    def build(cls, parts: ManagerParts) -> Self | None:
        """Make the manager with the map, unless ``routes.enabled`` is off."""
        if not parts.config.routes.enabled:
            return None
        return cls(parts.logger, parts.config, parts.game_state, game_map=parts.find(MapManager))

    @classmethod
    @override
    def shared_files(cls, config: GameConfiguration) -> tuple[SharedFile, ...]:
        del config
        return (SharedFile(ROUTES_FILE),)

    @override
    def stores(self) -> tuple[RouteStore, ...]:
        return (self._store,)

    @property
    def book(self) -> RouteBook:
        """All routes that are kept."""
        return self._store.document

    def reset(self, game_state: GameState | None = None) -> None:
        """Begin a new episode, with the routes of all runs. Raises ``StoreError``."""
        super().reset(game_state)
        self._store.refresh()
        self._trail = Trail()
        self._latest = None
        self._state = RoutesState()

    @property
    def next_proposal(self) -> Proposal | None:
        """The next command without a question to a model, or ``None`` if no route is followed."""
        under_way = self._state.under_way
        if under_way is None:
            return None
        way = f"{under_way.name[0].lower()}{under_way.name[1:]}"
        aim = f", {under_way.aim}" if under_way.aim else ""
        reason = f"On {way}{aim}: command {under_way.done + 1} of {under_way.length}."
        return Proposal(under_way.steps[0].command, reason)

    @property
    def has_stopped(self) -> bool:
        """Whether a way stopped in the last turn, short of its end."""
        return self._state.has_stopped

    def times_tried(self, action: str) -> int:
        """Return how often the command was chosen here in earlier episodes.

        What is done with a thing that the player has had is the same anywhere, and counted wherever it was done. What
        ended the story at a moment like this one counts as tried very often.
        """
        here = self.game_state.current_room_id or 0
        times = self.book.tried.get(here, {}).get(action, 0)
        if self._latest is not None and action in self.book.fatal.get(mark_of(self._latest), ()):
            times += FATAL
        if self._trail.is_with_things_held(action):
            places = [*self.book.tried.items(), *self._trail.tried.items()]
            times += sum(counts.get(action, 0) for place, counts in places if place != here)
        return times

    def offers(self, observation: Observation) -> tuple[OfferedRoute, ...]:
        """Return the routes that can be followed now, best first."""
        found = self._from_here(observation)
        promising = [each for each in found if self._promise(*each) > 0]
        best = min(promising, key=self._most_promising, default=None)
        return tuple(
            OfferedRoute(route.number, view.choice(route, done), best == (route, done)) for route, done in found
        )

    def _most_promising(self, found: tuple[KnownRoute, int]) -> tuple[float, int]:
        """Order routes by the points to expect; of two alike, the one that was followed less comes first."""
        return -self._promise(*found), found[0].followed

    def _promise(self, route: KnownRoute, done: int) -> float:
        """Return the points that the route can be expected to win after so many of its commands.

        If it begins with another route, what that one promises is won even if the rest fails.
        """
        beginnings = (
            each
            for each in self.book.routes
            if done < len(each.steps) and each.is_beginning_of(route) and each != route
        )
        safe = max((each.promise(done) for each in beginnings), default=0.0)
        return route.promise(done) + (1 - route.trust(done)) * max(safe, 0)

    @property
    def may_travel(self) -> bool:
        """Whether there is anywhere to walk to that takes more than a command."""
        return self._map is not None and self._map.leads_farther

    def set_out(self, proposal: Proposal, observation: Observation) -> str:
        """Follow a route or walk to a location, as the agent chose. Returns why that is impossible, or ""."""
        if proposal.follow is None:
            return self._walk(observation, proposal.go_to)
        if proposal.until is not None and proposal.until < 1:
            return "`until` is the number of a command, from 1"
        found = self._from_here(observation)
        for route, done in found:
            if route.number == proposal.follow:
                name, ahead = f"Route {route.number}", self._played(route)[done:]
                steps = ahead[: proposal.until]
                way = UnderWay(name, route.key, done, 0, steps, view.purpose(route, done), route.touched)
                way = replace(way, is_part=steps != ahead)
                self._state = replace(self._state, under_way=way, news="")
                return ""
        numbers = ", ".join(str(route.number) for route, _ in found) or "none"
        return f"there is no route {proposal.follow} from here; those that begin here: {numbers}"

    def learn(self, record: TurnRecord) -> None:
        """Compare the turn with the route that is followed, if any, and keep it for the end of the episode."""
        news = self._news_of(record)
        self._trail.add(record)
        self._latest = record.after
        under_way = self._state.under_way if record.is_of_route else None
        self._state = RoutesState(failed=self._state.failed)
        if under_way is not None:
            self._state = self._after(under_way, record, news)

    def end(self, end: EpisodeEnd) -> None:
        """Learn the routes of the episode; they go to the file with the next commit."""
        del end
        routes = tuple(self._trail.routes(self.game_state.episode))
        if self._trail.tried:
            said, fatal = frozenset(self._trail.said), self._trail.fatal
            self._store.apply(Learnt(routes, self._wanted_rooms(routes), self._trail.tried, said, fatal))
        self._store.demand()

    def untried(self) -> list[KnownRoute]:
        """Return the routes that were never tried out, those to the highest scores first."""
        routes = [route for route in self.book.routes if route.proof is None]
        return sorted(routes, key=lambda route: (route.goal.kind != "score", -route.gain, len(route.steps)))

    def take_proof(self, proven: RoutesProven) -> None:
        """Put the proven forms of routes in their places."""
        for route in proven.routes:
            self._store.apply(TriedRoute(route.key, route.forms))

    def section(self, observation: Observation) -> PromptSection | None:
        """Return the routes that can be followed from here, and what became of the last one."""
        lines = [self._state.news] if self._state.news else []
        lines += [
            view.line(replace(route, steps=self._played(route)), done)
            for route, done in self._worth_telling(observation)
        ]
        return PromptSection("ROUTES", "\n".join(lines), 5, Place.HERE)

    @override
    def outlook(self) -> str:
        routes = sorted(((route, 0) for route in self._trusted()), key=self._by_gain_per_turn)
        return "\n".join(f"Route {view.line(route)}" for route, _ in routes[:MOST_SHOWN])

    @override
    def get_status(self) -> ManagerStatus:
        under_way, routes = self._state.under_way, self.book.routes
        return {
            "type": "routes",
            "state": {"file": str(self._store.path), "following": under_way.name if under_way else ""},
            "metrics": {
                "routes": len(routes),
                "trusted": len(self._trusted()),
                "best_gain": max((route.gain for route in routes), default=0),
                "unsaved": self._store.unsaved,
            },
        }

    @override
    def present(self) -> tuple[str, ...]:
        under_way = self._state.under_way
        if under_way is not None:
            return (f"{under_way.name}: {under_way.done} of {counted(under_way.length, 'command')}",)
        found = self._from_here(self._latest)
        lines = [view.outlook(route, done) for route, done in found[:MOST_SHOWN]]
        others = len(self._trusted()) - len(lines)
        if not others:
            return tuple(lines)
        return (*lines, counted(others, "other route") if lines else f"{counted(others, 'route')}, none from here")

    def _trusted(self) -> list[KnownRoute]:
        return [route for route in self._playable() if route.trust() >= LEAST_TRUST]

    def _playable(self) -> list[KnownRoute]:
        return [route for route in self.book.routes if len(route.steps) > self.config.routes.shuffled]

    def _from_here(self, observation: Observation | None) -> list[tuple[KnownRoute, int]]:
        """Return the routes that begin at or pass the current moment, each with the number of commands already done.

        Routes with the highest expected gain per turn come first. A route whose next command stopped a route here is
        left out until something changes.

        observation: the current one; ``None`` for the opening
        """
        mark = "" if observation is None else mark_of(observation)
        in_vain = {step.command for step in self._state.failed if step.mark == mark}
        found = []
        for route in self._playable():
            if observation is None or self.game_state.turn_count == 0:
                done: int | None = 0
            else:
                done = route.point_like(observation)
            if done is None or route.trust(done) < LEAST_TRUST:
                continue
            if self._played(route)[done].command not in in_vain:
                found.append((route, done))
        return sorted(found, key=self._by_gain_per_turn)

    def _worth_telling(self, observation: Observation) -> list[tuple[KnownRoute, int]]:
        """Return the best routes from here.

        A route is left out if a shorter one leads to the same goal with the same objects, or if a known way leads to
        its room in as few commands.
        """
        found = self._from_here(observation)
        ways = [(route.goal, len(route.steps) - done, route.steps[-1].leads_to.carried_set) for route, done in found]
        best = [
            each
            for each, (goal, length, things) in zip(found, ways, strict=True)
            if not any(other == goal and left < length and others >= things for other, left, others in ways)
            and not self._is_known_way(observation, each)
        ]
        return best[:MOST_SHOWN]

    def _is_known_way(self, observation: Observation, found: tuple[KnownRoute, int]) -> bool:
        route, done = found
        here = observation.location
        if self._map is None or here is None or route.goal.kind != "room" or route.gain_after(done):
            return False
        way = self._map.route(here.num, route.goal.number)
        return way is not None and len(way.commands) <= len(route.steps) - done

    def _played(self, route: KnownRoute) -> tuple[RouteStep, ...]:
        """Return the steps of a route as they are played, which is in another order in the control of an ablation."""
        middle = len(route.steps) // 2 if self.config.routes.shuffled else 0
        return route.steps[middle:] + route.steps[:middle]

    def _walk(self, observation: Observation, to_id: int | None) -> str:
        here = observation.location
        if here is None or to_id is None or self._map is None:
            return "your location is not known"
        if here.num == to_id:
            return "you are there already"
        found = self._map.route(here.num, to_id)
        if found is None:
            return f"no way from here to location {to_id} is known"
        names = self._map.game_map.room_names
        rooms = zip(found.commands, found.location_ids[1:], strict=True)
        steps = tuple(
            RouteStep(command, Waypoint(room, names.get(room, ""), is_described=self._is_described(room)))
            for command, room in rooms
        )
        way = UnderWay(f"The way to {names.get(to_id, to_id)}", "", 0, 0, steps)
        self._state = replace(self._state, under_way=way, news="")
        return ""

    def _is_described(self, room: int) -> bool:
        """Return whether the story prints the room's name above its description."""
        known = self.game_state.room_description(room)
        name = self._map.game_map.room_names.get(room, "") if self._map else ""
        return known is not None and description_in(known.text, name) is not None

    def _news_of(self, record: TurnRecord) -> str:
        """Return the first sentence of the turn that no earlier turn of any episode had; "" for a player by a list.

        Such a player cannot read, and the story's small talk would stop each of its ways.
        """
        if self.config.assist or not self.book.said:
            return ""
        known = self.book.said | self._trail.said
        return next((each for each in sentences_of(record.after.text) if not digests_of(each) <= known), "")

    def _after(self, under_way: UnderWay, record: TurnRecord, news: str) -> RoutesState:
        """Return the state after the next step of the route. The route ends if the step leads elsewhere.

        news: a sentence that was never printed before; it interrupts the route, which can be continued from there
        """
        step, *left = under_way.steps
        played = replace(under_way, done=under_way.done + 1, steps=tuple(left))
        deviation = step.leads_to.deviation(record.before, record.after, played.touched, self._trail.held)
        if not deviation and left and news:
            told = (
                f"{played.name} was interrupted after `{step.command}` by something new: {cut_at(news, LONGEST_NEWS)}"
            )
            return replace(self._state, news=told, has_stopped=True)
        if not deviation and left:
            return replace(self._state, under_way=played)
        if played.key and (deviation or not played.is_part):
            stopped_at = played.skipped + played.done if deviation else 0
            self._store.defer(FollowedRoute(played.key, stopped_at, played.skipped))
        done = counted(played.done, "command")
        if not deviation:
            told = f"up to `{step.command}`" if played.is_part else "to its end"
            return replace(self._state, news=f"{played.name} was followed {told}, in {done}.")
        mark = "" if record.moved else mark_of(record.after)
        failed = (*self._state.failed, FailedStep(step.command, mark)) if mark else self._state.failed
        news = f"{played.name} stopped at `{step.command}` ({done} played): {deviation}."
        return RoutesState(news=news, has_stopped=True, failed=failed)

    def _wanted_rooms(self, routes: tuple[KnownRoute, ...]) -> tuple[int, ...]:
        """Return the rooms that routes are kept to: those with untried exits first, then those farthest away."""
        rooms = {route.goal.number for route in (*routes, *self.book.routes) if route.goal.kind == "room"}
        start = next((route.start.location_id for route in (*routes, *self.book.routes)), None)
        if self._map is None or start is None:
            return tuple(sorted(rooms)[:MOST_ROOMS])
        ways = {room: self._map.route(start, room) for room in rooms}
        far = {room: len(way.commands) if way else 0 for room, way in ways.items()}
        untried = {room: bool(self._map.game_map.untried_exits(room)) for room in rooms}
        return tuple(sorted(rooms, key=lambda room: (not untried[room], -far[room], room))[:MOST_ROOMS])

    def _by_gain_per_turn(self, found: tuple[KnownRoute, int]) -> tuple[float, int, int]:
        route, done = found
        left = len(route.steps) - done
        return -self._promise(route, done) / left, left, route.number
