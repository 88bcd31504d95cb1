"""``zorkgpt resume``: goes on with a run after its latest turn."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.files.journal import read_manifest
from session.files.run_folders import find_run
from session.resolved_configuration import load_configuration
from zorkgpt.cli import play_options
from zorkgpt.cli.printable import printable
from zorkgpt.cli.watching import watching

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration


def resume(
    run: Annotated[str | None, typer.Argument(help="Id of a run, or its folder; by default the newest.")] = None,
    workdir: Annotated[Path | None, typer.Option(help="Work folder of the run.", metavar="DIR")] = None,
    game: Annotated[Path | None, typer.Option(help="Where the story file is now.", metavar="FILE")] = None,
    base_url: Annotated[str | None, typer.Option(help="Where the models are served now.")] = None,
    max_cost: play_options.MaxCost = None,
    max_tokens: play_options.MaxTokens = None,
    max_time: play_options.MaxTime = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only how it ended.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Every event as a line of JSON.")] = False,
) -> None:
    """Go on with a run that was paused, interrupted or killed, as if it had never stopped."""
    from orchestration.bootstrap import open_parts
    from orchestration.resumption import configuration_of, open_resumed_run, with_keys

    options = {
        "zork_game_workdir": workdir,
        "game.file": game,
        "llm.base_url": base_url,
        **play_options.budgets(max_cost, max_tokens, max_time),
    }
    now = load_configuration(options, os.environ, Path.cwd()).configuration
    folder = find_run(now.zork_game_workdir, run)
    given = {name for name, value in options.items() if value is not None}
    then = with_keys(configuration_of(read_manifest(folder), folder, now), folder, now)
    configuration = _updated(then, now, given)
    with (
        watching(
            configuration, quiet=quiet, as_json=as_json, repeated={"--game": game, "--base-url": base_url}
        ) as watch,
        open_parts(configuration, watch.bar, watch.stop) as parts,
        open_resumed_run(configuration, parts, folder, show=watch.show, stop=watch.stop) as resumed,
    ):
        if watch.is_told:
            player = parts.model.description if parts.model else "nobody"
            typer.echo(printable(f"Going on with run {folder.name}{resumed.standing.describe()}: {player} plays"))
        watch.play(resumed)


def _updated(then: GameConfiguration, now: GameConfiguration, given: set[str]) -> GameConfiguration:
    """The run's own configuration with what the command line says now."""
    budgets = {
        name: getattr(now.budgets, name)
        for name in ("max_cost", "max_tokens", "max_time")
        if f"budgets.{name}" in given
    }
    update: dict[str, object] = {"budgets": then.budgets.model_copy(update=budgets)}
    if "llm.base_url" in given:
        update["llm"] = then.llm.model_copy(update={"base_url": now.llm.base_url, "api_key": now.llm.api_key})
    return then.model_copy(update=update)
