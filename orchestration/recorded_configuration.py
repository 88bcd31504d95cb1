"""The configuration of a recorded run: as it was played, and as it continues."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from session.errors import ConfigurationError, StoreError, first_problem
from session.events import EVENTS, EpisodeEnded, OptionsChanged, OptionValue, RunStarted, moment_of
from session.files.journal import JOURNAL_FILE, MANIFEST, read_journal, read_lines, read_manifest
from session.files.run_folders import digests_at_start
from session.files.shared_files import RUNS, writers_besides_user
from session.game_configuration import GameConfiguration, PlayerKind, ServerOptions
from session.processes import program
from session.resolved_configuration import changed, kept_budgets, require_named, require_usual_names, updated
from session.values import ROLES
from zorkgpt.players.player import JUDGED_BY

PROGRAMS: Mapping[PlayerKind, str] = {
    "function": "a function of a Python program: continue with zorkgpt.api.resume and a function",
    "client": f"a client: continue with {program()} mcp and a client",
    "random": "the random player: continue with the ablation that it belongs to",
}
"""Players that the command line alone cannot continue with, and what continues."""


def recorded(folder: Path, now: GameConfiguration) -> GameConfiguration:
    """Return the configuration of the run in ``folder``, with all recorded changes and its latest budgets.

    Prices come from ``now``. A run stores no keys, and none are added here. Raises ``StoreError`` if the manifest was
    changed or has another version.
    """
    manifest = read_manifest(folder)
    first = next(read_journal(folder), None)
    if first is not None and isinstance(first.event, RunStarted):
        require_files({name: first.event.files[name] for name in first.event.files.keys() & {MANIFEST}}, folder)
    try:
        then = GameConfiguration.model_validate(manifest.configuration)
    except ValidationError as error:
        raise StoreError(f"{folder / MANIFEST} was written by another version: {first_problem(error)}") from error
    for change in filter(None, read_lines(folder, _change)):
        then = changed(then, change.options)
    game = then.game.model_copy(update={"file": now.game.file or Path(manifest.story_path)})
    if folder.absolute().parent.name != RUNS:
        raise ConfigurationError(f"{folder} is not in a work folder; expected WORKDIR/{RUNS}/<run-id>")
    workdir = folder.absolute().parent.parent
    update = {
        "game": game,
        "zork_game_workdir": workdir,
        "budgets": kept_budgets(folder) or then.budgets,
        "prices": {**then.prices, **now.prices},
    }
    return then.model_copy(update=update)


def continued(
    folder: Path,
    now: GameConfiguration,
    changes: Collection[str] = (),
    *,
    player: Literal["model", "program"] | None = None,
    turns: int | None = None,
) -> GameConfiguration:
    """Return the configuration with which the run in ``folder`` continues, or with which a fork of it is played.

    changes: the names of the options that take their value from ``now``: models, servers, sampling and budgets
    player: the one that continues; ``None``: the same as before, or the model in ``changes`` after a program
    turns: that were played in the episode, if the run does not continue after its latest turn

    The keys of ``now`` are added for the run's own servers. Raises ``ConfigurationError`` for an option that may not
    change, if a program played and no player is given, and if a key could be sent to a URL that ``now`` does not
    contain or that another user could have changed.
    """
    then = recorded(folder, now)
    if player == "program":
        if then.agent.player not in ("function", "client"):
            then = changed(then, {"agent.player": "function", "extractor.mode": "none"})
    elif player == "model" or (then.agent.player in PROGRAMS and "agent_model" in changes):
        then = _with_model(then, now, _latest_turns(folder) if turns is None else turns)
    elif then.agent.player in PROGRAMS:
        manifest = read_manifest(folder)
        raise ConfigurationError(
            f"run {manifest.run_id} was played by {manifest.player}, {PROGRAMS[then.agent.player]}, or with --model M "
            "and a model"
        )
    return _with_keys(updated(then, now, changes), folder, now)


def require_files(digests: Mapping[str, str], folder: Path) -> None:
    """Raise ``StoreError`` if a file of the run's start does not match its digest."""
    now = digests_at_start(folder)
    for name, digest in digests.items():
        if now.get(name) != digest:
            raise StoreError(f"{folder / name} was changed after the run began")


def _with_model(then: GameConfiguration, now: GameConfiguration, turns: int) -> GameConfiguration:
    """Return the configuration with the model of ``now`` as the player, which after a person plays up to a limit."""
    if then.agent.player == "model":
        return then
    values: dict[str, OptionValue] = {
        "agent.player": "model",
        "agent.reasoning_length": now.agent.reasoning_length,
        "extractor.mode": now.extractor.mode,
    }
    if JUDGED_BY[then.agent.player] == "person":
        values["max_turns_per_episode"] = min(then.max_turns_per_episode, turns + now.max_turns_per_episode)
    return changed(then, values)


def _latest_turns(folder: Path) -> int:
    """Return how many turns were played since the latest episode began."""
    turns = 0
    for line in read_journal(folder):
        if isinstance(line.event, EpisodeEnded):
            turns = 0
        elif moment := moment_of(line.event):
            turns = moment.turn
    return turns


def _with_keys(then: GameConfiguration, folder: Path, now: GameConfiguration) -> GameConfiguration:
    """Return the configuration with the keys of ``now`` for the run's own servers."""
    require_usual_names(then, now, folder)
    keys = {role: getattr(now.llm, role).api_key for role in ROLES}
    if now.llm.api_key is None and not any(keys.values()):
        return then
    address_files = [MANIFEST, *([JOURNAL_FILE] if any(read_lines(folder, _change)) else [])]
    for path in (folder / name for name in address_files):
        writers = writers_besides_user(path.stat())
        if writers:
            raise ConfigurationError(
                f"{path} is not used with a key because {writers}: keys are sent only to URLs from "
                "files that no other user can write"
            )
    is_served = then.llm.base_url is not None or then.agent_model is not None  # else the embedded model plays
    update: dict[str, object] = {"api_key": now.llm.api_key if is_served else None}
    for role, key in keys.items():
        own: ServerOptions = getattr(then.llm, role)
        if is_served or own.base_url is not None:
            update[role] = own.model_copy(update={"api_key": key})
    configuration = then.model_copy(update={"llm": then.llm.model_copy(update=update)})
    require_named(configuration, now, folder)
    return configuration


def _change(line: bytes, _place: str) -> OptionsChanged | None:
    """Return the change of options in a line of a journal, if there is one; other lines are not parsed."""
    event = EVENTS.validate_python(json.loads(line)["event"]) if b'"options_changed"' in line else None
    return event if isinstance(event, OptionsChanged) else None
