"""``zorkgpt prompt``: prints the exact prompts of a run and their answers."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError
from session.processes import program
from session.text import counted, printable
from session.values import ROLES
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import TURN, of_story, read_turn
from zorkgpt.cli.terminal import print_line

if TYPE_CHECKING:
    from zorkgpt.llm.run_model import RepeatedCall


def prompt(
    run: common_options.RunOrLatest = None,
    turn: Annotated[str | None, typer.Argument(help="Only this turn: 12, or 2:12 for turn 12 of episode 2.")] = None,
    role: Annotated[str | None, typer.Option(help=f"Only the calls of this role: {', '.join(ROLES)}.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Each call as a line of JSON.")] = False,
    game: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Print the exact prompts and answers of a run or a turn. Exit status 1 if this version builds other prompts.

    A run keeps the checksums of its prompts. They are rebuilt by playing the run again without a model, up to the turn
    that is shown, and compared.
    """
    from session.files.journal import read_manifest
    from zorkgpt.report.exports import call_as_object, call_lines
    from zorkgpt.report.pages import repeat
    from zorkgpt.report.run_summary import summarise

    if turn is None and run is not None and TURN.fullmatch(run):
        run, turn = None, run
    if role is not None and role not in ROLES:
        raise ConfigurationError(f"--role {role}: expected one of {', '.join(ROLES)}")
    folder, now = common_options.run_and_configuration(workdir, run, game)
    moment = None if turn is None else read_turn(read_manifest(folder), turn)
    shown = 0

    def show(call: RepeatedCall) -> None:
        nonlocal shown
        is_wanted = moment in (None, (call.episode, call.turn)) and role in (None, call.role)
        if is_wanted or not call.is_as_recorded:
            shown += 1
            typer.echo(json.dumps(call_as_object(call)) if as_json else printable("\n".join(call_lines(call))))

    replayed = repeat(folder, now, asked=show, until=moment)
    if replayed.difference is not None:
        if not as_json:
            print_line(
                f"This version of the program plays run {folder.name} differently from turn {replayed.turns + 1} on: "
                "no prompt after it can be rebuilt; "
                f"{program()} replay {shlex.quote(str(folder))} shows the difference."
            )
        raise typer.Exit(1)
    if moment is not None and not shown:
        raise ConfigurationError(
            f"{turn}: no {role or 'model'} was asked in such a turn of run {folder.name}, which has "
            f"{counted(summarise(folder).turns, 'turn')}"
        )
    if not as_json:
        checked = "all its prompts" if moment is None else "all its prompts up to there"
        agree = f"; the checksums of {checked} are the recorded ones" if shown else ""
        print_line(f"{counted(shown, 'call')} of run {folder.name}{of_story(folder.parent.parent)}{agree}.")
