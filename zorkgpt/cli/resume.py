"""``zorkgpt resume``: goes on with a run after its latest turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.cli import common_options
from zorkgpt.cli.latest_run import StoryOfRun, resumable_run, story_file
from zorkgpt.cli.streams import print_line

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration


def resume(
    run: Annotated[
        str | None, typer.Argument(help="Id of a run, or its folder; by default the latest that can be resumed.")
    ] = None,
    workdir: common_options.Workdir = None,
    game: StoryOfRun = None,
    base_url: Annotated[str | None, typer.Option(help="Where the models are served now.")] = None,
    max_cost: common_options.MaxCost = None,
    max_tokens: common_options.MaxTokens = None,
    max_time: common_options.MaxTime = None,
    patience: common_options.Patience = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only how it ended.")] = False,
    as_json: common_options.EventsAsJson = False,
) -> None:
    """Go on with a run that was paused, interrupted or killed, as if it had never stopped."""
    from orchestration.opening import open_parts
    from orchestration.resumption import configuration_of, open_resumed_run, with_keys
    from session.files.journal import read_manifest
    from zorkgpt.cli.watching import watching

    options = {
        "zork_game_workdir": workdir,
        "game.file": story_file(game),
        "llm.base_url": base_url,
        "llm.patience": patience,
        **common_options.budgets(max_cost, max_tokens, max_time),
    }
    now = common_options.resolve(options).configuration
    folder = resumable_run(now.zork_game_workdir, run, game)
    given = {name for name, value in options.items() if value is not None}
    then = with_keys(configuration_of(read_manifest(folder), folder, now), folder, now)
    configuration = _updated(then, now, given)
    with (
        watching(
            configuration,
            quiet=quiet,
            as_json=as_json,
            repeated={"--game": game, "--base-url": base_url, "--patience": patience},
        ) as watch,
        open_parts(configuration, watch.bar, watch.stop) as parts,
        open_resumed_run(configuration, parts, folder, show=watch.show, stop=watch.stop, asked=watch.asked) as resumed,
    ):
        if watch.is_for_people:
            player = parts.model.description if parts.model else "nobody"
            story = parts.game.facts.name
            print_line(f"Going on with run {folder.name} of {story}{resumed.position.describe()}: {player} plays")
        watch.play(resumed)


def _updated(then: GameConfiguration, now: GameConfiguration, given: set[str]) -> GameConfiguration:
    """Return the run's own configuration with what the command line says now."""
    budgets = {
        name: getattr(now.budgets, name)
        for name in ("max_cost", "max_tokens", "max_time")
        if f"budgets.{name}" in given
    }
    update: dict[str, object] = {"budgets": then.budgets.model_copy(update=budgets)}
    llm: dict[str, object] = {"patience": now.llm.patience} if "llm.patience" in given else {}
    if "llm.base_url" in given:
        llm |= {"base_url": now.llm.base_url, "api_key": now.llm.api_key}
    update["llm"] = then.llm.model_copy(update=llm)
    return then.model_copy(update=update)
