"""``zorkgpt status``: how every manager of the latest run stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.text import one_line
from zorkgpt.cli import common_options
from zorkgpt.cli.latest_run import OfStory, heading, latest_folder
from zorkgpt.cli.printable import columns
from zorkgpt.cli.streams import print_line, program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zorkgpt.report.current_state import CurrentState

Workdir = Annotated[Path | None, typer.Option(help="Folder of the run.", metavar="DIR")]


def status(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON; null if nothing was played.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="With the figures of every manager.")] = False,
    story: OfStory = None,
    workdir: Workdir = None,
) -> None:
    """Print where the story that was played last stands: its run, place, score, aims, memories there and routes."""
    from session.files.run_folders import latest_runs
    from zorkgpt.report.current_state import read_current_state
    from zorkgpt.report.run_summary import summarise

    folder = latest_folder(common_options.configuration_in(workdir).zork_game_workdir, story)
    state = read_current_state(folder)
    if as_json:
        typer.echo(json.dumps(state and state.model_dump(mode="json"), indent=2))
    elif state is None:
        print_line(f"Nothing has been played in {folder} yet; {program()} run plays.")
    else:
        print_line(heading(folder))
        for run in latest_runs([folder])[:1]:
            summary = summarise(run)
            print_line(f"The run is {summary.state}{f': {summary.reason}' if summary.reason else ''}.")
            for change in summary.changes:
                print_line(f"Changed {change.describe()}.")
        print_line(_moment(state))
        for title, manager in LISTS.items():
            for each in state.present.get(manager, []):
                print_line(f"  {title}: {one_line(each)}")
        if verbose:
            typer.echo("\n".join(("", *columns(_rows(state)))))


LISTS = {"objective": "ObjectiveManager", "remembered here": "SimpleMemoryManager", "route": "RouteManager"}


def _moment(state: CurrentState) -> str:
    place = "" if state.location is None else f" at {one_line(state.location.name)} (ID: {state.location.id})"
    score = "" if state.score is None else f", score {state.score}"
    return f"Episode {state.episode}, turn {state.turn}{place}{score}; written {state.timestamp}"


def _rows(state: CurrentState) -> Iterator[tuple[str, str, str]]:
    """Yield each manager's state and figures, with the manager's name on its first row alone."""
    for name, each in state.managers.items():
        figures = [*each["state"].items(), *each["metrics"].items()]
        for place, (figure, value) in enumerate(figures):
            yield ("" if place else name), figure.replace("_", " "), _as_text(value)


def _as_text(value: str | float | bool | None) -> str:
    if value is None or value == "":
        return "-"
    return value if isinstance(value, str) else json.dumps(value)
