"""``zorkgpt status``: how every manager of the latest run stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.processes import program
from session.text import counted, one_line
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import OfStory, heading, latest_folder, standing
from zorkgpt.cli.terminal import hanging, print_folded, print_line, terminal_width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zorkgpt.report.current_state import CurrentState
    from zorkgpt.report.run_summary import RunSummary

Workdir = Annotated[Path | None, typer.Option(help="Folder of the run.", metavar="DIR", parser=common_options.folder)]


def status(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON; null if nothing was played.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="With the figures of every manager.")] = False,
    story: OfStory = None,
    workdir: Workdir = None,
) -> None:
    """Print the state of the story that was played last. Shows location, score, objectives, memories and routes."""
    from session.files.run_folders import latest_runs
    from zorkgpt.report.current_state import read_current_state
    from zorkgpt.report.run_summary import summarise

    configuration = common_options.configuration_in(workdir)
    folder = latest_folder(configuration.zork_game_workdir, story)
    state = read_current_state(folder)
    if as_json:
        typer.echo(json.dumps(state and state.model_dump(mode="json"), indent=2))
    elif state is None:
        print_line(f"Nothing has been played in {folder} yet; {program()} run plays.")
    else:
        print_folded(heading(folder))
        runs = latest_runs([folder])
        summary = summarise(runs[0]) if runs else None
        if summary:
            print_line(standing(summary, configuration))
            for change in summary.changes:
                print_folded(f"Changed {change.describe()}.")
        if not summary or state.run in ("", summary.folder.name):
            print_folded(*_present(state, summary))
        if summary:
            for line in _learnt(summary.folder, folder / configuration.simple_memory.memory_file):
                print_folded(f"  {line}")
        if verbose:
            typer.echo("\n".join(("", *hanging(_rows(state), terminal_width()))))


LISTS = {"objective": "ObjectiveManager", "remembered here": "SimpleMemoryManager", "route": "RouteManager"}
LATELY = 3
"""How many memories are told that were learnt last."""

_WORDS_OF_NAME = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _present(state: CurrentState, run: RunSummary | None) -> Iterator[str]:
    place = "" if state.location is None else f" at {one_line(state.location.name)}"
    maximum = f" of {run.max_score}" if run and run.max_score is not None else ""
    score = "" if state.score is None else f", score {state.score}{maximum}"
    written = state.timestamp[:16].replace("T", " ")
    yield f"Episode {state.episode}, turn {state.turn}{place}{score}; written {written}"
    for title, manager in LISTS.items():
        yield from (f"  {title}: {one_line(each)}" for each in state.present.get(manager, []))


def _learnt(run: Path, memory_file: Path) -> Iterator[str]:
    """Yield the memories that the run has learnt last, the newest first."""
    from managers.memory.prompt import last_turn
    from managers.memory.tiers import open_memories
    from session.files.run_folders import MEMORIES_AT_START

    if not (run / MEMORIES_AT_START).is_file():
        return
    document = open_memories(memory_file).document
    changes = document.changes_since(open_memories(run / MEMORIES_AT_START).document)
    added = [change for change in changes if change.kind == "added"]
    added.sort(key=lambda change: (change.memory.episode, last_turn(change.memory)), reverse=True)
    names = document.names()
    for change in added[:LATELY]:
        place = names[change.location_id] or f"location {change.location_id}"
        yield f"learnt at {one_line(place)}: {change.memory.title}"
    if len(added) > LATELY:
        yield f"and {counted(len(added) - LATELY, 'more memory', 'more memories')} in this run"


def _rows(state: CurrentState) -> Iterator[tuple[str, str, str]]:
    """Yield each manager's state and figures, with the manager's name, in words, on its first row alone."""
    for name, each in state.managers.items():
        words = _WORDS_OF_NAME.sub(" ", name.removesuffix("Manager")).lower()
        figures = [*each["state"].items(), *each["metrics"].items()]
        for place, (figure, value) in enumerate(figures):
            yield ("" if place else words), figure.replace("_", " "), _as_text(value)


def _as_text(value: str | float | bool | None) -> str:
    if value is None or value == "":
        return "-"
    return value if isinstance(value, str) else json.dumps(value)
