"""``zorkgpt status``: prints the state of the latest run and of its managers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from session.processes import program
from session.text import counted, one_line, out_of
from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import print_folded, print_json, print_line, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from managers.known import Kind
    from zorkgpt.report.played_run import CurrentState
    from zorkgpt.report.run_summary import RunSummary

LISTS: Mapping[str, Kind] = {"objective": "objective", "remembered here": "memory", "route": "route"}
LATEST_MEMORIES = 3


def status(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON; null if nothing was played.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="With the figures of every manager.")] = False,
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Print the state of the story that was played last. Shows location, score, objectives, memories and routes."""
    from session.files.run_folders import latest_runs
    from zorkgpt.report.played_run import read_current_state
    from zorkgpt.report.run_summary import summarise

    folder, configuration = common_options.folder_and_configuration(workdir, story)
    state = read_current_state(folder)
    if as_json:
        print_json(state)
        return
    if state is None:
        print_line(f"Nothing has been played in {folder} yet; {program()} run plays.")
        return
    print_folded(common_options.heading(folder))
    runs = latest_runs([folder])
    summary = summarise(runs[0]) if runs else None
    if summary:
        print_line(common_options.standing(summary, configuration))
        print_folded(*(f"Changed {change.describe()}." for change in summary.changes))
    if not summary or state.run in ("", summary.folder.name):
        print_folded(*_present(state, summary))
    if summary:
        print_folded(*_learned(summary.folder, folder / configuration.simple_memory.memory_file))
    if verbose:
        typer.echo()
        rows = []
        for each in state.managers.values():
            words = each["type"].replace("_", " ")
            for figure, value in (*each["state"].items(), *each["metrics"].items()):
                text = value if isinstance(value, str) else json.dumps(value)
                rows.append((words, figure.replace("_", " "), text if value not in (None, "") else "-"))
                words = ""  # the manager's name is on its first row alone
        print_table(rows, wraps=True)


def _present(state: CurrentState, run: RunSummary | None) -> Iterator[str]:
    place = "" if state.location is None else f" at {one_line(state.location.name)}"
    score = "" if state.score is None else f", score {out_of(state.score, run.max_score if run else None)}"
    written = state.timestamp[:16].replace("T", " ")
    yield f"Episode {state.episode}, turn {state.turn}{place}{score}; written {written}"
    for title, kind in LISTS.items():
        yield from (f"  {title}: {one_line(each)}" for each in state.present.get(kind, []))


def _learned(run: Path, memory_file: Path) -> Iterator[str]:
    """Yield the latest memories that the run has learned, the newest first."""
    from managers.memory.document import open_memories
    from managers.memory.run_changes import changes_of
    from session.files.run_folders import MEMORIES_AT_START

    if not (run / MEMORIES_AT_START).is_file():
        return
    document = open_memories(memory_file).document
    changes, _ = changes_of(run, memory_file, memory_file.name)
    added = [change for change in changes if change.kind == "added"]
    added.sort(key=lambda change: (change.memory.episode, change.memory.last_turn), reverse=True)
    names = document.names()
    for change in added[:LATEST_MEMORIES]:
        number, name = change.location_id, names[change.location_id]
        is_shared = list(names.values()).count(name) > 1
        place = f"L{number} {one_line(name)}" if name and is_shared else one_line(name) or f"location {number}"
        yield f"  learned at {place}: {change.memory.title}"
    if len(added) > LATEST_MEMORIES:
        yield f"  and {counted(len(added) - LATEST_MEMORIES, 'more memory', 'more memories')} in this run"
