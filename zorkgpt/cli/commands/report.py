"""``zorkgpt report``: runs on one page for the browser, written to a file or served while they are played."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import REPORT_FILE, StoryOfRun, chosen_run, story_file
from zorkgpt.cli.terminal import print_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from session.game_configuration import GameConfiguration

LOOK = 1.0  # seconds between looks at the journals of runs that are followed


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
    """Write a page for the browser that shows runs turn by turn. It needs no network."""
    from zorkgpt.ablation.plan import PLAN_FILE
    from zorkgpt.cli.pages import write_report

    if port and not watch:
        raise ConfigurationError("--port says where --watch serves: add --watch")
    now = common_options.resolve({"zork_game_workdir": workdir, "game.file": story_file(game)}).configuration
    if runs and any((Path(run) / PLAN_FILE).is_file() for run in runs):
        _report_ablation(runs, to, now, with_runs=with_runs, watch=watch)
        return

    def chosen() -> list[Path]:
        return [chosen_run(now.zork_game_workdir, run, game) for run in runs or (None,)]

    if watch:
        _serve(chosen, now, port, follows_latest=not runs)
        return
    for line in write_report(chosen(), to, now):
        print_line(line)


def _report_ablation(named: list[str], to: Path, now: GameConfiguration, *, with_runs: bool, watch: bool) -> None:
    """Write the page of the ablation in the one folder that is named."""
    common_options.require_packages("scipy")
    from zorkgpt.ablation.page import AblationData, page_of_ablation, read_results, run_folders_of
    from zorkgpt.cli.pages import program, write_page, write_report

    if len(named) > 1 or watch:
        raise ConfigurationError(f"{named[0]} is an ablation: it has a page of its own, and none to watch")
    folder = Path(named[0])
    results = read_results(folder)
    if results is None:
        raise StoreError(f"{folder} holds no results yet: the command that plays it writes them with --so-far")
    for run in run_folders_of(results, folder) if with_runs else ():
        for line in write_report([run], run / REPORT_FILE, now) if run else ():
            print_line(line)
    page = write_page(AblationData(program(), page_of_ablation(results, folder, to, REPORT_FILE.name)), to)
    print_line(f"The ablation {folder} is in {to}, {page / 1e6:.1f} MB: open it in a browser.")


def _serve(chosen: Callable[[], list[Path]], now: GameConfiguration, port: int, *, follows_latest: bool) -> None:
    """Serve the page of runs, and make it anew as they are played, until Ctrl-C.

    chosen: returns the folders of the runs
    follows_latest: whether another run may be chosen later
    """
    from zorkgpt.cli.pages import RunPages
    from zorkgpt.report.server import Edition, ReportServer, as_json

    def edition() -> Edition:
        return Edition.of(as_json(replace(data, follow=data.follow or follows_latest)))

    pages = RunPages(chosen(), now)
    data = pages.data()
    with ReportServer(port, edition()) as server:
        print_line(f"The report is at {server.url} for this computer alone; Ctrl-C ends it.")
        try:
            while True:
                time.sleep(LOOK)
                if (folders := chosen()) != pages.folders:
                    pages = RunPages(folders, now)
                elif not (pages.has_news or (data.follow and not _is_any_played(folders))):
                    continue
                data = pages.data()
                server.edition = edition()
        except KeyboardInterrupt:
            return


def _is_any_played(folders: Sequence[Path]) -> bool:
    from session.files.run_folders import is_claimed

    return any(is_claimed(folder) for folder in folders)
