"""``zorkgpt mcp``: lets a client of the Model Context Protocol play."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import EXIT_STATUS, print_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from session.events import Event
    from zorkgpt.api.sessions import Session


def mcp(
    story: common_options.StoryToPlay = None,
    workdir: common_options.Workdir = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of a new run.")] = 1,
    max_turns: common_options.MaxTurns = None,
    seed: Annotated[str | None, typer.Option(help="Seed of the story's chance, 1 or more.", metavar="N")] = None,
    model: common_options.Model = None,
    base_url: common_options.BaseUrl = None,
    assist: common_options.Assist = None,
    set_: common_options.Settings = None,
    http: Annotated[
        str | None, typer.Option(help="Serve there instead of standard input and output.", metavar="HOST:PORT")
    ] = None,
) -> None:
    """Let an agent that you have play: a server for MCP clients.

    It continues the latest run that a client has not finished, or begins one. With --model, a model learns beside it.
    """
    common_options.require_packages("mcp")
    from pydantic import SecretStr

    from game_interface.core.machine.story import Story
    from orchestration.parts import choose_story
    from session.options import TOKEN_VARIABLE
    from zorkgpt.api.functions import session
    from zorkgpt.mcp_server import listen, serve, url_of

    given = {"llm.base_url": base_url, "assist": assist}
    options = {name: value for name, value in common_options.with_settings(given, set_).items() if value is not None}
    chosen = {
        "game.file": story,
        "zork_game_workdir": workdir,
        "max_turns_per_episode": max_turns,
        "game.seed": seed,
        "agent_model": model,
    }
    configuration = common_options.resolve({**chosen, **options}).configuration
    sha256 = Story.load(choose_story(configuration).path).sha256

    def open_session(run: Path | None, player: str, show: Callable[[Event], None]) -> Session:
        return session(
            None if run is None else run.absolute(),
            model=model,
            game=story,
            episodes=episodes,
            max_turns=max_turns,
            seed=configuration.game.seed,
            workdir=workdir,
            options={**options, "agent.player": "client"} if run is None else {},
            show=show,
            player=player,
        )

    token = SecretStr(os.environ[TOKEN_VARIABLE]) if os.environ.get(TOKEN_VARIABLE) else None
    listener = None if http is None else listen(http, token)
    if listener is not None:
        print_error(f"Serving MCP clients at {url_of(listener)}; Ctrl-C pauses the run.")
    elif sys.stdin.isatty():
        print_error("Waiting for an MCP client on standard input; docs/mcp.md has the configuration of clients.")

    def leave(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    if listener is not None:  # its server handles the others
        signal.signal(signal.SIGHUP, lambda _signal, _frame: signal.raise_signal(signal.SIGTERM))
    try:
        serve(open_session, configuration, sha256, listener, token)
    except KeyboardInterrupt:
        os._exit(EXIT_STATUS["interrupted"])  # a thread still waits for standard input
