"""``zorkgpt report``: runs on one page for the browser, written to a file or served while they are played."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError, ZorkGPTError
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.latest_run import StoryOfRun, chosen_run, story_file
from zorkgpt.cli.streams import print_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from session.game_configuration import GameConfiguration
    from zorkgpt.report.page_data import Note, PageData, PageRun
    from zorkgpt.report.repetition import Repetition

REPORT_FILE = Path("report.html")
LOOK = 1.0  # seconds between looks at the journals of runs that are followed
SHARE = 4  # so many times as long as the making of a page took passes before the next is made


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Ids or folders of runs, or the folder of an ablation; by default the latest run."),
    ] = None,
    to: Annotated[Path, typer.Option("--to", "-o", help="File to write.", metavar="FILE")] = REPORT_FILE,
    watch: Annotated[
        bool, typer.Option("--watch", help="Serve it on this computer instead, and follow runs that are being played.")
    ] = False,
    with_runs: Annotated[
        bool, typer.Option("--with-runs", help="Of an ablation: write a page for each of its runs, too.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="For --watch; 0: any that is free.")] = 0,
    game: StoryOfRun = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Write one page for the browser that shows how runs went, turn by turn; it needs no network."""
    from zorkgpt.ablation.plan import PLAN_FILE

    if port and not watch:
        raise ConfigurationError("--port says where --watch serves: add --watch")
    now = common_options.resolve({"zork_game_workdir": workdir, "game.file": story_file(game)}).configuration
    if runs and any((Path(run) / PLAN_FILE).is_file() for run in runs):
        _report_ablation(runs, to, now, with_runs=with_runs, watch=watch)
        return
    folders = [chosen_run(now.zork_game_workdir, run, game) for run in runs or (None,)]
    if watch:
        _serve(folders, now, port)
        return
    for line in write_report(folders, to, now):
        print_line(line)


def write_report(folders: Sequence[Path], to: Path, now: GameConfiguration) -> list[str]:
    """Write the page of these runs, and return what there is to say of it, line by line. Raises ``StoreError``."""
    data = _data_of(folders, now)
    page = _written(data, to)
    notes = [f"Run {run.id}: {note.text}" for run in data.runs for note in run.notes]
    return [*notes, f"{counted(len(data.runs), 'run')} in {to}, {page / 1e6:.1f} MB: open it in a browser."]


def _written(data: object, to: Path) -> int:
    """Write the page with these data, and return how many bytes it has."""
    from zorkgpt.report.html_page import page_with

    page = page_with(data).encode()
    try:
        to.write_bytes(page)
    except OSError as error:
        raise StoreError(f"cannot write {to}: {error.strerror}") from error
    return len(page)


def _program() -> str:
    from importlib.metadata import version

    return f"zorkgpt {version('zorkgpt')}"


def _report_ablation(named: list[str], to: Path, now: GameConfiguration, *, with_runs: bool, watch: bool) -> None:
    """Write the page of the ablation in the one folder that is named."""
    common_options.require_packages("scipy")
    from zorkgpt.ablation.page import AblationData, page_of_ablation, read_results, run_folders_of

    if len(named) > 1 or watch:
        raise ConfigurationError(f"{named[0]} is an ablation: it has a page of its own, and none to watch")
    folder = Path(named[0])
    results = read_results(folder)
    if results is None:
        raise StoreError(f"{folder} holds no results yet: the command that plays it writes them with --so-far")
    for run in run_folders_of(results, folder) if with_runs else ():
        for line in write_report([run], run / REPORT_FILE, now) if run else ():
            print_line(line)
    page = _written(AblationData(_program(), page_of_ablation(results, folder, to, REPORT_FILE.name)), to)
    print_line(f"The ablation {folder} is in {to}, {page / 1e6:.1f} MB: open it in a browser.")


def _serve(folders: Sequence[Path], now: GameConfiguration, port: int) -> None:
    """Serve the page of these runs, and make it anew as they are played, until Ctrl-C."""
    from zorkgpt.report.html_page import as_json
    from zorkgpt.report.server import Edition, ReportServer

    data, seen = _data_of(folders, now), _sizes(folders)
    with ReportServer(port, Edition.of(as_json(data))) as server:
        print_line(f"The report is at {server.url} for this computer alone; Ctrl-C ends it.")
        try:
            while True:
                time.sleep(LOOK)
                if data.follow and (_sizes(folders) != seen or not _is_any_played(folders)):
                    start, seen = time.monotonic(), _sizes(folders)
                    data = _data_of(folders, now)
                    server.edition = Edition.of(as_json(data))
                    time.sleep(SHARE * (time.monotonic() - start))
        except KeyboardInterrupt:
            return


def _data_of(folders: Sequence[Path], now: GameConfiguration) -> PageData:
    from zorkgpt.report.page_data import PageData

    told = tuple(_page_run(folder, now) for folder in folders)
    return PageData(_program(), told, follow=any(run.state == "playing" for run in told))


def _page_run(folder: Path, now: GameConfiguration) -> PageRun:
    """Return the run of that folder as a page shows it. Raises ``StoreError`` where it has no manifest."""
    from zorkgpt.report.files_at_end import NOTHING_LEFT, read_end
    from zorkgpt.report.page_data import Note
    from zorkgpt.report.played_run import read_run
    from zorkgpt.report.repetition import Repetition
    from zorkgpt.report.run_page import page_of_run

    run, repetition, notes = read_run(folder), Repetition(), list[Note]()
    is_damaged = run.summary.state == "damaged"
    if is_damaged:
        notes.append(Note(f"{run.summary.reason}. What was played up to there is shown."))
    if run.summary.state == "playing":
        notes.append(Note("The run is being played: prompts and what each turn taught are shown when it is over."))
    else:
        notes += _repeated(folder, now, repetition, salvages=is_damaged)
    left = NOTHING_LEFT if repetition.is_whole else read_end(folder, run, lambda text: notes.append(Note(text)))
    return page_of_run(run, repetition, left, notes)


def _repeated(folder: Path, now: GameConfiguration, repetition: Repetition, *, salvages: bool) -> Iterator[Note]:
    """Play the run again before ``repetition``, and yield what keeps it from being repeated to its end.

    salvages: its journal is known to be damaged
    """
    from zorkgpt.cli.replay import repeat
    from zorkgpt.report.page_data import Note

    watched = partial(repeat, folder, now, show=repetition.see, asked=repetition.hear, meet=repetition.meet)
    try:
        try:
            replayed = watched(salvages=salvages)
        except StoreError as error:
            replayed = watched(salvages=True)
            yield Note(f"{error}. What the journal still tells is shown.")
    except ZorkGPTError as error:
        yield Note(f"The run could not be repeated, so prompts and what each turn taught are missing: {error}.")
        return
    repetition.end(is_whole=replayed.difference is None)
    if replayed.difference is not None:
        yield Note(
            "This version of the program plays the run differently from here on, so later prompts and what "
            f"later turns taught are missing: line {replayed.difference.line} of the journal.",
            repetition.moment,
        )


def _sizes(folders: Sequence[Path]) -> list[int]:
    """Return how long the journals are, which only grow while runs are played."""
    from session.files.journal import JOURNAL_FILE

    try:
        return [(folder / JOURNAL_FILE).stat().st_size for folder in folders]
    except OSError as error:
        raise StoreError(f"a run that was followed is gone: {error.strerror}") from error


def _is_any_played(folders: Sequence[Path]) -> bool:
    from session.files.run_folders import is_claimed

    return any(is_claimed(folder) for folder in folders)
