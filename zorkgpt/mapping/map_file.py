"""Reads ``map_state.json`` and reports invalid entries."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from session.errors import StoreError
from session.files.document_store import backup_of
from session.files.shared_files import read_shared

EdgeKey = Annotated[str, StringConstraints(pattern=r"^\d+_")]
Confidence = Annotated[float, Field(ge=0, le=1)]

_STATE = TypeAdapter(dict[str, Any])
_Where = tuple[int | str, ...]


class RoomEntry(BaseModel):
    """One room; keys that this program does not know are kept."""

    model_config = ConfigDict(extra="allow")

    id: NonNegativeInt
    name: str
    exits: list[str] = []
    visits: NonNegativeInt = 0
    episodes: NonNegativeInt = 0
    last_episode: NonNegativeInt = 0


class MapFile(BaseModel):
    """The whole file; keys that this program does not know are kept. An ``EdgeKey`` is ``15_north``: location, exit."""

    model_config = ConfigDict(extra="allow")

    rooms: dict[NonNegativeInt, RoomEntry]
    connections: dict[NonNegativeInt, dict[str, NonNegativeInt]] = {}
    connection_confidence: dict[EdgeKey, Confidence] = {}
    connection_verifications: dict[EdgeKey, NonNegativeInt] = {}
    exit_failure_counts: dict[EdgeKey, NonNegativeInt] = {}
    exit_refusals: dict[EdgeKey, str] = {}
    exit_deaths: dict[EdgeKey, str] = {}
    pruned_exits: dict[NonNegativeInt, list[str]] = {}
    metadata: dict[str, object] = {}

    @model_validator(mode="after")
    def _rooms_stand_under_their_ids(self) -> MapFile:
        if any(key != room.id for key, room in self.rooms.items()):
            raise ValueError("a room has the id of another room")
        return self


class ParsedMap(NamedTuple):
    """What a file holds, without the entries that cannot be.

    left_out: why each of those cannot be, by the keys that lead to it: ``connections.3.up``
    """

    file: MapFile
    left_out: Mapping[str, str]


class NoMap(StoreError):
    """The file is not a map.

    where: the keys that lead to the invalid value
    problem: what is wrong with it
    """

    def __init__(self, path: Path, where: str, problem: str) -> None:
        backup = backup_of(path)
        before = f"; {backup} is the version before" if backup.exists() else ""
        super().__init__(f"{path} holds no map ({where}: {problem}){before}")
        self.where, self.problem = where, problem


def read_map_file(path: Path | str) -> ParsedMap | None:
    """Return the content of the file, or ``None`` if there is no file. Changes nothing.

    Raises ``NoMap``, and ``StoreError`` if the file cannot be read.
    """
    path = Path(path)
    content = read_shared(path)
    return None if content is None else parse_map(content, path)


def parse_map(content: bytes, path: Path) -> ParsedMap:
    """Return what the content of the file at ``path`` holds. Raises ``NoMap``."""
    try:
        state = _STATE.validate_json(content)
        faults = _faults(state)
        for entry in faults:
            holder: Any = state
            for key in entry[:-1]:
                holder = holder.get(key, {})
            holder.pop(entry[-1], None)
        return ParsedMap(MapFile.model_validate(state), {_place(entry): why for entry, why in faults.items()})
    except ValidationError as error:
        first = error.errors()[0]
        raise NoMap(path, _place(first["loc"]) or "the file", first["msg"]) from error


def read_map_to_write(path: Path, warn: Callable[..., object]) -> MapFile | None:
    """Return the content of the file for a caller that will write it, ``None`` if there is no file or no map in it.

    If invalid entries are left out, a copy of the file is kept under a new name. A file that is not a map is renamed.
    Both are reported with ``warn(event, **fields)``, a structlog logger's method.

    Raises ``StoreError`` if the file cannot be read or kept.
    """
    try:
        read = read_map_file(path)
    except NoMap as error:
        kept = _keep(path, path.rename)
        told = f"{path} is now {kept.name} ({error.where}: {error.problem}){_offer_backup(path, kept)}"
        event = "corrupt map kept aside, starting empty"
        warn(event, error=told, kept=str(kept), where=error.where, problem=error.problem)
        return None
    if read is None:
        return None
    if read.left_out:
        kept = _keep(path, partial(shutil.copyfile, path))
        for where, problem in read.left_out.items():
            told = f"{where} ({problem}); {kept.name} is {path} as it was"
            warn("map entry left out", error=told, kept=str(kept), where=where, problem=problem)
    return read.file


def _place(entry: _Where) -> str:
    return ".".join(map(str, entry))


def _faults(state: dict[str, Any]) -> dict[_Where, str]:
    """Return what is wrong with each entry that cannot be; a map without ``rooms`` is the caller's to refuse."""
    rooms = state.get("rooms")
    faults: dict[_Where, str] = {
        ("rooms", key): "a room has the id of another room"
        for key, room in (rooms.items() if isinstance(rooms, dict) else ())
        if isinstance(room, dict) and str(room.get("id", key)) != key
    }
    try:
        MapFile.model_validate(state)
    except ValidationError as error:
        for problem in error.errors():
            if problem["loc"] not in {(), ("rooms",)}:
                where = problem["loc"]
                one_exit = where[0] == "connections" and where[2:] != ("[key]",)
                faults.setdefault(where[: 3 if one_exit else 2], problem["msg"])
    return faults


def _offer_backup(path: Path, kept: Path) -> str:
    """Rename the backup of a corrupt file, if there is one, so that the next backup does not replace it, and report
    its path.
    """
    try:
        backup = backup_of(path).rename(f"{kept}.backup")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(f"{backup_of(path)} cannot be kept: {error.strerror or error}") from error
    return f"; {backup.name} is the version before: to go on with it, copy it to {path.name} now"


def _keep(path: Path, move: Callable[[Path], object]) -> Path:
    """Keep the file, by ``move``, under the first free name of ``NAME.corrupt``, ``NAME.corrupt-2`` …"""
    names = (f"{path.name}.corrupt" + (f"-{number}" if number > 1 else "") for number in count(1))
    aside = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    try:
        move(aside)
    except OSError as error:
        raise StoreError(f"{path} is corrupt and cannot be kept aside: {error.strerror or error}") from error
    return aside
