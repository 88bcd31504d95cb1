"""``zorkgpt runs``: the runs of a work folder, their figures and their transcripts."""

from __future__ import annotations

import shutil
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.latest_run import OfStory, chosen_run, folders_of
from zorkgpt.cli.printable import printable
from zorkgpt.cli.streams import print_error, print_line, terminal_width

if TYPE_CHECKING:
    from zorkgpt.llm.run_model import RepeatedCall

app = typer.Typer(help="The runs that were played.", no_args_is_help=True)


class Format(str, Enum):
    """What an export looks like."""

    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"


RunsFolder = Annotated[
    Path | None, typer.Option(help="Folder of the runs.", metavar="DIR", parser=common_options.folder)
]


@app.command("list")
def list_runs(story: OfStory = None, as_json: common_options.AsJson = False, workdir: RunsFolder = None) -> None:
    """Print every run of every story, the newest first."""
    from session.files.run_folders import run_folders
    from zorkgpt.cli.run_views import list_lines
    from zorkgpt.report.run_summary import summaries_as_json, summarise

    folder = common_options.configuration_in(workdir).zork_game_workdir
    summaries = [summarise(each) for each in run_folders(each.path for each in folders_of(folder, story))]
    if as_json:
        typer.echo(summaries_as_json(summaries))
    elif summaries:
        typer.echo("\n".join(list_lines(summaries, terminal_width())))
    else:
        print_line(f"No run yet in {folder}.")


@app.command()
def show(
    run: common_options.RunOrLatest = None,
    story: OfStory = None,
    as_json: common_options.AsJson = False,
    workdir: RunsFolder = None,
) -> None:
    """Print the episodes, metrics and model usage of a run."""
    from zorkgpt.cli.run_views import show_lines
    from zorkgpt.report.exports import figures_as_json
    from zorkgpt.report.figures import figures_of
    from zorkgpt.report.played_run import read_run

    now = common_options.configuration_in(workdir)
    figures = figures_of(read_run(chosen_run(now.zork_game_workdir, run, story)), now.prices)
    if as_json:
        typer.echo(figures_as_json(figures))
    else:
        typer.echo("\n".join(show_lines(figures, terminal_width())))


@app.command()
def delete(
    run: common_options.RunOrLatest = None,
    story: OfStory = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    workdir: RunsFolder = None,
) -> None:
    """Delete the folder of a run, and of a fork all that is its own. What a run taught the work folder stays."""
    from session.files.run_folders import claimed, is_fork, require_run_folder

    folder = chosen_run(common_options.configuration_in(workdir).zork_game_workdir, run, story)
    require_run_folder(folder)
    doomed = folder.parent.parent if is_fork(folder) else folder
    if not yes:
        typer.confirm(printable(f"Delete {doomed}?"), abort=True)
    try:
        with claimed(folder):
            shutil.rmtree(doomed)
    except OSError as error:
        raise StoreError(f"cannot delete {doomed}: {error.strerror or error}") from error
    print_line(f"Deleted {doomed}.")


@app.command()
def export(
    run: common_options.RunOrLatest = None,
    story: OfStory = None,
    to: Annotated[Path | None, typer.Option(help="File to write instead of printing.", metavar="FILE")] = None,
    form: Annotated[
        Format,
        typer.Option("--format", help="markdown: to read; json: all figures and turns; csv: one line a turn."),
    ] = Format.MARKDOWN,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="With every prompt and its answer, rebuilt by playing the run again.")
    ] = False,
    workdir: RunsFolder = None,
) -> None:
    """Write down a whole run: what was seen, thought and played."""
    from zorkgpt.cli.replay import repeat
    from zorkgpt.report.exports import as_csv, as_json
    from zorkgpt.report.played_run import read_run
    from zorkgpt.report.transcript import as_markdown

    now = common_options.configuration_in(workdir)
    folder = chosen_run(now.zork_game_workdir, run, story)
    played = read_run(folder)
    calls: list[RepeatedCall] = []
    if prompts:
        if form == Format.CSV:
            raise ConfigurationError("--prompts: a CSV has no room for prompts; --format markdown or json has")
        replayed = repeat(folder, now, asked=calls.append)
        if replayed.difference is not None:
            print_error(
                f"This version plays run {folder.name} differently after {counted(replayed.turns, 'turn')}: "
                "no prompt after that can be rebuilt."
            )
    written = {Format.MARKDOWN: as_markdown, Format.JSON: as_json}.get(form)
    text = printable(written(played, calls) if written else as_csv(played))
    if to is None:
        typer.echo(text, nl=False)
        return
    try:
        to.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {to}: {error.strerror}") from error
    print_line(f"Run {folder.name} is written to {to}.")
