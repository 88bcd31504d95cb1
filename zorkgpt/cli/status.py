"""``zorkgpt status``: how every manager of the latest run stands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, ValidationError

from managers.base_manager import ManagerStatus
from managers.state_manager import CURRENT_STATE_FILE
from session.errors import StoreError, first_problem
from session.files.shared_files import read_shared
from session.resolved_configuration import load_configuration
from session.text import one_line
from zorkgpt.cli.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator


class Place(BaseModel):
    """Where the player is."""

    id: int
    name: str


class CurrentState(BaseModel):
    """``current_state.json`` as ``StateManager`` writes it; keys that are not needed here are kept."""

    model_config = ConfigDict(extra="allow")

    timestamp: str
    episode: int
    turn: int
    location: Place | None
    score: int | None
    managers: dict[str, ManagerStatus]


def status(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON; null if nothing was played.")] = False,
    workdir: Annotated[Path | None, typer.Option(help="Folder of the run.", metavar="DIR")] = None,
) -> None:
    """Print where the latest run of the work folder stands, and how each of its managers does."""
    configuration = load_configuration({"zork_game_workdir": workdir}, os.environ, Path.cwd()).configuration
    state = read_state(configuration.zork_game_workdir / CURRENT_STATE_FILE)
    if as_json:
        typer.echo(json.dumps(state and state.model_dump(mode="json"), indent=2))
    elif state is None:
        folder = configuration.zork_game_workdir
        typer.echo(printable(f"Nothing has been played in {folder} yet; zorkgpt run plays."))
    else:
        for line in (moment(state), "", *table(state)):
            typer.echo(printable(line))


def read_state(path: Path) -> CurrentState | None:
    """What the file says; ``None`` where there is none. Raises ``StoreError`` for one that cannot be read."""
    content = read_shared(path)
    try:
        return None if content is None else CurrentState.model_validate_json(content)
    except ValidationError as error:
        raise StoreError(
            f"{path} is no state of this version ({first_problem(error)}); the next run writes it anew"
        ) from error


def moment(state: CurrentState) -> str:
    """The episode's present in a line."""
    place = "" if state.location is None else f" at {one_line(state.location.name)} (ID: {state.location.id})"
    score = "" if state.score is None else f", score {state.score}"
    return f"Episode {state.episode}, turn {state.turn}{place}{score}; written {state.timestamp}"


def table(state: CurrentState) -> list[str]:
    """The managers' states and figures as lines of three columns, a manager's name on its first line alone."""
    rows = list(_rows(state))
    manager_width, figure_width = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return [f"{manager:<{manager_width}}  {figure:<{figure_width}}  {value}" for manager, figure, value in rows]


def _rows(state: CurrentState) -> Iterator[tuple[str, str, str]]:
    for name, each in state.managers.items():
        figures = [*each["state"].items(), *each["metrics"].items()]
        for place, (figure, value) in enumerate(figures):
            yield ("" if place else name), figure.replace("_", " "), _in_words(value)


def _in_words(value: str | float | bool | None) -> str:
    if value is None or value == "":
        return "-"
    return one_line(value) if isinstance(value, str) else json.dumps(value)
