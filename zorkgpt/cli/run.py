"""``zorkgpt run``: plays episodes, watched as they happen."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Annotated

import typer

from session.configuration_sources import load_configuration
from zorkgpt.cli.progress import DownloadBar
from zorkgpt.cli.screens import JsonScreen, LiveScreen, PlainScreen, Screen
from zorkgpt.cli.streams import WatchedScreen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.configuration_sources import ResolvedConfiguration
    from session.game_configuration import GameConfiguration
    from session.values import StoryFacts

WORKDIR = "zork_game_workdir"
EXIT_STATUS = {"done": 0, "paused": 1, "failed": 1, "interrupted": 130}


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
    assist: Annotated[str | None, typer.Option(help="Help given to the agent: valid-actions.", metavar="KINDS")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only how it began and how it ended.")] = False,
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
    }
    resolved = load_configuration(options, os.environ, Path.cwd())
    stop = Flag()
    screen = WatchedScreen(_screen(quiet=quiet, as_json=as_json), stop)
    with (
        _leaving_on_second_interrupt(),
        DownloadBar(quiet=quiet or as_json) as bar,
        open_parts(resolved.configuration, bar, stop) as parts,
        open_run(
            _in_folder_of_story(resolved, parts.game.facts), parts, episodes=episodes, show=screen.show, stop=stop
        ) as orchestrator,
        _stopping_on_interrupt(stop),
    ):
        end = orchestrator.play()
    raise typer.Exit(EXIT_STATUS[end])


def _in_folder_of_story(resolved: ResolvedConfiguration, facts: StoryFacts) -> GameConfiguration:
    """The configuration; a work folder that nobody named and that belongs to another story gives way to one within."""
    from orchestration.story_binding import folder_for_story

    configuration = resolved.configuration
    if WORKDIR in resolved.origins:
        return configuration
    return configuration.model_copy(update={WORKDIR: folder_for_story(configuration.zork_game_workdir, facts)})


def _screen(*, quiet: bool, as_json: bool) -> Screen:
    if as_json:
        return JsonScreen()
    if quiet or not sys.stdout.isatty():
        return PlainScreen(quiet=quiet)
    return LiveScreen()


@contextmanager
def _leaving_on_second_interrupt() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_STATUS["interrupted"]) from None


@contextmanager
def _stopping_on_interrupt(stop: Flag) -> Iterator[None]:
    """The first Ctrl-C, or a request to terminate, sets ``stop``; a second one interrupts at once."""

    def request(_signal: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        sys.stderr.write("\nStopping after this turn. Ctrl-C again to stop now.\n")

    previous = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
