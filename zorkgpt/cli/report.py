"""``zorkgpt report``: runs on one page for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import StoreError, ZorkGPTError
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.latest_run import StoryOfRun, chosen_run, story_file
from zorkgpt.cli.streams import print_line

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from zorkgpt.report.page_data import PageRun

REPORT_FILE = Path("report.html")


def report(
    runs: Annotated[
        list[str] | None, typer.Argument(help="Ids or paths of runs; by default the one that was played last.")
    ] = None,
    to: Annotated[Path, typer.Option("--to", "-o", help="File to write.", metavar="FILE")] = REPORT_FILE,
    game: StoryOfRun = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Write one page for the browser that shows how runs went, turn by turn; it needs no network."""
    from importlib.metadata import version

    from zorkgpt.report.html_page import page_with
    from zorkgpt.report.page_data import PageData

    now = common_options.resolve({"zork_game_workdir": workdir, "game.file": story_file(game)}).configuration
    folders = [chosen_run(now.zork_game_workdir, run, game) for run in runs or (None,)]
    told = tuple(page_run(folder, now) for folder in folders)
    program = f"zorkgpt {version('zorkgpt')}"
    page = page_with(PageData(program, told)).encode()
    try:
        to.write_bytes(page)
    except OSError as error:
        raise StoreError(f"cannot write {to}: {error.strerror}") from error
    for run in told:
        for note in run.notes:
            print_line(f"Run {run.id}: {note.text}")
    print_line(f"{counted(len(told), 'run')} in {to}, {len(page) / 1e6:.1f} MB: open it in a browser.")


def page_run(folder: Path, now: GameConfiguration) -> PageRun:
    """Return the run of that folder as a page shows it. Raises ``StoreError`` where it has no manifest."""
    from zorkgpt.cli.replay import repeat
    from zorkgpt.report.files_at_end import read_end
    from zorkgpt.report.page_data import Note
    from zorkgpt.report.played_run import read_run
    from zorkgpt.report.repetition import Repetition
    from zorkgpt.report.run_page import page_of_run

    run, repetition, notes = read_run(folder), Repetition(), list[Note]()
    if run.summary.state == "damaged":
        notes.append(Note(f"{run.summary.reason}. What was played up to there is shown."))
    try:
        replayed = repeat(folder, now, show=repetition.see, asked=repetition.hear, meet=repetition.meet)
    except ZorkGPTError as error:
        notes.append(Note(f"The run could not be repeated, so prompts and what each turn taught are missing: {error}."))
    else:
        repetition.end(is_whole=replayed.difference is None)
        if replayed.difference is not None:
            notes.append(
                Note(
                    "This version of the program plays the run differently from here on, so later prompts and what "
                    f"later turns taught are missing: line {replayed.difference.line} of the journal.",
                    repetition.moment,
                )
            )
    at_end = read_end(folder, run, lambda text: notes.append(Note(text)))
    return page_of_run(run, repetition, at_end, notes)
