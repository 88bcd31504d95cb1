"""The map's file, shared by all runs of a work folder."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated

from pydantic import PlainSerializer, PlainValidator, TypeAdapter, dataclasses
from typing_extensions import override

from session.files.document_store import SharedStore
from session.files.shared_files import locked
from zorkgpt.mapping.map_file import read_map_to_write
from zorkgpt.mapping.map_graph import MapGraph

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from zorkgpt.mapping.map_file import Warn


def _graph(state: MapGraph | Mapping[str, object]) -> MapGraph:
    """Return the map of a state, or of the JSON of one. Raises ``StoreError``."""
    return state if isinstance(state, MapGraph) else MapGraph.from_dict(state)


@dataclasses.dataclass(frozen=True, slots=True)
class MapState:
    """The map with all that is not in its file yet, for a snapshot.

    graph: as it was then; in JSON in the shape of the file
    is_changed: it has rooms or edges that the file has not
    is_due: it is about to be written
    known: digest of the map that the file was last known to hold
    reads: how often the file was looked at
    """

    graph: Annotated[MapGraph, PlainSerializer(MapGraph.to_dict), PlainValidator(_graph)]
    is_changed: bool
    is_due: bool
    known: str
    reads: int

    def committed(self) -> MapState:
        """Return the same as it is once what is due has reached the file."""
        if not self.is_due:
            return self
        return replace(self, is_changed=False, is_due=False, known=digest(self.graph), reads=self.reads + 1)


class MapStore(SharedStore[MapState]):
    """Holds the map and its file; what another run has put there since goes into the map before it is written.

    graph: the map as it stands, always the same object
    is_changed: it has rooms or edges that the file has not

    warn: told of what in the file cannot be used. Raises ``StoreError`` where the file cannot be read.
    """

    states = TypeAdapter(MapState)

    def __init__(self, path: Path, warn: Warn, graph: MapGraph | None = None) -> None:
        super().__init__(path)
        self.is_changed = self._is_due = False
        self._warn = warn
        self._known = ""
        self.graph = self._load() if graph is None else graph

    @property
    @override
    def is_due(self) -> bool:
        return self._is_due

    @property
    def digest(self) -> str:
        """Return 64 hex digits, equal for equal maps."""
        return digest(self.graph)

    def demand(self) -> None:
        """Let the map go to its file with the next :meth:`commit`."""
        self._is_due = True

    def commit(self) -> None:
        """Write the map where that is due, with what others put into the file. Raises ``StoreError``."""
        if self._is_due:
            self.save()

    def refresh(self) -> None:
        """Do nothing: what others write is taken in when the map is written."""

    def save(self) -> None:
        """Write the map, with what others put into the file. Raises ``StoreError``."""
        with locked(self.path):
            self._absorb()
            self._replace(self.graph.to_json())
            self._known = digest(self.graph)
        self.is_changed = self._is_due = False

    def state(self) -> MapState:
        """Return the map as it stands."""
        return MapState(self.graph.copy(), self.is_changed, self._is_due, self._known, self._reads)

    def restore(self, state: MapState) -> None:
        """Make the map what it was; whether it was written since does not matter."""
        restored = state.graph.copy()
        for each in fields(restored):
            setattr(self.graph, each.name, getattr(restored, each.name))
        if self._known != digest(self.graph):
            self._known = state.known
        self._signature, self._reads = None, state.reads
        self.is_changed, self._is_due = state.is_changed, state.is_due

    def _load(self) -> MapGraph:
        graph = self._read()
        self._known, self._signature = digest(graph), self._stat()
        return graph

    def _read(self) -> MapGraph:
        """Return the map of the file; what of it is no map is kept under another name, for the file will be written."""
        file = read_map_to_write(self.path, self._warn)
        return MapGraph() if file is None else MapGraph.from_file(file)

    def _absorb(self) -> None:
        self._look()
        if self._stat() == self._signature:
            return
        theirs = self._read()
        if digest(theirs) != self._known:
            self.graph.absorb(theirs)
            self._notice(_text(theirs))


def digest(graph: MapGraph) -> str:
    """Return 64 hex digits, equal for equal maps, whenever they were written."""
    return sha256(_text(graph, sort_keys=True).encode()).hexdigest()


def _text(graph: MapGraph, *, sort_keys: bool = False) -> str:
    """Return what the file holds, the time of writing aside."""
    metadata = {key: value for key, value in graph.metadata.items() if key != "timestamp"}
    return json.dumps({**graph.to_dict(), "metadata": metadata}, sort_keys=sort_keys)
