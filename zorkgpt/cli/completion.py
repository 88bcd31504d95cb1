"""What a shell completes: ids of runs, names of stories, options, kinds of help, models. After an error: nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import typer

from session.errors import ZorkGPTError

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration

MODELS_SECONDS = 1.0
"""How long a server may take to list its models."""
_PLAIN = re.compile(r"[\w./:@+,=-]+")
"""Some shells evaluate what they are offered. So a name from a story or a server must be a plain word."""


def run_ids(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the ids of the runs in the work folder, or of those of the story that was typed before."""
    from session.files.run_folders import folders_of, run_folders

    with suppress(ZorkGPTError, OSError):
        story = ctx.params.get("story") or ctx.params.get("game")
        folders = folders_of(_configuration(ctx).zork_game_workdir, story)
        yield from _offered((run.name for run in run_folders(folders)), incomplete)


def stories(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the names of the stories that were played in the work folder."""
    from session.files.run_folders import story_folders

    with suppress(ZorkGPTError, OSError):
        folders = story_folders(_configuration(ctx).zork_game_workdir)
        yield from _offered((story.name for story in folders.values() if story), incomplete)


def kinds_of_help(incomplete: str) -> Iterator[str]:
    """Yield the words that the option may become: it is a list without spaces."""
    from session.game_configuration import Assistance

    typed = incomplete.split(",")[:-1]
    return _offered((",".join([*typed, kind]) for kind in get_args(Assistance) if kind not in typed), incomplete)


def settings(incomplete: str) -> Iterator[str]:
    """Yield the names of options with ``=``; after that sign, the values of an option that has only a few."""
    from session.game_configuration import GameConfiguration
    from session.options import options_of

    found = {each.name: each for each in options_of(GameConfiguration) if not each.secret}
    name, sign, _ = incomplete.partition("=")
    values = found[name].choices if sign and name in found else ()
    return _offered((f"{name}={value}" for value in values) if sign else (f"{each}=" for each in found), incomplete)


def models(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the models that were pulled, and those of the configured server if it answers soon."""
    from session.model_files import model_name
    from zorkgpt.llm.embedded.model_store import ModelStore

    with suppress(ZorkGPTError, OSError):
        yield from _offered(map(model_name, ModelStore().others()), incomplete)
        server = _configuration(ctx).role("agent")
        if server.base_url or server.api_key:
            from zorkgpt.llm.openai.model_server import served_models

            yield from _offered(served_models(server.base_url, server.api_key, seconds=MODELS_SECONDS), incomplete)


def _configuration(ctx: typer.Context) -> GameConfiguration:
    """Return the configuration in the current folder with what was typed before. Raises ``ConfigurationError``."""
    from session.resolved_configuration import load_configuration

    typed = {"zork_game_workdir": ctx.params.get("workdir"), "llm.base_url": ctx.params.get("base_url")}
    return load_configuration(typed, os.environ, Path.cwd()).configuration


def _offered(names: Iterable[str], incomplete: str) -> Iterator[str]:
    return (name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name))
