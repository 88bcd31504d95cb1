"""Checks whether the map learned in play is true.

    python -m benchmarks.map_truth [STORY ...]

Replays Jericho's walkthrough of each story (by default of the folder ZORKGPT_STORIES) and tries every edge of the map
again from the state saved just before it was learned. Exit status 1: a map is not true.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.stories import played, user_stories, walkthrough_of
from benchmarks.tables import Row, show
from game_interface.core.game import Game, SavedState
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import read_vocabulary
from managers.map_manager import MapManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import TurnRecord
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_values import Edge
from zorkgpt.mapping.movement_analyzer import carries_along
from zorkgpt.mapping.navigation import shortest_path


@dataclass(slots=True)
class MapTruth:
    """The comparison of a map with a replay. A true map has zero of unlearned, unwalked, false and missing.

    moves: made by a command
    carried: moves that waiting would have made as well, or during a command that is not an exit (``carries_along``),
        or that the map takes for the end of a scene
    routes: ordered pairs of different rooms that the walked moves connect
    unlearned: moves for which there was no edge to the right room just after
    unwalked: edges that were never walked, or last led to another room
    false: edges whose command, tried again from the state before it was learned, leads elsewhere
    missing: those of ``routes`` that are not found or do not lead there
    presumed, right: ways back that were presumed on arrival, and those of them that led there at once
    """

    commands: int = 0
    moves: int = 0
    carried: int = 0
    rooms: int = 0
    edges: int = 0
    routes: int = 0
    ms_per_turn: float = 0.0
    unlearned: int = 0
    unwalked: int = 0
    false: int = 0
    missing: int = 0
    presumed: int = 0
    right: int = 0

    @property
    def holds(self) -> bool:
        """The map is true."""
        return not (self.unlearned or self.unwalked or self.false or self.missing)


class Walked(NamedTuple):
    """Where a move led last, and the state just before it."""

    to_id: int
    state: SavedState


def measure(game: Game, commands: Sequence[str], workdir: Path) -> MapTruth:
    """Return how true the map is that these commands draw in an empty work folder."""
    config = GameConfiguration(zork_game_workdir=workdir)
    manager = MapManager(
        logging.getLogger(__name__),
        config,
        GameState(),
        directions=game.facts.directions,
        vocabulary=read_vocabulary(Story.load(Path(game.facts.path))),
    )
    truth = MapTruth()
    walked = replay(game, commands, manager, truth)
    edges, connected = _edges(manager.game_map), list(_connected(walked))
    truth.rooms, truth.edges, truth.routes = len(manager.game_map.rooms), len(edges), len(connected)
    for edge, to_id in edges.items():
        truth.unwalked += edge not in walked or walked[edge].to_id != to_id
        truth.false += edge not in walked or not _leads(game, walked[edge].state, edge.exit, to_id)
    truth.missing = sum(not _path_leads(manager, from_id, to_id) for from_id, to_id in connected)
    return truth


def replay(game: Game, commands: Sequence[str], manager: MapManager, truth: MapTruth) -> dict[Edge, Walked]:
    """Play the commands, as many as the story takes, let the map learn from each, and count; return the moves."""
    walked: dict[Edge, Walked] = {}
    presumed: dict[tuple[Edge, int], bool] = {}
    turns, now, seconds = list[TurnRecord](), game.save(), 0.0
    for typed in played(game, commands):
        turn = manager.movements.understood(typed, turns)
        turns.append(turn)
        before, state, now = turn.before, now, game.save()
        started = time.perf_counter()
        manager.learn(turn)
        seconds += time.perf_counter() - started
        truth.commands += 1
        here = turn.after.location
        if turn.moved and here is not None and turn.after.ending is None and not turn.after.died:
            for exit_back, to_id in manager.game_map.ways_back(here.num).items():
                back = (Edge(here.num, exit_back), to_id)
                if back not in presumed:
                    presumed[back] = _leads(game, now, exit_back, to_id)
        exit_ = manager.movements.exit_of(turn.action)
        if exit_ and turn.moved and not turn.after.died and before.location and here:
            edge = Edge(before.location.num, exit_)
            carry = manager.game_map.carries.get(edge)
            changes_scene = carry is not None and carry.turn == turn.turn
            if carries_along(exit_) or changes_scene or _leads(game, state, "wait", here.num):
                truth.carried += 1
                continue
            truth.moves += 1
            walked[edge] = Walked(here.num, state)
            truth.unlearned += _edges(manager.game_map).get(edge) != here.num
    truth.ms_per_turn = 1000 * seconds / max(1, truth.commands)
    truth.presumed, truth.right = len(presumed), sum(presumed.values())
    return walked


def _edges(graph: MapGraph) -> dict[Edge, int]:
    return {
        Edge(from_id, exit_): to_id for from_id, exits in graph.connections.items() for exit_, to_id in exits.items()
    }


def _leads(game: Game, state: SavedState, command: str, to_id: int) -> bool:
    """Return whether the command leads there from that state, and restore the story's current state."""
    now = game.save()
    game.restore(state)
    location = game.step(command).location
    game.restore(now)
    return location is not None and location.num == to_id


def _connected(walked: Mapping[Edge, Walked]) -> Iterator[tuple[int, int]]:
    """Yield every pair of different rooms with walked moves from the first to the second, found by plain search."""
    for from_id in {edge.location_id for edge in walked}:
        found, open_ids = {from_id}, [from_id]
        while open_ids:
            here = open_ids.pop()
            new = {move.to_id for edge, move in walked.items() if edge.location_id == here} - found
            found |= new
            open_ids += new
        yield from ((from_id, to_id) for to_id in found - {from_id})


def _path_leads(manager: MapManager, from_id: int, to_id: int) -> bool:
    path = shortest_path(manager.game_map, from_id, to_id)
    here = from_id
    for command in path.commands if path else ():
        here = manager.game_map.connections[here][command]
    return here == to_id


def main(paths: Sequence[Path]) -> int:
    """Print the figures of these stories. Returns 1 if a map is not true."""
    rows: list[Row] = []
    true = True
    for path in paths:
        play = walkthrough_of(path)
        with play.open() as game, tempfile.TemporaryDirectory() as folder:
            truth = measure(game, play.commands, Path(folder))
        rows.append({"story": path.stem, **{name.replace("_", " "): value for name, value in asdict(truth).items()}})
        true &= truth.holds
    show(rows)
    return 0 if true else 1


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]] or user_stories()))
