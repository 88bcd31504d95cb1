"""``zorkgpt prompt``: prints the exact prompts of a run and their answers."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
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
    from collections.abc import Callable

    from session.events import RunMoment
    from session.files.journal import Manifest
    from session.game_configuration import GameConfiguration
    from zorkgpt.llm.run_model import RepeatedCall


def prompt(
    run: common_options.RunOrLatest = None,
    turn: Annotated[str | None, typer.Argument(help="Only this turn: 12, or 2:12 for turn 12 of episode 2.")] = None,
    role: Annotated[str | None, typer.Option(help=f"Only the calls of this role: {', '.join(ROLES)}.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Each call as a line of JSON.")] = False,
    turns: Annotated[str | None, typer.Option(help="These turns: 10..40, or 2:10..2:40.", metavar="A..B")] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Send the prompts to a model again; nothing is written to the run.")
    ] = False,
    times: Annotated[int, typer.Option(min=1, help="With --ask: how often each is sent.")] = 1,
    model: common_options.Model = None,
    base_url: common_options.BaseUrl = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="With --ask: rebuild the prompts with this option.", metavar="OPTION=VALUE"),
    ] = None,
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Print the exact prompts and answers of a run or a turn. Exit status 1 if this version builds other prompts.

    A run keeps the checksums of its prompts. They are rebuilt by playing the run again without a model, up to the turn
    that is shown, and compared.
    """
    from session.files.journal import read_manifest

    if turn is None and run is not None and TURN.fullmatch(run):
        run, turn = None, run
    if role is not None and role not in ROLES:
        raise ConfigurationError(f"--role {role}: expected one of {', '.join(ROLES)}")
    given = {"llm.base_url": base_url, **dict.fromkeys((f"{each}_model" for each in ROLES), model)}
    changes = common_options.with_settings({name: value for name, value in given.items() if value is not None}, set_)
    if not ask and (changes or times > 1):
        raise ConfigurationError("--model, --base-url, --set and --times need --ask")
    now = common_options.configuration_in(workdir, story, changes)
    folder = common_options.chosen_run(now.zork_game_workdir, run, story)
    first, last = _span(read_manifest(folder), turn, turns)

    def is_wanted(call: RepeatedCall) -> bool:
        is_in_span = first is None or last is None or first <= (call.episode, call.turn) <= last
        return is_in_span and role in (None, call.role)

    if not ask:
        sought = f"{turn or turns}: no model was asked{f' as {role}' if role else ''}"
        _print_calls(folder, now, last, is_wanted, sought, as_json=as_json)
    elif last is None:
        raise ConfigurationError("--ask needs a turn, or --turns A..B")
    else:
        from zorkgpt.cli.asking import ask_again

        ask_again(folder, now, [*changes], last, is_wanted, times, as_json=as_json)


def _print_calls(
    folder: Path,
    now: GameConfiguration,
    last: RunMoment | None,
    is_wanted: Callable[[RepeatedCall], bool],
    sought: str,
    *,
    as_json: bool,
) -> None:
    from zorkgpt.report.exports import call_as_object, call_lines
    from zorkgpt.report.pages import repeat
    from zorkgpt.report.run_summary import summarise

    shown = 0

    def show(call: RepeatedCall) -> None:
        nonlocal shown
        if is_wanted(call) or not call.is_as_recorded:
            shown += 1
            typer.echo(json.dumps(call_as_object(call)) if as_json else printable("\n".join(call_lines(call))))

    replayed = repeat(folder, now, asked=show, until=last)
    if replayed.difference is not None:
        if not as_json:
            print_line(
                f"This version of the program plays run {folder.name} differently from turn {replayed.turns + 1} on: "
                "no prompt after it can be rebuilt; "
                f"{program()} replay {shlex.quote(str(folder))} shows the difference."
            )
        raise typer.Exit(1)
    if last is not None and not shown:
        turns = counted(summarise(folder).turns, "turn")
        raise ConfigurationError(f"{sought} in such a turn of run {folder.name}, which has {turns}")
    if not as_json:
        checked = "all its prompts" if last is None else "all its prompts up to there"
        agree = f"; the checksums of {checked} are the recorded ones" if shown else ""
        print_line(f"{counted(shown, 'call')} of run {folder.name}{of_story(folder.parent.parent)}{agree}.")


def _span(manifest: Manifest, turn: str | None, turns: str | None) -> tuple[RunMoment | None, RunMoment | None]:
    """Return the first and the last turn that are meant, ``None`` for all."""
    if turns is None:
        moment = None if turn is None else read_turn(manifest, turn)
        return moment, moment
    first, dots, last = turns.partition("..")
    if not dots or turn is not None:
        raise ConfigurationError(f"--turns {turns}: expected two turns such as 10..40, and no other turn")
    span = read_turn(manifest, first, "--turns "), read_turn(manifest, last, "--turns ")
    if span[0] > span[1]:
        raise ConfigurationError(f"--turns {turns}: expected the earlier turn first")
    return span
