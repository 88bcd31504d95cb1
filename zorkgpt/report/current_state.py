"""Reads ``current_state.json``, which shows how far a work folder's latest run has come."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from managers.base_manager import ManagerStatus
from managers.state_manager import CURRENT_STATE_FILE
from session.errors import StoreError, first_problem
from session.files.shared_files import read_shared


class CurrentLocation(BaseModel):
    """Where the player is."""

    id: int
    name: str


class CurrentState(BaseModel):
    """``current_state.json`` as ``StateManager`` writes it; keys that are not needed here are kept."""

    model_config = ConfigDict(extra="allow")

    run: str = ""
    timestamp: str
    episode: int
    turn: int
    location: CurrentLocation | None
    score: int | None
    managers: dict[str, ManagerStatus]
    present: dict[str, list[str]] = {}


def read_current_state(workdir: Path) -> CurrentState | None:
    """Return the state in the work folder's file, ``None`` if there is none.

    Raises ``StoreError`` if it cannot be read.
    """
    path = workdir / CURRENT_STATE_FILE
    content = read_shared(path)
    try:
        return None if content is None else CurrentState.model_validate_json(content)
    except ValidationError as error:
        problem = first_problem(error)
        raise StoreError(
            f"{path} is not a state file of this version ({problem}); the next run writes it anew"
        ) from error
