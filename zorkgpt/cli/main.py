"""``zorkgpt``: the command line, put together."""

from __future__ import annotations

import logging
import os
import sys
import traceback
import warnings
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn, TextIO

import typer

from session.errors import ZorkGPTError
from zorkgpt.cli.commands import (
    ablate,
    compare,
    config,
    doctor,
    knowledge,
    memories,
    model,
    play,
    prompt,
    replay,
    report,
    resume,
    routes,
    run,
    runs,
    status,
    watch,
)
from zorkgpt.cli.commands import map as map_command
from zorkgpt.cli.terminal import LogToStderr, discard_stdout, open_missing_streams, print_error

app = typer.Typer(
    name="zorkgpt",
    help="Language models play, and learn, text adventures.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Rich, for help in boxes, would take as long to load as all the rest
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
app.command()(run.run)
app.command()(play.play)
app.command()(resume.resume)
app.command()(watch.watch)
app.command()(replay.replay)
app.command()(prompt.prompt)
app.command()(report.report)
app.command()(compare.compare)
app.command()(ablate.ablate)
app.command()(doctor.doctor)
app.command()(status.status)
app.command("map")(map_command.draw)
app.add_typer(config.app, name="config")
app.add_typer(knowledge.app, name="knowledge")
app.add_typer(memories.app, name="memories")
app.add_typer(model.app, name="model")
app.add_typer(routes.app, name="routes")
app.add_typer(runs.app, name="runs")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"zorkgpt {version('zorkgpt')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave."),
    ] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show a traceback where one line would be shown.")] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. What the user can mend ends in one line and status 2, what failed in one line and 1.

    With ``--debug`` a traceback comes before that line. Warnings are lines on stderr.
    """
    open_missing_streams()
    folder = _current_folder() or os.environ.get("PWD", "")
    logging.basicConfig(handlers=[LogToStderr()])
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except ZorkGPTError as error:
        _leave(error, error.exit_status, folder)
    except OSError as error:
        # Files are read and written where this is translated; what is left are the standard streams.
        discard_stdout()
        _leave(error, 1, folder)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as a line, without the place in the source that a programmer would be shown."""
    del category, filename, lineno, file, line
    print_error(f"zorkgpt: {message}")


def _current_folder() -> str:
    """Return the path of the current folder, "" where it is gone."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""


def _leave(error: Exception, status: int, folder: str) -> NoReturn:
    """End the program with a line on the error; ``folder`` is the current one, which may be gone meanwhile."""
    if "--debug" in sys.argv[1:2]:
        print_error(traceback.format_exc())
    cause = "" if _current_folder() else f"the current folder, {folder}, is gone: "
    print_error(f"zorkgpt: {cause}{error}".replace("\n", "\\n"))
    sys.exit(status)
