"""``zorkgpt run``: plays episodes, watched as they happen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.resolved_configuration import load_configuration
from zorkgpt.cli import play_options
from zorkgpt.cli.watching import watching

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from session.resolved_configuration import ResolvedConfiguration
    from session.values import StoryFacts

WORKDIR = "zork_game_workdir"


def run(
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to play, one after the other.")] = 1,
    max_turns: Annotated[int | None, typer.Option(min=1, help="Turns after which an episode ends.")] = None,
    game: Annotated[Path | None, typer.Option(help="Story file to play.", metavar="FILE")] = None,
    seed: Annotated[
        int | None, typer.Option(min=1, help="Seed of the story's chance; each further episode takes the next.")
    ] = None,
    workdir: Annotated[Path | None, typer.Option(help="Folder for all that is written.", metavar="DIR")] = None,
    model: Annotated[
        str | None, typer.Option(help="Model by name, or a .gguf file to run in-process.", metavar="M")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible server.")] = None,
    assist: Annotated[
        str | None, typer.Option(help="Help for the agent: valid-actions, fresh-actions.", metavar="KINDS")
    ] = None,
    max_cost: play_options.MaxCost = None,
    max_tokens: play_options.MaxTokens = None,
    max_time: play_options.MaxTime = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only how it began and how it ended.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Every event as a line of JSON.")] = False,
) -> None:
    """Play a story with a language model and watch it."""
    from orchestration.bootstrap import open_parts, open_run

    options = {
        "max_turns_per_episode": max_turns,
        "game.file": game,
        "game.seed": seed,
        WORKDIR: workdir,
        "agent_model": model,
        "llm.base_url": base_url,
        "assist": assist,
        **play_options.budgets(max_cost, max_tokens, max_time),
    }
    resolved = load_configuration(options, os.environ, Path.cwd())
    with (
        watching(resolved.configuration, quiet=quiet, as_json=as_json) as watch,
        open_parts(resolved.configuration, watch.bar, watch.stop) as parts,
        open_run(
            _in_folder_of_story(resolved, parts.game.facts), parts, episodes=episodes, show=watch.show, stop=watch.stop
        ) as played,
    ):
        watch.play(played)


def _in_folder_of_story(resolved: ResolvedConfiguration, facts: StoryFacts) -> GameConfiguration:
    """The configuration; a work folder that nobody named and that belongs to another story gives way to one within."""
    from orchestration.story_binding import folder_for_story

    configuration = resolved.configuration
    if WORKDIR in resolved.origins:
        return configuration
    return configuration.model_copy(update={WORKDIR: folder_for_story(configuration.zork_game_workdir, facts)})
