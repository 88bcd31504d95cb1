"""``zorkgpt``: the command line with all its commands."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import traceback
import warnings
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from session.errors import ZorkGPTError
from zorkgpt.cli.commands import (
    ablate,
    compare,
    knowledge,
    mcp,
    memories,
    prompt,
    replay,
    report,
    resume,
    routes,
    run,
    runs,
    setup,
    status,
    watch,
)
from zorkgpt.cli.commands import map as map_command
from zorkgpt.cli.terminal import PLAIN, LogTo, discard_stdout, open_missing_streams, print_error

app = typer.Typer(
    name="zorkgpt",
    help="Language models play, and learn, text adventures.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing Rich for help in boxes would take as long as everything else
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
for command in (
    run.run,
    run.play,
    resume.resume,
    watch.watch,
    replay.replay,
    prompt.prompt,
    mcp.mcp,
    report.report,
    compare.compare,
    ablate.ablate,
    setup.doctor,
    status.status,
):
    app.command()(command)
app.command("map")(map_command.draw)
for group in (setup.config_app, knowledge.app, memories.app, setup.model_app, routes.app, runs.app):
    app.add_typer(group)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"zorkgpt {version('zorkgpt')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Print a traceback before the line with an error.")] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. What the user can fix ends in one line and status 2, what failed in one line and 1.

    With ``--debug`` a traceback precedes that line. Warnings are lines on stderr.
    """
    gc.set_threshold(10_000)  # what a run or a page keeps grows, and each full collection looks at all of it
    open_missing_streams()
    folder = _current_folder() or os.environ.get("PWD", "")
    logging.basicConfig(handlers=[LogTo(lambda record: print_error(f"zorkgpt: {record.getMessage()}"))])
    warnings.showwarning = lambda message, *_place, **_more: print_error(f"zorkgpt: {message}")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
    try:
        app()
    except (ZorkGPTError, OSError) as error:
        if not isinstance(error, ZorkGPTError):  # files raise a StoreError, so this is a standard stream
            discard_stdout()
        if "--debug" in sys.argv[1:2]:
            print_error(traceback.format_exc())
        cause = "" if _current_folder() else f"the current folder, {folder}, is gone: "
        print_error(f"zorkgpt: {cause}{error}".replace("\n", "\\n"))
        sys.exit(error.exit_status if isinstance(error, ZorkGPTError) else 1)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient Ctrl-C would show how the interpreter ends


def _current_folder() -> str:
    """Return the path of the current folder, "" if it was deleted."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""
