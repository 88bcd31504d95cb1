"""Ways over the map, and its text in prompts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import NamedTuple

from session.text import asks, counted, out_of
from zorkgpt.mapping.map_graph import MapGraph, kept
from zorkgpt.mapping.map_values import LEADS_BACK, SURE, Edge, FatalExit, by_destination, in_order, plain_line

FARTHEST_SHOWN = 200  # characters of the rooms without a line that have untried exits, and of the others
FARTHEST_FROM_START = 1000  # characters of the untried exits of all rooms
SHORTEST_ITEM = 40  # characters; less room is not tried to be filled with farther rooms
TAKEN = "taken before"
"""In front of exits that have only killed the player or ended the story."""
READ = "read from the text"
REFUSED, TRIED = "led nowhere: ", "tried: "
REFUSED_BEFORE = "led nowhere in an earlier game: "
_WAY_BACK = 0.5  # the confidence in a way back that was never tried
_CARRIED = 0.2  # that the story carries the player along again
_REFUSED = 0.1  # in an exit that led nowhere when it was last tried in this game: ten tries, for a way around it


def local_view(graph: MapGraph, here: int, radius: int, named: Iterable[int] = ()) -> str:
    """Return the map around a room as text, or "" for a room that is not on the map.

    Each room fewer than ``radius`` moves away has a line, nearest first, with the destinations of its exits and its
    untried exits, and the refused exits with the story's words. A room without a line is named with the exit that
    leads to it. Two more lines have the rooms farther away with untried exits and the other known ones, with those
    refused exits that the story names and the number of moves, nearest first. The title of the second
    one differs if rooms that are named above are among them because of such an exit.

    named: locations that are always listed with the number of moves, for example those of the plan
    """
    if here not in graph.rooms:
        return ""
    moves = neighbourhood(graph, here, radius - 1)
    frontier = {room for room in graph.rooms if graph.untried_exits(room)}
    barred = {room for room in graph.rooms if graph.barred_exits(room)}
    shown = {here, *(room for room in moves if _ways(graph, room) or room in frontier | barred)}
    lines = []
    for room in sorted(shown, key=lambda each: (moves[each], each)):
        parts = [*_way_lines(graph, room, shown)]
        plain, read, ended = _untried_exits(graph, room)
        parts += [f"untried: {plain}"] if plain else []
        parts += [f"{'' if plain else 'untried, '}{read}"] if read else []
        parts += [ended] if ended else []
        parts += _refusals(graph, room)
        mark = " (here)" if room == here else ""
        lines.append(f"{_label(graph, room)}{mark}: {'; '.join(parts) or 'no exit is known'}")
    paths = seen_paths(graph, here)
    nearest_first = _nearest_first(graph, paths)
    beside = shown.union(*(_ways(graph, room).values() for room in shown))
    aims = {room for room in named if room in graph.rooms and room != here}
    places = [room for room in nearest_first if room in aims]
    there = _there(graph, paths, places, shown, "untried: ")
    lines += _first_of("In plan, objectives or notes (moves)", there, len(places), None)
    known = shown | aims
    farther = [room for room in nearest_first if room in frontier and room not in known]
    lines += _first_of("Farther untried (moves)", _there(graph, paths, farther), len(farther), FARTHEST_SHOWN)
    known |= frontier
    others = [room for room in paths if room not in known and (room not in beside or room in barred)]
    others.sort(key=lambda room: room not in barred)
    kinds = {"Exits that led nowhere" if room in beside else "Other rooms" for room in others}
    lines += _first_of(
        f"{' / '.join(sorted(kinds))} (moves)", _there(graph, paths, others), len(others), FARTHEST_SHOWN
    )
    return "\n".join(lines)


def untried_from(graph: MapGraph, here: int) -> str:
    """Return a line of the untried exits of all rooms, and one of the refused ones that the story names.

    The nearest to that room, where a new game begins, come first. Either line is left out if there are none.
    """
    paths = seen_paths(graph, here, is_new_game=True)
    untried, refused = list[str](), list[str]()
    for room in _nearest_first(graph, paths):
        barred = _refusals(graph, room, graph.barred_exits(room), titles=("", TRIED))
        for found, exits in ((untried, filter(None, _untried_exits(graph, room)[:2])), (refused, barred)):
            if text := ", ".join(exits):
                found.append(f"{_label(graph, room)} ({_distance(paths, room)}): {text}")
    lines = [
        *_first_of("Untried exits (moves from the start)", untried, len(untried), FARTHEST_FROM_START),
        *_first_of("Named exits that led nowhere (moves from the start)", refused, len(refused), FARTHEST_FROM_START),
    ]
    return "\n".join(lines)


def _nearest_first(graph: MapGraph, paths: Mapping[int, Path]) -> list[int]:
    """Return every room: those in reach first, nearest first."""
    return [*paths, *sorted(graph.rooms.keys() - paths)]


def _there(
    graph: MapGraph,
    paths: Mapping[int, Path],
    rooms: Iterable[int],
    shown: Collection[int] = (),
    mark: str = "",
) -> Iterator[str]:
    """Yield each of the rooms with its moves and, unless it has a line, its untried exits and those that are barred.

    Without the story's words if these alone would have no room.

    mark: before the untried exits
    """
    unsure = ""
    for room in rooms:
        plain, read, ended = ("", "", "") if room in shown else _untried_exits(graph, room)
        untried = [*filter(None, (f"{mark}{plain}" if plain else "", read, ended))]
        among = () if room in shown else graph.barred_exits(room)
        exits = ", ".join([*untried, *_refusals(graph, room, among)])
        if len(exits) > FARTHEST_SHOWN - SHORTEST_ITEM:
            exits = ", ".join([*untried, *_refusals(graph, room, among, with_words=False)])
        name = f"L{room}" if room in shown else _label(graph, room)
        yield f"{name} ({_distance(paths, room, unsure)}){f': {exits}' if exits else ''}"
        unsure = paths[room].unsure if room in paths else ""


def _distance(paths: Mapping[int, Path], room: int, unsure: str = "") -> str:
    """Return the number of moves, with a mark if not all of them were walked. ``unsure``: of the path before it."""
    path = paths.get(room)
    return "no way known" if path is None else f"{path.moves}{path.doubts(unsure)}"


def _label(graph: MapGraph, room: int) -> str:
    return f"L{room} {plain_line(graph.rooms[room].label)}{' (dark)' if graph.rooms[room].is_dark else ''}"


def _first_of(title: str, items: Iterable[str], number: int, characters: int | None) -> Iterable[str]:
    """Return a line of the items that it has room for, and the number of the others; no line for no items.

    number: of the items; items without room are not built
    characters: ``None`` for all of them
    """
    shown: list[str] = []
    for item in items:
        left = inf if characters is None else characters - sum(len(each) + 2 for each in shown)
        if left < SHORTEST_ITEM:
            break
        if len(item) + 2 <= left:
            shown.append(item)
    more = [f"{number - len(shown)} more"] if len(shown) < number else []
    return [f"{title}: {'; '.join([*shown, *more])}"] if number else []


def _way_lines(graph: MapGraph, room: int, shown: Collection[int]) -> Iterator[str]:
    """Yield each room that exits lead to, with the commands."""
    names = {to_id: f"L{to_id}" if to_id in shown else _label(graph, to_id) for to_id in _ways(graph, room).values()}
    for to_id, commands in by_destination(graph.connections.get(room, {})).items():
        commands_there = []
        for edge in (Edge(room, command) for command in commands):
            first, refusal = in_order(graph.first_refusals.get(edge, ())), graph.last_refusal(edge)
            doubts = ["unsure"] if graph.confidence(edge) < SURE else []
            is_back = graph.first_refusals.get(edge, ())[:1] == (LEADS_BACK,)
            doubts += [f"{'' if is_back else 'blocked '}at first: {first}"] if first else []
            doubts = doubts if refusal is None else [f"last time: {refusal or 'refused'}"]
            doubts += [f"in or on: {graph.rides[edge]}"] if edge in graph.rides else []
            doubts += filter(None, [_ends_text(graph, edge)])
            commands_there.append(_with_remark(edge.exit, "; ".join(doubts)))
        yield f"{' / '.join(commands_there)} -> {names[to_id]}"
    for exit_, answers in graph.exits_back(room).items():
        yield f"{_with_remark(exit_, '; '.join(answers))} -> L{room} again"
    for exit_, to_id in graph.ways_back(room).items():
        first = in_order(graph.first_refusals.get(Edge(room, exit_), ()))
        yield f"{_with_remark(exit_, f'blocked at first: {first}' if first else '')} -> {names[to_id]} (back?)"
    for command, carry in graph.carries_from(room).items():
        stayed = f"after {counted(carry.stayed, 'turn')} here, " if carry.stayed else ""
        how = "" if carry.is_answer else f"carried you, {stayed}"
        seen = f"{how}episode {carry.episode}, turn {carry.turn}"
        name = f"L{carry.to_id}" if carry.to_id in shown else _label(graph, carry.to_id)
        yield f"{_with_remark(command, seen)} -> {name}"


def _untried_exits(graph: MapGraph, room: int) -> tuple[str, str, str]:
    """Return the untried exits of a room, those only read in prose, and those that only ever killed or ended a game."""
    ends = {exit_: _ends_text(graph, Edge(room, exit_)) for exit_ in graph.untried_exits(room)}
    untried, by_program = [each for each in ends if not ends[each]], graph.read_exits.get(room, ())
    plain = ", ".join(plain_line(exit_) for exit_ in untried if exit_ not in by_program)
    read = ", ".join(plain_line(exit_) for exit_ in untried if exit_ in by_program)
    ended = ", ".join(_with_remark(exit_, end) for exit_, end in ends.items() if end)
    return plain, f"{READ}: {read}" if read else "", f"{TAKEN}: {ended}" if ended else ""


def _refusals(
    graph: MapGraph,
    room: int,
    among: Collection[str] | None = None,
    *,
    titles: Sequence[str] = (REFUSED, TRIED),
    with_words: bool = True,
) -> Iterator[str]:
    """Yield the exits of a room that led nowhere, with the story's words, and apart from them what else was tried.

    That is an exit for which the story asked a question. Those of one answer are together, and those that led nowhere
    in this game come before the others.

    among: the exits that are meant; ``None`` for all
    """
    refused = {} if among is not None and not among else graph.refused_exits(room)
    refused = {exit_: words for exit_, words in refused.items() if among is None or exit_ in among}
    walked = graph.connections.get(room, {})
    found: dict[str, defaultdict[str, list[str]]] = {}
    for exit_, words in sorted(refused.items(), key=lambda each: (Edge(room, each[0]) not in graph.tried_now, each)):
        if exit_ not in walked:
            title = titles[asks(words)]
            is_before = title == REFUSED and Edge(room, exit_) not in graph.tried_now
            exits = found.setdefault(REFUSED_BEFORE if is_before else title, defaultdict(list))
            exits[words if with_words else ""].append(plain_line(exit_))
    for title, exits in sorted(found.items(), key=lambda each: each[0] == titles[1]):
        yield f"{title}{', '.join(_with_remark(', '.join(each), words) for words, each in exits.items())}"


def _ends_text(graph: MapGraph, edge: Edge) -> str:
    """Return how taking the exit killed the player or ended the story, the first time first; "" for never."""
    ends = graph.exit_deaths.get(edge, ())
    return in_order(each if isinstance(each, str) else _end_text(graph, each) for each in ends)


def _end_text(graph: MapGraph, end: FatalExit) -> str:
    points = "" if end.score is None else f", with {out_of(end.score, end.max_score)} points"
    how = "you died" if end.ending is None else f"the story ended, {end.ending}{points}"
    place = "" if end.room is None else f" in L{end.room} {graph.room_names.get(end.room, '')}".rstrip()
    dark, words = ", in the dark" if end.is_dark else "", f": {end.words}" if end.words else ""
    return f"{how}{place}{dark} (episode {end.episode}, turn {end.turn}){words}"


def _with_remark(exits: str, remark: str | None) -> str:
    return plain_line(exits) + (f" ({plain_line(remark)})" if remark else "")


class Path(NamedTuple):
    """A way over the map as its last move and the path before that, so that paths share their beginnings.

    before: ``None`` for the location where the path begins
    moves: the number of commands
    backs: how many of them are presumed ways back, which were never tried
    unsure: the last of them that may not lead there, with the reason; "" for none
    """

    to_id: int
    before: Path | None = None
    command: str = ""
    moves: int = 0
    backs: int = 0
    unsure: str = ""

    def doubts(self, before: str = "") -> str:
        """Return the marks of what is not certain about the path, each after a comma.

        before: ``unsure`` of the path before it in a list
        """
        number = "" if self.backs == self.moves else f"{self.backs} "
        unsure = "likewise" if self.unsure == before else self.unsure
        return f"{f', {number}back?' if self.backs else ''}{f', {unsure}' if self.unsure else ''}"

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands to play, in order; empty for the location where the path begins."""
        return tuple(part.command for part in self._parts()[1:])

    @property
    def location_ids(self) -> tuple[int, ...]:
        """The rooms on the way, including both ends."""
        return tuple(part.to_id for part in self._parts())

    def _parts(self) -> list[Path]:
        """Return the paths to all rooms on the way, the shortest first."""
        parts = [self]
        while (before := parts[-1].before) is not None:
            parts.append(before)
        return parts[::-1]


def shortest_path(graph: MapGraph, from_id: int, to_id: int) -> Path | None:
    """Return the path with the fewest tries to be expected; ``None`` if neither edges nor ways back lead there.

    An edge of confidence ``c`` counts as ``1 / c`` tries: two sure steps are preferred to one doubtful one. A way back
    that was never tried is used only if known edges do not lead there.
    """
    return paths_from(graph, from_id, uses_ways_back=False).get(to_id) or paths_from(graph, from_id).get(to_id)


def fewest_moves(graph: MapGraph, from_id: int) -> dict[int, int]:
    """Return the number of commands of :func:`shortest_path` to every reachable room by its id."""
    paths = {**paths_from(graph, from_id), **paths_from(graph, from_id, uses_ways_back=False)}
    return {room: path.moves for room, path in paths.items()}


def neighbourhood(graph: MapGraph, location_id: int, radius: int) -> dict[int, int]:
    """Return the rooms at most ``radius`` moves away, one-way passages counting both ways: moves by location id."""
    if location_id not in graph.rooms:
        return {}
    moves = {location_id: 0}
    outermost = {location_id}
    for distance in range(1, radius + 1):
        beside = {to_id for from_id in outermost for to_id in graph.connections.get(from_id, {}).values()}
        beside = beside.union(*map(graph.sources, outermost))
        outermost = beside - moves.keys()
        moves.update(dict.fromkeys(outermost, distance))
    return moves


def seen_paths(graph: MapGraph, from_id: int, *, is_new_game: bool = False) -> Mapping[int, Path]:
    """Return the paths to be walked, and after them those to other rooms by carries.

    A carry is a way by which the story once took the player along.
    """
    paths = paths_from(graph, from_id, is_new_game=is_new_game)
    if all(carry.to_id in paths for carry in graph.carries.values()):
        return paths
    unsure = paths_from(graph, from_id, uses_carries=True, is_new_game=is_new_game)
    return {**paths, **{room: path for room, path in unsure.items() if room not in paths}}


def paths_from(
    graph: MapGraph,
    from_id: int,
    *,
    uses_ways_back: bool = True,
    uses_carries: bool = False,
    is_new_game: bool = False,
) -> Mapping[int, Path]:
    """Return the shortest path to every reachable room by its id, nearest first (Dijkstra's algorithm).

    Equally near rooms come by id. Of two paths of the same length, the first one found is kept, so that a map always
    gives the same paths.
    """
    if from_id not in graph.rooms:
        return {}
    arguments = from_id, uses_ways_back, uses_carries, is_new_game
    known = graph.kept_paths.get(arguments)
    if known is not None:
        return known
    order = count()
    fewest = {from_id: 0.0}
    waiting = [(0.0, next(order), Path(from_id))]
    paths: dict[int, Path] = {}
    while waiting:
        tries, _, path = heappop(waiting)
        if path.to_id in paths:
            continue
        paths[path.to_id] = path
        for confidence, step in _steps_from(
            graph, path.to_id, uses_ways_back=uses_ways_back, uses_carries=uses_carries, is_new_game=is_new_game
        ):
            to_id, _, command, moves, backs, unsure = step
            further = tries + 1 / confidence
            if further < fewest.get(to_id, inf):
                fewest[to_id] = further
                longer = Path(to_id, path, command, path.moves + moves, path.backs + backs, unsure or path.unsure)
                heappush(waiting, (further, next(order), longer))
    found = dict(sorted(paths.items(), key=lambda each: (fewest[each[0]], each[0])))
    graph.kept_paths[arguments] = found
    return found


@kept
def _steps_from(
    graph: MapGraph, here: int, *, uses_ways_back: bool, uses_carries: bool, is_new_game: bool
) -> Sequence[tuple[float, Path]]:
    """Return the path of one move to each room beside that one, by the surest command, and the confidence in it."""
    ways = [
        (_REFUSED if graph.is_refused(edge) else graph.confidence(edge), to_id, edge.exit)
        for edge, to_id in ((Edge(here, command), to_id) for command, to_id in graph.connections.get(here, {}).items())
    ]
    if uses_ways_back:
        ways += [(_WAY_BACK, to_id, command) for command, to_id in graph.ways_back(here).items()]
    carries = graph.carries_from(here) if uses_carries else {}
    ways += [(_CARRIED, carry.to_id, command) for command, carry in carries.items()]
    surest = {to_id: (confidence, command) for confidence, to_id, command in sorted(ways)}
    steps = []
    for to_id, (confidence, command) in surest.items():
        carry = carries.get(command)
        carry = carry if carry is not None and carry.to_id == to_id else None
        reason = "carried you once" if carry else _doubt(graph, Edge(here, command), is_new_game=is_new_game)
        is_back = not reason and command not in graph.connections.get(here, ())
        moves = 1 + (carry.stayed if carry else 0)
        unsure = f"{plain_line(command)} {reason}" if reason else ""
        steps.append((confidence, Path(to_id, None, command, moves, int(is_back), unsure)))
    return steps


def _doubt(graph: MapGraph, edge: Edge, *, is_new_game: bool) -> str:
    """Return why a way may not lead there, without presumed ways back; "" for no doubt."""
    if graph.has_led(edge) and graph.is_refused(edge):
        return "led nowhere last time"
    if edge in graph.rides:
        return f"in or on {graph.rides[edge]}"
    if graph.is_shut(edge, is_new_game=is_new_game):
        return "blocked at first"
    return "unsure" if graph.has_led(edge) and graph.confidence(edge) < SURE else ""


def _ways(graph: MapGraph, from_id: int) -> Mapping[str, int]:
    """Return the destinations of a room's exits, including the presumed ways back."""
    return {**graph.ways_back(from_id), **graph.connections.get(from_id, {})}
