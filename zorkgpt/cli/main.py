"""``zorkgpt``: the command line, put together."""

from __future__ import annotations

import sys
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated

import typer

from session.errors import ZorkGPTError
from zorkgpt.cli import config, doctor, memories, model, run
from zorkgpt.cli.printable import printable
from zorkgpt.cli.streams import open_missing_streams

app = typer.Typer(
    name="zorkgpt",
    help="Language models play, and learn, text adventures.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run.run)
app.command()(doctor.doctor)
app.add_typer(config.app, name="config")
app.add_typer(memories.app, name="memories")
app.add_typer(model.app, name="model")


def _print_version(wanted: bool) -> None:
    if wanted:
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
    """The command was run. What the user can mend ends in one line and status 2, what failed in one line and 1."""
    open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except ZorkGPTError as error:
        if "--debug" in sys.argv[1:2]:
            raise
        sys.stderr.write(f"zorkgpt: {printable(str(error))}\n")
        sys.exit(error.exit_status)
