"""``zorkgpt run`` and ``zorkgpt play``: a model plays, or a person does."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from session.values import ROLES
from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import print_costs, print_error, print_line


def run(
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to play, one after the other.")] = 1,
    max_turns: common_options.MaxTurns = None,
    max_stuck: common_options.MaxStuck = None,
    story: common_options.StoryToPlay = None,
    seed: Annotated[
        str | None,
        typer.Option(
            help="Seed of the story's chance and of the models' sampling, 1 or more; that of the story in "
            "further episodes is derived from it. jericho: that of Jericho's walkthrough, for all of them.",
            metavar="N|jericho",
        ),
    ] = None,
    workdir: common_options.Workdir = None,
    model: common_options.Model = None,
    base_url: common_options.BaseUrl = None,
    assist: common_options.Assist = None,
    max_cost: common_options.MaxCost = None,
    max_tokens: common_options.MaxTokens = None,
    max_time: common_options.MaxTime = None,
    patience: common_options.Patience = None,
    set_: common_options.Settings = None,
    delay: common_options.Delay = 0.0,
    step: common_options.Step = False,
    quiet: common_options.Quiet = False,
    as_json: common_options.EventsAsJson = False,
    report: Annotated[
        bool, typer.Option("--report", help="At the end write report.html into the run folder, for the browser.")
    ] = False,
    dry_run: common_options.DryRun = False,
    call_seconds: common_options.CallSeconds = 3.0,
) -> None:
    """Play a story with a language model and watch it."""
    from zorkgpt.cli.playing import play_run
    from zorkgpt.llm.local_servers import unused_server

    options = {
        "max_turns_per_episode": max_turns,
        "max_turns_without_progress": max_stuck,
        "game.file": story,
        "game.seed": seed,
        "zork_game_workdir": workdir,
        "agent_model": model,
        "llm.base_url": base_url,
        "assist": assist,
        "llm.patience": patience,
        **common_options.budgets(max_cost, max_tokens, max_time),
    }
    resolved = common_options.resolve(common_options.with_settings(options, set_))
    if dry_run:
        from zorkgpt.ablation.plan import AblationPlan, stories_of
        from zorkgpt.ablation.random_player import estimates

        print_error("Rehearsing the run, without a model...")
        configuration = resolved.configuration
        if configuration.game.seed == "jericho":
            configuration = configuration.model_copy(update={"game": configuration.game.model_copy(update={"seed": 1})})
        plan = AblationPlan({"": configuration}, stories_of([], configuration), pairs=1, episodes=episodes)
        print_costs(list(estimates(plan)), call_seconds)
        return
    if not as_json and (unused := unused_server(resolved.configuration)):
        print_line(unused)
    play_run(resolved, episodes=episodes, delay=delay, step=step, quiet=quiet, as_json=as_json, report=report)


def play(
    story: common_options.StoryToPlay = None,
    seed: Annotated[str | None, typer.Option(help="Seed of the story's chance, 1 or more.", metavar="N")] = None,
    max_turns: common_options.MaxTurns = None,
    workdir: common_options.Workdir = None,
    model: common_options.Model = None,
    base_url: common_options.BaseUrl = None,
    set_: common_options.Settings = None,
) -> None:
    """Play a story yourself, with its map and memories below it. Models play on from what you found out.

    The map and routes are learned from what you do; memories and knowledge only if a model is configured, and existing
    ones are shown. If standard input is not a terminal, it contains the commands, one a line.
    """
    from zorkgpt.cli.playing import play_run

    options = {
        "max_turns_per_episode": max_turns or common_options.PERSONS_TURNS,
        "game.file": story,
        "game.seed": seed,
        "zork_game_workdir": workdir,
        "agent_model": model,
        "llm.base_url": base_url,
    }
    resolved = common_options.resolve(common_options.with_settings(options, set_))
    configuration = resolved.configuration
    roles = [configuration.role(role) for role in ROLES]
    has_model = any(role.engine == "openai" or role.model is not None for role in roles)
    player, extractor = ("person", "separate") if has_model else ("person-alone", "none")
    update = {
        "agent": configuration.agent.model_copy(update={"player": player}),
        "extractor": configuration.extractor.model_copy(update={"mode": extractor}),
        "assist": frozenset(),
        "max_turns_without_progress": None,
    }
    play_run(replace(resolved, configuration=configuration.model_copy(update=update)), episodes=1)
