"""``zorkgpt run``: plays episodes, watched as they happen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from zorkgpt.cli import common_options
from zorkgpt.cli.streams import EXIT_STATUS, print_error

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from session.resolved_configuration import ResolvedConfiguration

Workdir = Annotated[
    Path | None, typer.Option(help="Folder for all that is written.", metavar="DIR", parser=common_options.folder)
]


def run(
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to play, one after the other.")] = 1,
    max_turns: common_options.MaxTurns = None,
    game: common_options.StoryToPlay = None,
    seed: Annotated[
        str | None,
        typer.Option(
            help="Seed of the story's chance and of the models' sampling, 1 or more; in each further episode the "
            "story takes the next. jericho: that of Jericho's walkthrough, for all of them.",
            metavar="N|jericho",
        ),
    ] = None,
    workdir: Workdir = None,
    model: common_options.Model = None,
    base_url: common_options.BaseUrl = None,
    assist: common_options.Assist = None,
    max_cost: common_options.MaxCost = None,
    max_tokens: common_options.MaxTokens = None,
    max_time: common_options.MaxTime = None,
    patience: common_options.Patience = None,
    set_: common_options.Settings = None,
    step: common_options.Step = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only how it began and how it ended.")] = False,
    as_json: common_options.EventsAsJson = False,
    report: Annotated[
        bool, typer.Option("--report", help="At the end write report.html into the run folder, for the browser.")
    ] = False,
) -> None:
    """Play a story with a language model and watch it."""
    options = {
        "max_turns_per_episode": max_turns,
        "game.file": game,
        "game.seed": seed,
        "zork_game_workdir": workdir,
        "agent_model": model,
        "llm.base_url": base_url,
        "assist": assist,
        "llm.patience": patience,
        **common_options.budgets(max_cost, max_tokens, max_time),
    }
    resolved = common_options.resolve(common_options.with_settings(options, set_))
    play_run(resolved, episodes=episodes, step=step, quiet=quiet, as_json=as_json, report=report)


def play_run(
    resolved: ResolvedConfiguration,
    *,
    episodes: int,
    step: bool = False,
    quiet: bool = False,
    as_json: bool = False,
    report: bool = False,
) -> NoReturn:
    """Play a new run, write its page into its folder if ``report`` says so, and end the command with its status."""
    from orchestration.opening import open_parts
    from orchestration.run import open_run
    from orchestration.story import in_folder_of_story
    from zorkgpt.cli.watching import watching

    configuration = resolved.configuration
    try:
        with (
            watching(configuration, quiet=quiet, as_json=as_json) as watch,
            open_parts(configuration, watch.bar, watch.stop, *watch.person(steps=step)) as parts,
            open_run(
                in_folder_of_story(resolved, parts.game.facts),
                parts,
                episodes=episodes,
                show=watch.show,
                stop=watch.stop,
                asked=watch.asked,
            ) as played,
        ):
            watch.play(played)
    except typer.Exit as end:
        if report and end.exit_code != EXIT_STATUS["interrupted"]:
            _write_report(played.folder, configuration)
        raise


def _write_report(folder: Path, configuration: GameConfiguration) -> None:
    """Write the page of a run into its folder and say so, beside what the command prints of the run."""
    from zorkgpt.cli.report import REPORT_FILE, write_report

    for line in write_report([folder], folder / REPORT_FILE, configuration):
        print_error(line)
