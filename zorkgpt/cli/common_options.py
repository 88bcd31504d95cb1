"""Options and arguments that several commands have, and the configuration that the options of a command make."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from session.game_configuration import GameConfiguration
    from session.resolved_configuration import ResolvedConfiguration


def folder(text: str) -> Path:
    """Return the folder of that name. Raises ``ConfigurationError`` for none, as an unset variable of a shell gives."""
    if not text.strip():
        raise ConfigurationError("--workdir names no folder: it is empty")
    return Path(text)


RunOrLatest = Annotated[str | None, typer.Argument(help="Id of a run, or its folder; by default the latest.")]
StoryToPlay = Annotated[Path | None, typer.Option("--game", help="Story file to play.", metavar="FILE")]
Workdir = Annotated[Path | None, typer.Option(help="Work folder of the run.", metavar="DIR", parser=folder)]
MaxTurns = Annotated[int | None, typer.Option(min=1, help="Turns after which an episode ends.")]
Model = Annotated[str | None, typer.Option(help="Model by name, or a .gguf file to run in-process.", metavar="M")]
BaseUrl = Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible server.")]
Assist = Annotated[str | None, typer.Option(help="Help: valid-actions, fresh-actions, proven-routes.", metavar="KINDS")]
MaxCost = Annotated[float | None, typer.Option(help="US dollars after which the run pauses.")]
MaxTokens = Annotated[int | None, typer.Option(help="Tokens after which the run pauses.")]
MaxTime = Annotated[str | None, typer.Option(help="Seconds after which the run pauses; also 90m, 2h.", metavar="TIME")]
Patience = Annotated[
    str | None, typer.Option(help="How long a model that is down is waited for: 90m, 8h.", metavar="TIME")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Any option: its name, =, its value.", metavar="OPTION=VALUE")
]
Step = Annotated[
    bool, typer.Option("--step", help="Show each command before it is played: play it, edit it or refuse it.")
]
EventsAsJson = Annotated[bool, typer.Option("--json", help="Every event as a line of JSON.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


EXTRAS = {"scipy": "ablate", "matplotlib": "ablate", "distributed": "dask"}
"""The extra of this package that brings each package that only some commands need."""


def require_packages(*packages: str) -> None:
    """Raise ``ConfigurationError`` with the way to install it for a package that is not there."""
    for package in packages:
        if find_spec(package) is None:
            raise ConfigurationError(f"{package} is not installed: pip install 'zorkgpt[{EXTRAS[package]}]'")


def budgets(max_cost: float | None, max_tokens: int | None, max_time: str | None) -> Mapping[str, object]:
    """Return the budgets by the names of their options; ``None`` for one that was not given."""
    return {"budgets.max_cost": max_cost, "budgets.max_tokens": max_tokens, "budgets.max_time": max_time}


def settings(given: list[str] | None) -> dict[str, object]:
    """Return the options of ``--set`` by name. Raises ``ConfigurationError`` for a key, and one that has no value."""
    pairs = [each.partition("=") for each in given or ()]
    for name, sign, _ in pairs:
        if not sign or not name.strip():
            raise ConfigurationError(f"--set {name}: an option is set as in --set critic.mode=llm")
        if name.strip().endswith("api_key"):
            variable = f"ZORKGPT_{name.strip().upper().replace('.', '__')}"
            raise ConfigurationError(f"--set {name}: others can read a command line; set {variable} for a key")
    return {name.strip(): value.strip() for name, _, value in pairs}


def with_settings(options: Mapping[str, object], given: list[str] | None) -> dict[str, object]:
    """Return the options with those of ``--set``. Raises ``ConfigurationError`` for one that has a value already."""
    more = settings(given)
    for name in more:
        if options.get(name) is not None:
            raise ConfigurationError(f"--set {name}: the command line sets it a second time")
    return {**options, **more}


def resolve(options: Mapping[str, object]) -> ResolvedConfiguration:
    """Return the configuration in the current folder with the options of a command, ``None`` for one not given."""
    from session.resolved_configuration import load_configuration

    return load_configuration(options, os.environ, Path.cwd())


def configuration_in(workdir: Path | None) -> GameConfiguration:
    """Return the configuration in the current folder, with that work folder if one is given."""
    return resolve({"zork_game_workdir": workdir}).configuration
