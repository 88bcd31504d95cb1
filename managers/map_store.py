"""The map's file, shared by all runs of a work folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from session.files.shared_files import locked
from zorkgpt.mapping.map_graph import MapGraph

if TYPE_CHECKING:
    from pathlib import Path

    from session.files.document_store import Watch
    from zorkgpt.mapping.map_file import Warn


@dataclass(frozen=True, slots=True)
class MapState:
    """The map with all that is not in its file yet, for a snapshot.

    graph: in the shape of the file
    is_due: it is about to be written
    known: digest of the map that the file was last known to hold
    reads: how often the file was looked at
    previous_command: the latest that reached the story
    """

    graph: dict[str, Any]
    is_due: bool
    known: str
    reads: int
    previous_command: str

    def committed(self) -> MapState:
        """The same once what is due has reached the file."""
        if not self.is_due:
            return self
        return replace(self, is_due=False, known=digest(MapGraph.from_dict(self.graph)), reads=self.reads + 1)


class MapStore:
    """Reads and writes the file; what another run has put there since goes into the map before it is written.

    watch: told of looks at the file
    known: digest of the map that the file was last known to hold, "" for none
    """

    def __init__(self, path: Path, warn: Warn) -> None:
        self.path = path
        self.watch: Watch | None = None
        self.reads = 0
        self._warn = warn
        self._signature: tuple[int, int, int] | None = None
        self.known = ""

    def load(self) -> MapGraph:
        """The map of the file, an empty one where there is none. Raises ``StoreError``."""
        graph = MapGraph.load_from_json(self.path, self._warn) or MapGraph()
        self.known, self._signature = digest(graph), self._stat()
        return graph

    def restore(self, state: MapState) -> MapGraph:
        """The map of ``state``; whether it was written since does not matter."""
        graph = MapGraph.from_dict(state.graph)
        if self.known != digest(graph):
            self.known = state.known
        self._signature, self.reads = None, state.reads
        return graph

    def save(self, graph: MapGraph) -> None:
        """The file holds the map, which has got what others put there. Raises ``StoreError``."""
        with locked(self.path):
            self._absorb(graph)
            graph.save_to_json(self.path)
            self.known, self._signature = digest(graph), self._stat()

    def _absorb(self, graph: MapGraph) -> None:
        self.reads += 1
        if self.watch is not None:
            self.watch.reading(self.path, self.reads)
        if self._stat() == self._signature:
            return
        theirs = MapGraph.load_from_json(self.path, self._warn) or MapGraph()
        if digest(theirs) == self.known:
            return
        graph.absorb(theirs)
        if self.watch is not None:
            self.watch.noticed(self.path, self.reads, _text(theirs))

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino


def digest(graph: MapGraph) -> str:
    """64 hex digits, equal for equal maps, whenever they were written."""
    return sha256(_text(graph, sort_keys=True).encode()).hexdigest()


def _text(graph: MapGraph, *, sort_keys: bool = False) -> str:
    """What the file holds, the time of writing aside."""
    metadata = {key: value for key, value in graph.metadata.items() if key != "timestamp"}
    return json.dumps({**graph.to_dict(), "metadata": metadata}, sort_keys=sort_keys)
