"""``map_state.json`` as it stands on disk (seed 2, Cross-Episode Map Persistence)."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Annotated

import structlog
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    StringConstraints,
    ValidationError,
    model_validator,
)

from session.errors import StoreError

EdgeKey = Annotated[str, StringConstraints(pattern=r"^\d+_")]
Confidence = Annotated[float, Field(ge=0, le=1)]

_log = structlog.get_logger(__name__)


class RoomEntry(BaseModel):
    """One room; keys that this program does not know are kept."""

    model_config = ConfigDict(extra="allow")

    id: int
    name: str
    exits: list[str] = []


class MapFile(BaseModel):
    """The whole file. An ``EdgeKey`` is ``LOCATION_EXIT``: ``15_north``; keys not known here are kept."""

    model_config = ConfigDict(extra="allow")

    rooms: dict[int, RoomEntry]
    connections: dict[int, dict[str, int]] = {}
    connection_confidence: dict[EdgeKey, Confidence] = {}
    connection_verifications: dict[EdgeKey, NonNegativeInt] = {}
    exit_failure_counts: dict[EdgeKey, NonNegativeInt] = {}
    pruned_exits: dict[int, list[str]] = {}
    metadata: dict[str, object] = {}

    @model_validator(mode="after")
    def _rooms_stand_under_their_ids(self) -> MapFile:
        if any(key != room.id for key, room in self.rooms.items()):
            raise ValueError("a room stands under an id that is not its own")
        return self


def read_map_file(path: Path | str) -> MapFile | None:
    """What the file holds; ``None`` where there is none.

    A corrupt file also gives ``None``: it is kept beside, under a new name, and a warning says where.
    Raises ``StoreError`` where the file is there and cannot be read or renamed.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        return MapFile.model_validate_json(content)
    except ValidationError as error:
        problem = error.errors()[0]
        kept = _set_aside(Path(path))
        where = ".".join(map(str, problem["loc"])) or "the file"
        _log.warning("corrupt map kept aside, starting empty", kept=str(kept), where=where, problem=problem["msg"])
        return None


def _set_aside(path: Path) -> Path:
    """The file has the first free name of ``NAME.corrupt``, ``NAME.corrupt-2`` …"""
    names = (f"{path.name}.corrupt" + (f"-{number}" if number > 1 else "") for number in count(1))
    aside = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    try:
        return path.rename(aside)
    except OSError as error:
        raise StoreError(f"{path} is corrupt and cannot be renamed: {error.strerror or error}") from error
