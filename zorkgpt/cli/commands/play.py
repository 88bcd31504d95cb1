"""``zorkgpt play``: a person plays, and what is learnt is learnt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.cli import common_options

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration


PERSONS_TURNS = 100_000  # more than anybody plays: an episode ends when the person wants it


def play(
    game: common_options.StoryToPlay = None,
    seed: Annotated[str | None, typer.Option(help="Seed of the story's chance, 1 or more.", metavar="N")] = None,
    max_turns: common_options.MaxTurns = None,
    workdir: common_options.NewWorkdir = None,
    model: common_options.Model = None,
    base_url: common_options.BaseUrl = None,
    set_: common_options.Settings = None,
) -> None:
    """Play a story yourself, with its map and memories below it. Models play on from what you found out.

    The map and routes are learnt from what you do; memories and knowledge, too, where a model is configured. The
    commands come from standard input, one a line, where that is no terminal.
    """
    from zorkgpt.cli.playing import play_run

    options = {
        "max_turns_per_episode": max_turns or PERSONS_TURNS,
        "game.file": game,
        "game.seed": seed,
        "zork_game_workdir": workdir,
        "agent_model": model,
        "llm.base_url": base_url,
    }
    resolved = common_options.resolve(common_options.with_settings(options, set_))
    play_run(replace(resolved, configuration=_for_person(resolved.configuration)), episodes=1)


def _for_person(configuration: GameConfiguration) -> GameConfiguration:
    """Return the configuration with a person in the agent's place, who needs no help and is not read to."""
    from session.values import ROLES

    roles = [configuration.role(role) for role in ROLES]
    has_model = any(role.engine == "openai" or role.model is not None for role in roles)
    update = {
        "agent": configuration.agent.model_copy(update={"player": "person" if has_model else "person-alone"}),
        "extractor": configuration.extractor.model_copy(update={"mode": "separate" if has_model else "none"}),
        "assist": frozenset(),
    }
    return configuration.model_copy(update=update)
