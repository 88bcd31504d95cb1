"""``zorkgpt resume``: goes on with a run after its latest turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.cli import common_options
from zorkgpt.cli.completion import models, run_ids
from zorkgpt.cli.terminal import print_error, print_folded

if TYPE_CHECKING:
    from pathlib import Path


def resume(
    run: Annotated[
        str | None,
        typer.Argument(
            help="Id of a run, or its folder; by default the latest that can be resumed.", autocompletion=run_ids
        ),
    ] = None,
    workdir: common_options.Workdir = None,
    story: common_options.OfStory = None,
    model: Annotated[
        str | None, typer.Option(help="Model that plays from here on.", metavar="M", autocompletion=models)
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="URL of the models' server from here on.")] = None,
    max_cost: common_options.MaxCost = None,
    max_tokens: common_options.MaxTokens = None,
    max_time: common_options.MaxTime = None,
    patience: common_options.Patience = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Option of models, servers or sampling, from here on.", metavar="OPTION=VALUE"),
    ] = None,
    delay: common_options.Delay = 0.0,
    step: common_options.Step = False,
    quiet: common_options.Quiet = False,
    as_json: common_options.EventsAsJson = False,
) -> None:
    """Resume a paused or killed run, as if it had never stopped."""
    from orchestration.history import open_resumed_run
    from orchestration.recorded_configuration import continued
    from session.text import who_plays
    from zorkgpt.cli.playing import watching

    given = {
        "agent_model": model,
        "llm.base_url": base_url,
        "llm.patience": patience,
        **common_options.budgets(max_cost, max_tokens, max_time),
    }
    changes = common_options.with_settings({name: value for name, value in given.items() if value is not None}, set_)
    now = common_options.configuration_in(workdir, story, changes)
    folder = _resumable_run(now.zork_game_workdir, run, story)
    configuration = continued(folder, now, list(changes), player=None if model is None else "model")
    again = [("--game", story), ("--model", model), ("--base-url", base_url), ("--patience", patience)]
    again += [("--set", each) for each in set_ or ()]
    with (
        watching(configuration, delay=delay, quiet=quiet, as_json=as_json, step=step, repeated=again) as watch,
        open_resumed_run(
            configuration,
            watch.parts,
            folder,
            show=watch.show,
            stop=watch.screen.stop,
            repeated=watch.repeats,
        ) as resumed,
    ):
        if not as_json:
            player, chosen = watch.parts.player, watch.parts.model
            served = (chosen.names, chosen.servers, chosen.engine) if chosen else ((), (), "")
            name = who_plays(player.name if player else "", *served)
            name_of_story = watch.parts.game.facts.name
            position = ", all of whose episodes were played" if resumed.is_played else resumed.position.describe()
            print_folded(f"Resuming run {folder.name} of {name_of_story}{position}: {name} plays", indent=0)
        status = watch.play(resumed)
    raise typer.Exit(status)


def _resumable_run(workdir: Path, run: str | None, story: str | None) -> Path:
    """Return the folder of the run that is named, else of the latest that can go on, else of the latest of all."""
    from session.files.run_folders import latest_runs
    from zorkgpt.report.run_summary import summarise

    latest = common_options.chosen_run(workdir, run, story)
    folders = [] if run is not None else latest_runs(common_options.folders_of(workdir, story))
    for folder in folders:
        if summarise(folder).state not in ("done", "damaged"):
            if folder != latest:
                summary = summarise(latest)
                name = f"{latest.name} of {summary.story or latest.parent.parent.name}"
                print_error(f"Run {name} is {summary.state}; resuming the latest unfinished run, {folder.name}")
            return folder
    return latest
