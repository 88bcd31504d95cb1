"""What lies ahead in a game: the points that games have brought, and what of the plan is done.

It is about the present moment, so it stands behind the texts that a server caches.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.done import done_in, places_named
from managers.episode_synthesizer import EpisodeSynthesizer
from managers.episodes import KnownEnd
from managers.known import memory_keys
from managers.map_manager import MapManager
from managers.memory.prompt import CUT_SENTENCES
from managers.plan import Played
from managers.prompting import as_many_as_fit
from managers.routes.document import Effect
from managers.transcript_manager import EARLIER_GAMES
from session.commands import only_informs, plain_command
from session.context import Place, PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import LocationMemories, Memory
from session.text import counted, one_line, with_numbers
from session.values import Observation
from zorkgpt.mapping.map_values import Edge
from zorkgpt.mapping.navigation import Path, seen_paths

KNOWN_POINTS = "Known points"
MEMORIES_AHEAD = "Memories of places ahead"
MOST_TOKENS_AHEAD = 700
MOST_POINTS = 20
MOST_NUMBERS = 6
_NUMBER = re.compile("[0-9]+")


@dataclass(frozen=True, slots=True)
class _Points:
    """Points that a command brought or lost at a place, whose number is ``None`` if it is unknown.

    after: the command to which it refers, as in "take it"
    things: the numbers of the things that it got and, below 0, lost
    others: the commands that won the same in other games and differ from it only in a number
    """

    place: int | None
    command: str
    change: int
    after: str = ""
    things: frozenset[int] = frozenset()
    others: tuple[str, ...] = ()

    @property
    def but_for_numbers(self) -> tuple[int | None, int, str]:
        """What is equal for points whose commands differ only in a number."""
        return self.place, self.change, _NUMBER.sub("#", self.command)

    @property
    def played(self) -> Played:
        """The place and the command."""
        return self.place, self.command


class Ahead(BaseManager):
    """Shows which points are known, how far away they are, which are done or were lost, and what of the plan is done.

    Beside them are the commands that ended an earlier game, at places near the player or on the way that is planned.

    episodes: has the points and the ends of earlier episodes, and the plan that the last one left
    planned: returns the locations to which the plan's commands lead
    map_manager: provides the distances; ``None`` to show none
    things_of: returns the things that a plain command got at a location in earlier games and, below 0, lost
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        episodes: EpisodeSynthesizer,
        *,
        planned: Callable[[], Sequence[int]] = tuple,
        map_manager: MapManager | None = None,
        things_of: Callable[[int | None, str], frozenset[int]] | None = None,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self._episodes, self._planned, self._map, self._things_of = episodes, planned, map_manager, things_of
        self._exit_of = lru_cache(self.movements.exit_of)  # the same points are compared each turn
        self.reset()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._games = [{scored.played for scored in game} for game in self._episodes.points_by_game()]
        self._earlier: list[_Points] = []  # in the order of the best game, then of the next
        self._lost: list[_Points] = []
        for known, turns in (
            (self._earlier, self._episodes.known_points()),
            (self._lost, self._episodes.known_losses()),
        ):
            for scored in turns:
                things = self._things_of(*scored.played) if self._things_of else frozenset[int]()
                points = _Points(*scored.played, scored.change, scored.after, things)
                if not any(self._is_alike(each, points) for each in known):
                    known.append(points)
        alike: defaultdict[object, list[_Points]] = defaultdict(list)
        for points in self._earlier:
            alike[points.but_for_numbers].append(points)
        shown = {replace(one, others=()): one for several in alike.values() for one in self._of_games(several)}
        self._earlier = [shown[points] for points in self._earlier if points in shown]
        self._in_vain = self._episodes.in_vain()
        self._ends = self._episodes.known_ends()

    def _of_games(self, alike: Sequence[_Points]) -> Sequence[_Points]:
        """Return points whose commands differ only in a number, as one if no game won two of them."""
        if any(sum(each.played in game for each in alike) > 1 for game in self._games):
            return alike
        return [replace(alike[0], others=tuple(each.command for each in alike[1:]))]

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        if self.config.agent.reasoning_length is not None:
            return None  # a small model chooses from a list
        state = self.game_state
        left = self.config.max_turns_per_episode - state.turn_count
        known: dict[object, _Points] = {}
        for points in self._earlier:
            known.setdefault(self._key(points), points)
        scored = state.scored if known else ()
        done = [turn for turn in scored if (turn.score_change or 0) > 0]
        for turn in done:
            effect = Effect(0, *(tuple(each.num for each in things) for things in (turn.gained, turn.lost)))
            played = turn.before.location_id, plain_command(turn.action)
            points = _Points(*played, turn.score_change or 0, things=effect.things)
            own = self._key(points)
            known = {key: each for key, each in known.items() if key != own and not self._is_alike(each, points)}
        paths: Mapping[int, Path] = {}
        if self._map is not None and observation.location is not None:
            paths = seen_paths(self._map.game_map, observation.location.num)
        near: list[str] = []
        far: list[str] = []
        before: dict[bool, Path | None] = {}
        leg = self._next_leg([points.place for points in known.values()], observation.location_id)
        for points in known.values():
            path = paths.get(points.place or 0)
            is_near = path is None or path.moves < left
            line = self._line_of(points, path, leg.pop(points.place or 0, ""), before.get(is_near))
            (near if is_near else far).append(line)
            before[is_near] = path
        lines = _first(near, "")
        lines += _first(far, f"Too far for {counted(left, 'turn')}: ")
        lost = [turn for turn in scored if turn not in done] if done else []
        for title, turns in (("done", done), ("lost in this game", lost)):
            items = (f"{turn.score_change:+d} {plain_command(turn.action)} (turn {turn.turn})" for turn in turns)
            lines += [f"{title}: {'; '.join(items)}"] if turns else []
        lines += _first(
            [self._line_of(each, paths.get(each.place or 0)) for each in self._lost], "Lost before, during: "
        )
        lines += _first([*self._ends_ahead(paths)], "Ended before: ")
        lines += self._done_of_plan()
        return PromptSection(KNOWN_POINTS, "\n".join(lines), 4, Place.MAP, is_of_plan=True)

    @override
    def get_status(self) -> ManagerStatus:
        return {"type": "ahead", "state": {}, "metrics": {"known_points": len({*map(self._key, self._earlier)})}}

    @property
    def places(self) -> list[int]:
        """The ids of the locations at which points were won in earlier episodes."""
        return [points.place for points in self._earlier if points.place is not None]

    def _key(self, points: _Points) -> object:
        """Return what is equal for the same points: those for coming to a room are the same by any way."""
        exit_ = self._exit_of(points.command)
        exits = {} if self._map is None else self._map.game_map.connections.get(points.place or 0, {})
        if exit_ in exits and self.movements.is_direction(exit_):
            return exits[exit_], points.change
        return points.place, exit_

    def _is_alike(self, one: _Points, other: _Points) -> bool:
        """Return whether points and place are equal, and the commands name, get or lose the same things."""
        if (one.place, one.change) != (other.place, other.change):
            return False
        if one.others and one.but_for_numbers == other.but_for_numbers:
            return True
        played = {each.played for each in (one, other)}
        return self.vocabulary.means_same(one.command, other.command) or (
            not one.things.isdisjoint(other.things) and not any(played <= game for game in self._games)
        )

    def _next_leg(self, places: Iterable[int | None], here: int | None) -> dict[int, str]:
        """Return how far the second place that is not here is from the first one, by its id."""
        first, second = [*[each for each in dict.fromkeys(places) if each not in {None, here}], None, None][:2]
        if self._map is None or first is None or second is None:
            return {}
        return {second: f" ({_distance(seen_paths(self._map.game_map, first).get(second))} from L{first})"}

    def _line_of(self, points: _Points, path: Path | None, leg: str = "", before: Path | None = None) -> str:
        place = "an unknown place" if points.place is None else f"L{points.place}"
        distance = "" if self._map is None else f", {_distance(path, before)}{leg}"
        tries = self.game_state.tries.of(points.place, points.command)
        when = f"turn {tries[-1].turn}" if tries else self._in_vain.get((points.place, points.command), "")
        in_vain = f" (no point in {when})" if when and points.change > 0 else ""
        edge = Edge(points.place or 0, self._exit_of(points.command))
        distance += " (blocked at first)" if self._map is not None and self._map.game_map.is_shut(edge) else ""
        after = f" after {points.after}" if points.after else ""
        commands = (points.command, *points.others)
        numbers = [" ".join(_NUMBER.findall(each)) for each in commands] if points.others else []
        left_out = [f"{len(numbers) - MOST_NUMBERS} more"] if len(numbers) > MOST_NUMBERS else []
        after += f" (the number differed by game: {', '.join([*numbers[:MOST_NUMBERS], *left_out])})" if numbers else ""
        end = next(self._ends_of(points.place, points.command), None)
        fatal = f" ({end.how} in {end.when})" if end else ""
        return f"{points.change:+d} {points.command}{after}, {place}{distance}{in_vain}{fatal}"

    def _ends_of(self, place: int | None, command: str) -> Iterator[KnownEnd]:
        """Yield the turns in which the command won points there and ended an earlier game, the latest first."""
        played = (place, command)
        won = (end for end in reversed(self._ends) if end.change > 0)
        return (end for end in won if (end.place, plain_command(end.step.action)) == played)

    def _ends_ahead(self, paths: Mapping[int, Path]) -> Iterator[str]:
        """Yield what ended a game near the player, or on the way that is planned, each once, the latest first."""
        if not self._ends or self._map is None:
            return
        aims = {*self._map.named_places(), *self._planned()}
        known = {(*points.played, end.how) for points in self._earlier for end in self._ends_of(*points.played)}
        for end in reversed(self._ends):
            place, command = end.place, plain_command(end.step.action)
            path = paths.get(place or 0)
            if (place, command, end.how) in known or not (place in aims or (path and path.moves <= 1)):
                continue
            known.add((place, command, end.how))
            yield f"{command}{end.after}, L{place}, {_distance(path)}: {end.how} ({end.when})"

    def _done_of_plan(self) -> Iterator[str]:
        """Yield each line of the plan of which a command, but for moves, was played in this game, with the turns.

        The same move belongs to several ways.
        """
        names, tries = {} if self._map is None else self._map.game_map.room_names, self.game_state.tries
        in_vain = [(command, turn) for (_, command), turn in tries.in_vain.items()]
        is_move = self.movements.is_direction
        for number, line in enumerate(self._episodes.knowledge_manager.plan(), start=1):
            places = places_named([line], names)
            done, vain = done_in(line, tries.done, places), done_in(line, in_vain, places, in_vain=True)
            found = {
                "done": [turn for turn in done if not is_move(plain_command(turn.action))],
                "without effect": [turn for turn in vain if not only_informs(plain_command(turn.action))],
            }
            for what, turns in found.items():
                played = []
                for turn in turns:
                    here = "" if turn.before.location_id is None else f", L{turn.before.location_id}"
                    played.append(f"{plain_command(turn.action)}{here}, turn {turn.turn}")
                if turns:
                    yield f"Of line {number} of the plan, {what}: {'; '.join(played)}"


class MemoriesAhead(BaseManager):
    """Shows memories of locations that plan, open objectives or notes name, the plan leads to, or have known points.

    They are shown until the player comes there. Those without room are named by their titles, or else counted. Of
    arrivals whose text is in the earlier games of the prompt only the locations are named.

    planned: returns the locations to which the plan's commands lead, and those of known points
    is_in_games: whether the prompt's section of earlier games contains a text
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        map_manager: MapManager,
        memories: LocationMemories,
        *,
        planned: Callable[[], Sequence[int]] = tuple,
        is_in_games: Callable[[str], bool] = lambda _: False,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self._planned, self._map, self._memories, self._is_in_games = planned, map_manager, memories, is_in_games

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        if self.config.agent.reasoning_length is not None:
            return None
        names, seen = self._map.game_map.room_names, self.game_state.seen_locations
        places = dict.fromkeys([*self._planned(), *self._map.named_places()])
        found = [each for room in places if room in names and room not in seen for each in self._memories_of(room)]
        # Arrivals come last: the map often contains what matters of them.
        found.sort(
            key=lambda each: (each[1].is_arrival, (each[1].score_change or 0) <= 0, each[1].category != "DANGER")
        )
        whole = self._section_of(found)
        in_games = [each for each in found if self._is_arrival_in_games(each[1], names[each[2]])]
        if not in_games:
            return whole
        rooms = ", ".join(f"L{room}" for room in dict.fromkeys(room for *_, room in in_games))
        note = f"(arrivals shown in the earlier games: {rooms})"
        others = self._section_of([each for each in found if each not in in_games], note)
        return replace(others, refers_to=(EARLIER_GAMES,), instead=whole)

    def _is_arrival_in_games(self, known: Memory, name: str) -> bool:
        """Return whether the games have the text of an arrival, after the location's name."""
        first, *others = CUT_SENTENCES.split(known.text)
        return known.is_arrival and all(map(self._is_in_games, (f"{name} {first}", *others)))

    def _section_of(self, found: Sequence[tuple[str, Memory, int]], note: str = "") -> PromptSection:
        names = self._map.game_map.room_names

        def text_of(titles: Sequence[tuple[str, Memory, int]], kept: Sequence[tuple[str, Memory, int]] = ()) -> str:
            return "\n".join(
                f"L{room} {names[room]}: {known.headline(known.category)}"
                f"{f': {one_line(known.text)}' if (key, known, room) in kept else ' (text left out)'}"
                for key, known, room in found
                if (key, known, room) in (*titles, *kept)
            )

        def is_short(text: str, longest: int = MOST_TOKENS_AHEAD) -> bool:
            return self.tokens.estimate(text) <= longest

        lessons = [each for each in found if not each[1].is_arrival]
        titles = as_many_as_fit(lessons, lambda titles: is_short(text_of(titles), MOST_TOKENS_AHEAD // 2))
        kept = as_many_as_fit(found, lambda kept: is_short(text_of(titles, kept)), skips=True)
        shown = (*titles, *kept)
        left = ["arrival" if each[1].is_arrival else each[1].category for each in found if each not in shown]
        others, kinds = counted(len(left), "more memory", "more memories"), ", ".join(with_numbers(Counter(left)))
        left_out = f"({others} of places ahead left out: {kinds})" if left else ""
        text = "\n".join(filter(None, [text_of(titles, kept), note, left_out]))
        return PromptSection(MEMORIES_AHEAD, text, 5, Place.MEMORY, tuple(key for key, _, _ in kept), is_of_plan=True)

    def _memories_of(self, room: int) -> list[tuple[str, Memory, int]]:
        """Return the memories that are shown of a location, newest first, each with its key and the location."""
        shown = self._memories.shown_location(room)
        known = [] if shown is None else self._memories.memory_cache.get(shown, [])
        keys = memory_keys(shown or 0, known)
        newest_first = [*zip(keys, known, strict=True)][::-1]
        return [(key, each, room) for key, each in newest_first if not each.is_given_up]

    @override
    def get_status(self) -> ManagerStatus:
        return {"type": "memories_ahead", "state": {}, "metrics": {}}


def _distance(path: Path | None, before: Path | None = None) -> str:
    """Return the number of moves. ``before``: the path before it in the list."""
    if path is None:
        return "no way known"
    doubts = path.doubts(before.unsure if before else "")
    return f"{counted(path.moves, 'move')}{doubts}" if path.moves else "here"


def _first(items: Sequence[str], title: str) -> list[str]:
    """Return a line of the items, with the number of those beyond ``MOST_POINTS``; none for no items."""
    more = [f"{len(items) - MOST_POINTS} more"] if len(items) > MOST_POINTS else []
    return [title + "; ".join([*items[:MOST_POINTS], *more])] if items else []
