"""Measures commands and turns in a work folder that years of play might leave.

    python -m benchmarks.load [SHARE]

Makes work folders with SHARE (by default all) of 20,000 memories, 3,000 rooms, 2,000 routes, 300 runs, and a run of 500
episodes, with the program's own writers, and runs the real commands there. Times are of the processor, with all child
processes; the response to SIGTERM is also measured on the clock. A linear command takes four times as long for four
times the content. Temporary files only; the model is a server on loopback. Exit status 1: a limit of processor time or
of a ratio is missed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from subprocess import DEVNULL, PIPE, Popen
from typing import NamedTuple

from benchmarks.memories_file import file_of
from benchmarks.stories import OWN_STORY, Walkthrough, walkthrough_of, zork_or_own
from benchmarks.tables import Row, show
from benchmarks.turn_cost import TOUR, play
from managers.routes.document import RouteBook
from orchestration.parts import open_story
from session.game_configuration import GameConfiguration
from session.route import Goal, Route, RouteStep, Waypoint
from tests.fixtures.misbehaving_server import MisbehavingServer, Streams
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_layout import COMPASS
from zorkgpt.mapping.map_values import OPPOSITES

MEMORIES, ROOMS, ROUTES, RUNS, EPISODES = 20_000, 3_000, 2_000, 300, 500
MEMORIES_OF_A_ROOM = 8  # as ``file_of`` has them
LONGEST_ROUTE = 40  # commands
EPISODE = 6  # turns
GROWTH = 1.3
"""Of a turn's time, the last fifth of a walkthrough to the first."""
START, FIRST_TURN, TERMINATION = 5.0, 10.0, 5.0  # seconds
NOISE = 1.0  # seconds beyond the start that are too few for a ratio
LONG_WALKTHROUGH = 300  # turns; the growth of a shorter one is that of the first rooms
LINEAR = 5.0
"""Of a command's time beyond its start, all of the content to a quarter."""
RATIO, GROWN = "ratio beyond the start", "growth"
LIMITS: Mapping[str, float] = {
    "start, s": START,
    "first turn, s": FIRST_TURN,
    "SIGTERM, s": TERMINATION,
    RATIO: LINEAR,
    GROWN: GROWTH,
}
SAMPLES = 5  # walkthroughs for the growth
ANSWER = {"reasoning": "To see.", "action": "look", "reason": "", "accepted": True, "confidence": 1, "ok": True}
"""Of a model that always looks around, in every role."""


def make_map(rooms: int) -> MapGraph:
    """Return a map of so many rooms, each reached from one of the latest ten by a free direction and back."""
    chance, graph = Random(1), MapGraph()
    graph.add_room(1, "Room 1")
    for number in range(2, rooms + 1):
        start = max(1, number - 1 - chance.randrange(10))
        free = [each for each in COMPASS if each not in graph.connections.get(start, {})]
        exit_ = chance.choice(free) if free and number % 10 else f"enter door {number}"
        graph.add_room(number, f"Room {number}")
        graph.add_connection(start, exit_, number)
        graph.add_connection(number, OPPOSITES.get(exit_, "out"), start)
        graph.add_exits(number, ["up", chance.choice(list(COMPASS))])
        graph.record_refusal(number, "down", "You can't go that way.")
    return graph


def make_routes(graph: MapGraph, routes: int, start: Waypoint) -> RouteBook:
    """Return so many routes over the map, which all begin at ``start``: random walks, some of them begun alike."""
    chance = Random(1)
    walks: list[tuple[RouteStep, ...]] = [()]
    book: list[Route] = []
    for number in range(1, routes + 1):
        walk = chance.choice(walks[-50:])
        place = walk[-1].leads_to.location_id or 1 if walk else 1
        if len(walk) >= LONGEST_ROUTE:
            walk, place = (), 1
        for _ in range(chance.randrange(1, 6)):
            command, place = chance.choice(list(graph.connections[place].items()))
            walk = (*walk, RouteStep(command, Waypoint(place, f"Room {place}", number, mark=f"{number:016x}")))
        walks.append(walk)
        goal = Goal("score" if number % 2 else "room", number if number % 2 else place, f"Room {place}")
        book.append(Route(number, goal, start, walk, 1, touched=(number % 50,)))
    return RouteBook(latest=routes, routes=tuple(book))


def make_folder(folder: Path, *, memories: int = 0, rooms: int = 0, routes: int = 0) -> Path:
    """Put so much into a work folder of the packaged story, and return the folder."""
    folder.mkdir(exist_ok=True)
    graph = make_map(max(rooms, 1))
    if rooms:
        graph.save_to_json(folder / "map_state.json")
    if memories:
        (folder / "Memories.md").write_text(file_of(memories // MEMORIES_OF_A_ROOM), encoding="utf-8")
    if routes:
        with open_story(GameConfiguration(zork_game_workdir=folder, game={"file": OWN_STORY})) as parts:
            start = Waypoint.of(parts.game.reset(1))
        (folder / "routes.json").write_text(make_routes(make_map(300), routes, start).render(), encoding="utf-8")
    return folder


def play_episodes(folder: Path, episodes: int, *, runs: int = 1) -> Path:
    """Play so many short episodes in each of so many runs, and return the work folder."""
    for _ in range(runs):
        play(Walkthrough(OWN_STORY, 1, TOUR), folder, turns=EPISODE, episodes=episodes)
    return folder


def started(*arguments: object) -> Popen[str]:
    """Start the command line, with the lines that it prints to be read."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ZORKGPT_")}
    command = [sys.executable, "-m", "zorkgpt", *map(str, arguments)]
    return Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=environment, text=True)


def ended(process: Popen[str]) -> float:
    """Wait for the end of a command, and return its processor time. Raises ``AssertionError`` if it failed."""
    assert process.stdout is not None
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in {0, 130}, f"{process.args!r} ended with {process.returncode}"
    return usage.ru_utime + usage.ru_stime


def seconds(*arguments: object) -> float:
    """Return the processor time of a command. Raises ``AssertionError`` if it fails."""
    return ended(started(*arguments))


class Stopped(NamedTuple):
    """A command that SIGTERM ended.

    used, more: its processor time before and after the signal
    waited: the time on the clock after it
    """

    used: float
    more: float
    waited: float


def stopped_at(event: str, process: Popen[str]) -> Stopped:
    """Stop a command when it reports such an event.

    The time afterwards includes all that of child processes which ended then.
    """
    assert process.stdout is not None
    for line in process.stdout:
        if f'"{event}"' in line:
            break
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    used = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # user and system, its own and its children's
    start = time.perf_counter()
    process.send_signal(signal.SIGTERM)
    return Stopped(used, ended(process) - used, time.perf_counter() - start)


def growth(walkthrough: Walkthrough) -> float:
    """Return how many times as long a turn takes in the last fifth of the walkthrough as in the first, on average.

    Each turn counts with its shortest processor time in several plays, so that what else the machine does matters
    little.
    """
    plays = []
    for _ in range(SAMPLES):
        with tempfile.TemporaryDirectory() as folder:
            plays.append(play(walkthrough, Path(folder), clock=time.process_time).seconds)
    turns = [min(times) for times in zip(*plays, strict=False)]
    fifth = len(turns) // 5
    return fmean(turns[-fifth:]) / fmean(turns[:fifth])


@dataclass(frozen=True, slots=True)
class Command:
    """A command that is measured with a quarter of the content and with all of it.

    make: fills a new work folder with so much of its content
    arguments: of the command line, for the folder
    """

    name: str
    make: Callable[[Path, float], Path]
    arguments: Callable[[Path], Sequence[object]]

    def row(self, scratch: Path, share: float) -> Row:
        """Return its processor time with a quarter of the content and with all of it, less that with nearly none."""
        times = []
        for number, part in enumerate((0.004, 0.25, 1.0)):
            folder = self.make(scratch / f"{self.name.replace(' ', '-')}-{number}", part * share)
            times.append(seconds(*self.arguments(folder)))
        least, quarter, whole = times
        ratio = (whole - least) / max(quarter - least, 0.01) if whole - least > NOISE else None
        return {"command": self.name, "quarter, s": quarter, "all, s": whole, RATIO: ratio, "at most": LINEAR}


def _map_of(folder: Path, share: float) -> Path:
    return make_folder(folder, rooms=int(ROOMS * share))


def _runs(folder: Path, share: float) -> Path:
    return play_episodes(folder, 1, runs=max(1, int(RUNS * share)))


def _episodes(folder: Path, share: float) -> Path:
    return play_episodes(folder, max(1, int(EPISODES * share)))


COMMANDS = (
    Command("map", _map_of, lambda folder: ("map", "--workdir", folder, "--to", folder / "map.txt")),
    Command("map to SVG", _map_of, lambda folder: ("map", "--workdir", folder, "--to", folder / "map.svg")),
    Command("report --all", _runs, lambda folder: ("report", "--all", "--workdir", folder, "--out", folder / "site")),
    Command("report", _episodes, lambda folder: ("report", "--workdir", folder, "--to", folder / "report.html")),
    Command("prompt", _episodes, lambda folder: ("prompt", "--workdir", folder)),
    Command("prompt 1:3", _episodes, lambda folder: ("prompt", "--workdir", folder, "1:3")),
)


def run_rows(scratch: Path, share: float) -> Iterator[Row]:
    """Yield the figures of a run that begins in folders with all content of one kind, and with everything."""
    full = {"memories": int(MEMORIES * share), "rooms": int(ROOMS * share), "routes": int(ROUTES * share)}
    contents = {f"{count:,} {kind}": {kind: count} for kind, count in full.items()}
    with MisbehavingServer(Streams((json.dumps(ANSWER),))) as server:
        model = ("--base-url", server.base_url, "--model", "served")
        for name, content in {"nothing": {}, **contents, "all of these": full}.items():
            folder = make_folder(scratch / name.replace(" ", "-").replace(",", ""), **content)
            arguments = ("run", "--workdir", folder, "--game", OWN_STORY, *model, "--max-turns", 20, "--json")
            first, second = (stopped_at(event, started(*arguments)) for event in ("episode_started", "turn_played"))
            yield {
                "work folder with": name,
                "start, s": first.used,
                "first turn, s": second.used,
                "SIGTERM, s": max(first.more, second.more),
                "SIGTERM, s on the clock": max(first.waited, second.waited),
                "20 turns, s": seconds(*arguments),
            }


def main(share: float = 1.0) -> int:
    """Print the figures; return 1 if a limit is missed."""
    story = walkthrough_of(zork_or_own())
    with tempfile.TemporaryDirectory(prefix="zorkgpt-load-") as name, suppress(KeyboardInterrupt):
        scratch = Path(name)
        runs = [*run_rows(scratch, share)]
        limits = {"work folder with": "at most", **{name: LIMITS.get(name) for name in [*runs[0]][1:]}}
        show([*runs, limits], "A run")
        commands = [command.row(scratch, share) for command in COMMANDS]
        show(commands, "Commands")
        grown = growth(story) if len(story.commands) >= LONG_WALKTHROUGH else None
        turns: Row = {"figure": f"last fifth to first, {story.story.stem}", GROWN: grown, "at most": GROWTH}
        show([turns], "A turn")
        missed = [
            f"{next(iter(row.values()))}: {name}"
            for row in (*runs, *commands, turns)
            for name, limit in LIMITS.items()
            if isinstance(value := row.get(name), float) and value > limit
        ]
        for each in missed:
            print(f"Missed: {each}")
        return 1 if missed else 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:2])))
