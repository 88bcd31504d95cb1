"""The map's file, shared by all runs of a work folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import fields
from hashlib import sha256
from pathlib import Path

from typing_extensions import override

from session.events import FileEdited
from session.files.document_store import SharedStore
from session.files.inputs import Inputs
from session.files.shared_files import locked
from zorkgpt.mapping.map_file import parse_map, read_map_to_write
from zorkgpt.mapping.map_graph import MapGraph


class MapStore(SharedStore):
    """Holds the map and its file; what another run has put there since goes into the map before it is written.

    graph: the map as it is now, always the same object
    is_changed: it has rooms or edges that the file has not

    warn: called with what in the file cannot be used. Raises ``StoreError`` if the file cannot be read.
    """

    def __init__(self, path: Path, warn: Callable[..., object], graph: MapGraph | None = None) -> None:
        super().__init__(path)
        self.is_changed = self._is_due = self._is_prepared = False
        self._warn = warn
        self._written: set[str] = set()  # digests of the maps that the run has written or read
        self.graph = self._load() if graph is None else graph

    @property
    @override
    def is_due(self) -> bool:
        return self._is_due

    @property
    def digest(self) -> str:
        """Return 64 hex digits, equal for equal maps."""
        return digest(self.graph)

    @override
    def hold(self, inputs: Inputs, base: bytes | None = None) -> None:
        super().hold(inputs)
        if inputs.is_repeating:
            restored = MapGraph.from_file(parse_map(base, self.path).file) if base else MapGraph()
            for each in fields(restored):
                setattr(self.graph, each.name, getattr(restored, each.name))
            self._written = {digest(self.graph)}
            self._signature = None

    def demand(self) -> None:
        """Let the map go to its file with the next write."""
        self._is_due = True

    def commit(self) -> None:
        """Write the map if that is due, outside a run. Raises ``StoreError``."""
        if self._is_due:
            self.save()

    def save(self) -> None:
        """Write the map, with what others put into the file. Raises ``StoreError``."""
        with locked(self.path):
            self._absorb(self._found_edit())
            self._write()

    @override
    def look(self) -> None:
        """Repeat a recorded edit; what others write now is taken in when the map is written."""
        self._absorb(self._recorded_edit(lambda: None))

    @override
    def prepare(self, locks: ExitStack) -> None:
        if not self._is_repeating:
            locks.enter_context(locked(self.path))
        self._is_prepared = not self._is_repeating
        self._absorb(self._recorded_edit(self._found_edit))
        self._record_write(None, self.digest)

    @override
    def write(self) -> None:
        self._written.add(self.digest)
        if self._is_repeating:
            self.is_changed = self._is_due = False
        elif self._is_prepared:
            self._write()
        else:
            with locked(self.path):
                self._absorb(self._recorded_edit(self._found_edit))
                self._write()

    def _write(self) -> None:
        self._replace(self.graph.to_json())
        self._written = {self.digest}
        self.is_changed = self._is_due = False

    def _load(self) -> MapGraph:
        graph = self._read()
        self._written, self._signature = {digest(graph)}, self._stat()
        return graph

    def _read(self) -> MapGraph:
        """Return the map of the file; what of it is not a map is kept under another name, as the file is rewritten."""
        file = read_map_to_write(self.path, self._warn)
        return MapGraph() if file is None else MapGraph.from_file(file)

    def _found_edit(self) -> FileEdited | None:
        if self._stat() == self._signature:
            return None
        theirs = self._read()
        self._signature = self._stat()
        return None if digest(theirs) in self._written else FileEdited(self.path.name, _text(theirs))

    def _absorb(self, edited: FileEdited | None) -> None:
        if edited is not None:
            theirs = MapGraph.from_dict(json.loads(edited.text))
            self.graph.absorb(theirs)
            self._written.add(digest(theirs))


def digest(graph: MapGraph) -> str:
    """Return 64 hex digits, equal for equal maps, whenever they were written."""
    return sha256(_text(graph, sort_keys=True).encode()).hexdigest()


def _text(graph: MapGraph, *, sort_keys: bool = False) -> str:
    """Return the content of the file without the time of writing."""
    metadata = {key: value for key, value in graph.metadata.items() if key != "timestamp"}
    return json.dumps({**graph.to_dict(), "metadata": metadata}, sort_keys=sort_keys)
