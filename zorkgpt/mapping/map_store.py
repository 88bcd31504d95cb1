"""The map's file, shared by all runs of a work folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path

from pydantic_core import to_json
from typing_extensions import override

from session.errors import reported_as
from session.events import FileEdited
from session.files.document_store import SharedStore
from session.files.shared_files import backup_of, locked, read_shared
from zorkgpt.mapping.map_graph import MapGraph, NoMap


class MapStore(SharedStore):
    """Holds the map and its file; what another run has put there since goes into the map before it is written.

    If invalid entries are left out, a copy of the file is kept under a new name. A file that is not a map is renamed.

    graph: the map as it is now, always the same object
    is_changed: it has rooms or edges that the file has not
    warn: a structlog logger's method, called for each invalid part of the file
    Raises ``StoreError`` if the file cannot be read or kept.
    """

    def __init__(self, path: Path, warn: Callable[..., object], graph: MapGraph | None = None) -> None:
        super().__init__(path)
        self.is_changed = self._is_prepared = False
        self._warn = warn
        self._prepared = ""  # the digest of the map as it was prepared
        self._written: set[str] = set()  # digests of the maps that the run has written or read
        if graph is None:
            graph = self._read()
            self._written, self._signature = {digest(graph)}, self._stat()
        self.graph = graph

    @property
    @override
    def digest(self) -> str:
        return digest(self.graph)

    @override
    def _return_to(self, base: bytes | None) -> None:
        restored = MapGraph.parse(base, self.path) if base else MapGraph()
        vars(self.graph).clear()  # with what was derived from it
        vars(self.graph).update(vars(restored))
        self.graph.__pydantic_extra__ = restored.model_extra
        self._written = {self.digest}
        self._signature = None

    def demand(self) -> None:
        """Let the map go to its file with the next write."""
        self.is_due = True

    @override
    def commit(self) -> None:
        if self.is_due:
            with locked(self.path):
                self._absorb(self._found_edit())
                self._write(self.digest)

    @override
    def look(self) -> None:
        """Repeat a recorded edit; what others write now is taken in when the map is written."""
        self._absorb(self._recorded_edit(lambda: None))

    @override
    def prepare(self, locks: ExitStack) -> None:
        self._is_prepared = self._claim(locks)
        self._absorb(self._recorded_edit(self._found_edit))
        self._prepared = self.digest
        self._record_write(None, self._prepared)

    @override
    def write(self) -> None:
        if self._is_prepared and not self._is_repeating:
            self._write(self._prepared)
            return
        self._written.add(self.digest)
        if not self._is_prepared:
            self._absorb(self._recorded_edit(lambda: None))  # which the last branch has recorded
        if self._is_repeating:
            self.is_changed = self.is_due = False
        else:
            with locked(self.path):
                self._absorb(self._recorded_edit(self._found_edit))
                self._write(self.digest)

    def _write(self, digest: str) -> None:
        self._replace(to_json(self.graph.to_dict(), indent=2))
        self._written = {digest}
        self.is_changed = self.is_due = False

    def _read(self) -> MapGraph:
        """Return the map in the file; an empty one if there is none. Reports and keeps what is left out."""
        content = read_shared(self.path)
        left_out: dict[str, str] = {}
        if content is None:
            return MapGraph()
        try:
            graph = MapGraph.parse(content, self.path, left_out.__setitem__)
        except NoMap as error:
            kept, backup = self._keep(self.path.rename), backup_of(self.path)
            message = f"{self.path} is now {kept.name} ({error.where}: {error.problem})"
            with reported_as(f"{backup} cannot be kept"), suppress(FileNotFoundError):  # the next one would replace it
                renamed = backup.rename(f"{kept}.backup")
                message += f"; {renamed.name} is the version before: to use it, copy it to {self.path.name} now"
            event = "corrupt map kept aside, starting empty"
            self._warn(event, error=message, kept=str(kept), where=error.where, problem=error.problem)
            return MapGraph()
        if left_out:
            kept = self._keep(partial(shutil.copyfile, self.path))
            for where, problem in left_out.items():
                message = f"{where} ({problem}); {kept.name} is {self.path} as it was"
                self._warn("map entry left out", error=message, kept=str(kept), where=where, problem=problem)
        return graph

    def _keep(self, move: Callable[[Path], object]) -> Path:
        """Keep the file, by ``move``, under the first free name of ``NAME.corrupt``, ``NAME.corrupt-2`` …"""
        names = (f"{self.path.name}.corrupt" + (f"-{number}" if number > 1 else "") for number in count(1))
        aside = next(path for name in names if not os.path.lexists(path := self.path.with_name(name)))
        with reported_as(f"{self.path} is corrupt and cannot be kept aside"):
            move(aside)
        return aside

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
    """Return the SHA-256 of a map without the time of writing, 64 hex digits."""
    return sha256(_text(graph, sort_keys=True).encode()).hexdigest()


def _text(graph: MapGraph, *, sort_keys: bool = False) -> str:
    """Return the content of the file without the time of writing."""
    metadata = {key: value for key, value in graph.metadata.items() if key != "timestamp"}
    return json.dumps({**graph.to_dict(), "metadata": metadata}, sort_keys=sort_keys)
