"""``zorkgpt report``: writes a page with runs for the browser, or serves it while they are played."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import REPORT_FILE
from zorkgpt.cli.completion import run_ids
from zorkgpt.cli.terminal import print_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from session.game_configuration import GameConfiguration

SITE = Path("site")
LOOK = 1.0  # seconds between looks at the journals of runs that are followed


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Ids or folders of runs, or the folder of an ablation; by default the latest run.",
            autocompletion=run_ids,
        ),
    ] = None,
    to: Annotated[Path, typer.Option("--to", "-o", help="File to write.", metavar="FILE")] = REPORT_FILE,
    all_runs: Annotated[
        bool, typer.Option("--all", help="Write a page for each run of the work folder, and an index, into --out.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="For --all: the folder to write.", metavar="DIR", show_default=str(SITE)),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Serve it on this computer instead, and follow runs that are being played. With --all: keep the "
            "folder up to date.",
        ),
    ] = False,
    with_runs: Annotated[
        bool, typer.Option("--with-runs", help="Of an ablation: write a page for each of its runs, too.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="For --watch; 0: any that is free.")] = 0,
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Write a page for the browser that shows runs turn by turn. It needs no network."""
    from zorkgpt.ablation.plan import PLAN_FILE
    from zorkgpt.report.pages import write_report

    _require_effect(port=port > 0 and not watch, out=out is not None and not all_runs)
    now = common_options.configuration_in(workdir, story)
    if all_runs:
        if runs or port or with_runs or to != REPORT_FILE:
            raise ConfigurationError(
                "--all: name the folders with --workdir and --out, and leave out RUNS, --to, --port and --with-runs"
            )
        _publish(now, story, out or SITE, watch=watch)
        return
    if runs and any((Path(run) / PLAN_FILE).is_file() for run in runs):
        if len(runs) > 1 or watch:
            raise ConfigurationError(f"{runs[0]} is an ablation: report it alone, without --watch")
        _report_ablation(Path(runs[0]), to, now, with_runs=with_runs)
        return

    def chosen() -> list[Path]:
        return [common_options.chosen_run(now.zork_game_workdir, run, story) for run in runs or (None,)]

    if watch:
        _serve(chosen, now, port, follows_latest=not runs)
        return
    if to == REPORT_FILE:
        from session.files.shared_files import real_place

        real_place(to)  # a link of that name may have come with the folder
    for line in write_report(chosen(), to, now):
        print_line(line)


def _require_effect(*, port: bool, out: bool) -> None:
    """Raise ``ConfigurationError`` if one of these options was given without the one to which it belongs."""
    if port:
        raise ConfigurationError("--port is the port of --watch: add --watch")
    if out:
        raise ConfigurationError("--out is the folder of --all: add --all, or name a file with --to")


def _publish(now: GameConfiguration, story: str | None, out: Path, *, watch: bool) -> None:
    """Write the pages of all runs of the work folder, and keep them up to date until Ctrl-C if ``watch``."""
    from session.files.run_folders import run_folders
    from session.files.shared_files import RUNS
    from zorkgpt.ablation.plan import PLAN_FILE
    from zorkgpt.report.pages import INDEX_FILE, RunPage, update_site

    workdir = now.zork_game_workdir

    def found() -> list[Path]:
        if (workdir / PLAN_FILE).is_file():
            return run_folders(each.parent for each in sorted(workdir.rglob(RUNS)))
        return run_folders(common_options.folders_of(workdir, story))

    if not watch and not found():
        raise StoreError(f"no runs in {workdir}; start one with `zorkgpt run`, or select another folder with --workdir")
    played: dict[Path, RunPage] | None = {} if watch else None
    count, new = update_site(workdir, found(), out, now, played)
    pages = f"{counted(new, 'new page')} of {counted(count, 'run')}"
    print_line(f"{pages} in {out}: open {out / INDEX_FILE} in a browser, or publish the folder.")
    try:
        while watch:
            time.sleep(LOOK)
            update_site(workdir, found(), out, now, played)
    except KeyboardInterrupt:
        return


def _report_ablation(folder: Path, to: Path, now: GameConfiguration, *, with_runs: bool) -> None:
    common_options.require_packages("scipy")
    from zorkgpt.ablation.results import page_of_ablation, read_results, run_folders_of
    from zorkgpt.report.pages import MAKER, write_page, write_report

    results = read_results(folder)
    if results is None:
        raise StoreError(f"{folder} has no results yet; its ablate command writes them with --so-far")
    for run in run_folders_of(results, folder) if with_runs else ():
        for line in write_report([run], run / REPORT_FILE, now) if run else ():
            print_line(line)
    size = write_page(page_of_ablation(results, folder, to, REPORT_FILE.name, MAKER), to)
    print_line(f"The ablation {folder} is in {to}, {size / 1e6:.1f} MB: open it in a browser.")


def _serve(chosen: Callable[[], list[Path]], now: GameConfiguration, port: int, *, follows_latest: bool) -> None:
    """Serve the page of runs, or of others if these are chosen later, and renew it until Ctrl-C."""
    from session.files.run_folders import is_claimed
    from zorkgpt.report.pages import RunPage, page_data
    from zorkgpt.report.server import ReportServer, as_json

    def content() -> bytes:
        return as_json(replace(data, follow=data.follow or follows_latest))

    pages = [RunPage(folder, now) for folder in chosen()]
    data = page_data(pages)
    with ReportServer(port, content()) as server:
        print_line(f"The report is at {server.url} for this computer alone; Ctrl-C ends it.")
        try:
            while True:
                time.sleep(LOOK)
                if (folders := chosen()) != [page.folder for page in pages]:
                    pages = [RunPage(folder, now) for folder in folders]
                elif not (any(page.has_news for page in pages) or (data.follow and not any(map(is_claimed, folders)))):
                    continue
                data = page_data(pages)
                server.content = content()
        except KeyboardInterrupt:
            return
