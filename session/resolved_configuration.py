"""Resolves the configuration, and limits what files of a folder may set and what a run may change.

A file may be part of a downloaded folder, such as a clone or an archive: its owner is then the user, but its author is
not. Unless it is trusted, it names only paths within its folder (``Kind``), and keys are sent to its URLs only if it
has its own key.

A run may change its models, servers and sampling, but not its prompts or the story. The one exception is a run of a
human player that a model takes over.
"""

from __future__ import annotations

import json
import os
import shlex
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from hashlib import sha256
from ipaddress import ip_address
from operator import attrgetter, getitem
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from platformdirs import user_config_path
from pydantic import JsonValue, ValidationError

from session.errors import ConfigurationError, StoreError, first_problem, reported_as
from session.events import OptionValue
from session.files.shared_files import make_folder, read_shared, write_atomically
from session.game_configuration import BudgetOptions, GameConfiguration
from session.model_files import HUB, is_large
from session.options import (
    ENV_FILE,
    TOML_FILES,
    Group,
    Option,
    Setting,
    from_file,
    options_of,
    resolve,
    settings_from,
    variable_of,
)
from session.processes import program
from session.values import ROLES

_ADDRESS = "llm.base_url"
_WORKDIR = "zork_game_workdir"
BUDGETS = "budgets.json"


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this computer, which needs neither trust nor a proxy."""
    if host is None or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


Kind = Literal["work folder", "story file", "file name", "model", "prompts", "URL", "key", "fields of requests"]
"""What an option names that a file of a folder and the record of a run may set within limits only.

docs/reference/configuration.md lists these limits. Every source may set an option of no kind.
"""


def limited_kind(option: Option) -> str:
    """Return the ``Kind`` of the option; "" for none."""
    if option.name == "prompts":
        return "prompts"
    if option.secret:
        return "key"
    if option.name.endswith(".extra_body"):
        return "fields of requests"
    if option.format == "path":
        return "work folder" if option.name == _WORKDIR else "story file"
    return option.format


@cache
def _of_kind(*kinds: Kind) -> tuple[str, ...]:
    return tuple(option.name for option in options_of(GameConfiguration) if limited_kind(option) in kinds)


def _has_usual_ending(option: str, name: str) -> bool:
    """Return whether a file name is visible and has the ending of the option's default."""
    usual = Path(attrgetter(option)(GameConfiguration()))
    return Path(name).suffix == usual.suffix and not name.startswith(".")


def require_named(configuration: GameConfiguration, now: GameConfiguration, folder: Path) -> None:
    """Raise ``ConfigurationError`` if a key would be sent to a URL of a run that the present configuration lacks.

    folder: of the run, which may be part of a downloaded work folder
    """
    named = {server.base_url for server in (now.llm, *(getattr(now.llm, role) for role in ROLES))}
    for address, _ in _pairs(configuration):
        url = attrgetter(address)(configuration)
        if url not in named:
            option = f"--base-url {url}" if address == _ADDRESS else f"--set {address}={url}"
            raise ConfigurationError(
                f"the run of {folder} has {address} = {url}: a key is sent there only if you name it yourself; "
                f"add {option}"
            )


def require_usual_names(configuration: GameConfiguration, now: GameConfiguration, folder: Path) -> None:
    """Raise ``ConfigurationError`` if a run writes a file of an unusual kind that the present configuration lacks.

    folder: of the run, which may have been unpacked into a folder with other files of that name
    """
    for option in _of_kind("file name"):
        name = attrgetter(option)(configuration)
        if not _has_usual_ending(option, name) and name != attrgetter(option)(now):
            raise ConfigurationError(
                f"the run of {folder} has {option} = {name}, which is not the name of such a file; "
                f"if it is your own run, set {variable_of(option)}={name} in the environment"
            )


def trust(file: Path) -> None:
    """Trust the URLs and paths in a file as long as its content does not change.

    Raises ``ConfigurationError`` for a file that no configuration is read from, ``StoreError``.
    """
    digest = _digest(file)
    if file.name not in (*TOML_FILES, ENV_FILE) or not any(from_file(file)):
        raise ConfigurationError(
            f"{file} is not a configuration: expected a {', '.join(TOML_FILES)} or {ENV_FILE} with options of ZorkGPT"
        )
    store = _store()
    make_folder(store.parent, f"{store} cannot be written")
    trusted = {**_trusted(), _place(file): digest}
    write_atomically(store, json.dumps(trusted, indent=2).encode(), mode=0o600)


def _pairs(configuration: GameConfiguration) -> Iterator[tuple[str, str]]:
    """Yield each URL of another computer with each key for it, by the names of the options."""
    llm = configuration.llm
    for role in ROLES:
        own = getattr(llm, role)
        key = f"llm.{role}.api_key" if own.api_key else "llm.api_key"
        address = f"llm.{role}.base_url" if own.base_url else _ADDRESS
        url, value = (own.base_url, own.api_key) if own.base_url else (llm.base_url, own.api_key or llm.api_key)
        if url is not None and value is not None and not is_loopback(urlsplit(url).hostname):
            yield address, key


def _store() -> Path:
    return user_config_path("zorkgpt") / "trusted.json"


def _trusted() -> dict[str, str]:
    try:
        content = json.loads(_store().read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _place(file: Path) -> str:
    """Return where the file is. Of a link it is where the link is: a downloaded folder may have one to any file."""
    return str(file.parent.resolve() / file.name)


def _is_users_own(file: Path, home: str | None) -> bool:
    """Return whether a file is in the home folder itself, or is trusted as it is."""
    is_home = home is not None and file.parent.resolve() == Path(home).resolve()
    return is_home or _trusted().get(_place(file)) == _digest(file)


def _digest(file: Path) -> str:
    with reported_as(f"cannot read {file}", ConfigurationError):
        return sha256(file.read_bytes()).hexdigest()


DEFAULT = "default"
SHORT_PROMPTS: Mapping[str, JsonValue] = {
    "prompt_budgets.agent": 4000,
    "prompt_budgets.history": 0,
    "prompt_budgets.earlier_games": 0,
}
"""Defaults for a server that reads each prompt anew, and for a model that reads slowly."""
EMBEDDED_PROFILE: Mapping[str, JsonValue] = {
    **SHORT_PROMPTS,
    "max_turns_per_episode": 100,
    "assist": "fresh-actions,proven-routes",
    "agent.history_window": 1,
    "agent.show_reasoning": False,
    "agent.reasoning_length": 0,
    "critic.mode": "object_tree",
    "extractor.mode": "none",
    "objectives.enabled": False,
    "map.shown": False,
    "simple_memory.max_tokens": 80,
    "agent_sampling.temperature": 0.7,
    "agent_sampling.min_p": 0.1,
    "agent_sampling.max_tokens": 120,
    "prompt_budgets.agent": 1500,
    "prompt_budgets.critic": 1500,
    "prompt_budgets.info_ext": 1500,
    "prompt_budgets.analysis": 1500,
    "prompt_budgets.memory": 900,
    "memory_sampling.max_tokens": 150,
    "memory_sampling.memory_history_window": 1,
}
"""Defaults for an embedded model that is too small to write commands of its own."""


@dataclass(frozen=True, slots=True)
class ShownOption:
    """An option for display. The value of a key is ``set`` or ``None``, never the key."""

    name: str
    value: JsonValue
    origin: str


@dataclass(frozen=True, slots=True)
class ResolvedConfiguration:
    """A configuration with the source of each option.

    origins: the source in words, by dotted name; a missing option has its default
    """

    configuration: GameConfiguration
    origins: Mapping[str, str]

    def shown(self) -> Iterator[ShownOption]:
        """Yield every option in the order of definition."""
        values: Any = self.configuration.without_keys()
        for option in options_of(GameConfiguration):
            value: JsonValue
            if option.secret:
                value = None if option.value_in(self.configuration) is None else "set"
            elif option.name == "prompts":
                value = {name: prompt.file for name, prompt in self.configuration.prompts.items()}
            else:
                value = reduce(getitem, option.name.split("."), values)
            entries = (each for name, each in self.origins.items() if name.startswith(f"{option.name}."))
            yield ShownOption(option.name, value, self.origins.get(option.name) or next(entries, DEFAULT))


def load_configuration(
    overrides: Mapping[str, object], environ: Mapping[str, str], cwd: Path, given: str = "on the command line"
) -> ResolvedConfiguration:
    """Return the configuration for the folder ``cwd``.

    overrides: values by dotted name; ``None`` means not given
    given: where the overrides were given, in words
    Below the sources of :func:`settings_from` are ``EMBEDDED_PROFILE`` if the agent's model is embedded and small,
    ``SHORT_PROMPTS`` if it is embedded and large, or ``prompt_budgets.cached`` is false, and the defaults.
    Raises ``ConfigurationError``, also if a file breaks its limits. A file directly in the home folder has none.
    """
    lowest_first = list(settings_from(overrides, environ, cwd, given))
    configuration, chosen = resolve(GameConfiguration, lowest_first)
    agent = configuration.role("agent")
    profile, whose = ({}, "") if configuration.prompt_budgets.cached else (SHORT_PROMPTS, "without a cache")
    if agent.engine == "embedded":
        is_small = not (agent.model and is_large(agent.model))
        profile, whose = EMBEDDED_PROFILE if is_small else SHORT_PROMPTS, "of the embedded model"
    if profile:
        settings = [Setting(name, value, DEFAULT, whose) for name, value in profile.items()]
        configuration, chosen = resolve(GameConfiguration, [*settings, *lowest_first])
    files = {name: setting.file for name, setting in chosen.items()}
    foreign = {file for file in files.values() if file and not _is_users_own(file, environ.get("HOME"))}
    _require_own_keys(configuration, files, foreign)
    for option, file in {_WORKDIR: min(foreign, default=None), **files}.items():
        if file in foreign:
            _require_own_paths(configuration, option, file, cwd)
    return ResolvedConfiguration(configuration, {name: setting.origin for name, setting in chosen.items()})


def _trusting(file: Path) -> str:
    return f"{program()} config trust {shlex.quote(str(file))} allows it"


def _require_own_keys(
    configuration: GameConfiguration, files: Mapping[str, Path | None], foreign: Collection[Path]
) -> None:
    """Raise ``ConfigurationError`` if a key would be sent to a URL, or with fields, from a foreign file without it."""
    for address, key in _pairs(configuration):
        file = files.get(address)
        if file is not None and file in foreign and file != files.get(key):
            raise ConfigurationError(
                f"{file} gives {address}, and {key} comes from elsewhere: no key is sent to an address that may have "
                f"come with a folder; {_trusting(file)}"
            )
    for option in _of_kind("fields of requests"):
        file = files.get(option)
        other = next((key for key in _of_kind("key") if key in files and files[key] != file), None)
        if file is not None and file in foreign and other:
            raise ConfigurationError(
                f"{file} gives {option}, and {other} comes from elsewhere: a field can make a server pass the key on; "
                f"{_trusting(file)}"
            )


def _require_own_paths(configuration: GameConfiguration, option: str, file: Path, cwd: Path) -> None:
    """Raise ``ConfigurationError`` if an option of a foreign file leads out of its folder.

    The work folder is checked even if no source names it: it may be a link that came with the folder.
    """
    group, _, entry = option.partition(".")
    if group == "prompts":
        paths = [Path(prompt.file) for name, prompt in configuration.prompts.items() if entry in {"", name}]
    else:
        value = attrgetter(option)(configuration)
        is_name = option in _of_kind("file name")
        if is_name and not _has_usual_ending(option, value):
            usual = attrgetter(option)(GameConfiguration())
            raise ConfigurationError(
                f"{file} gives {option} = {value}, and it may have come with the folder: then the name must be one "
                f"such as {usual}, with that ending; {_trusting(file)}"
            )
        is_path = option in _of_kind("work folder", "story file") or (
            option in _of_kind("model") and value.endswith(".gguf") and not value.startswith(HUB)
        )
        paths = [configuration.zork_game_workdir / value] if is_name else [Path(value)] if is_path else []
    for path in (cwd / path.expanduser() for path in paths):
        if not _is_within(path, file.parent):
            raise ConfigurationError(
                f"{option} is {path}, which is not a visible path within {file.parent}: {file} may have come with the "
                f"folder, and then names nothing outside; {_trusting(file)}"
            )


def _is_within(path: Path, folder: Path) -> bool:
    """Return whether a path, with all links followed, is in the folder or below, and in no hidden folder of it."""
    real, top = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    return real.is_relative_to(top) and not any(part.startswith(".") for part in real.relative_to(top).parts)


def keep_budgets(run: Path, budgets: BudgetOptions) -> None:
    """Write down the budgets with which the run of that folder goes on. Raises ``StoreError``."""
    write_atomically(run / BUDGETS, budgets.model_dump_json(indent=1).encode())


def kept_budgets(run: Path) -> BudgetOptions | None:
    """Return the budgets that the run was last resumed with, ``None`` if it never was. Raises ``StoreError``."""
    content = read_shared(run / BUDGETS)
    try:
        return BudgetOptions.model_validate_json(content.removeprefix(BOM_UTF8)) if content is not None else None
    except ValidationError as error:
        raise StoreError(f"{run / BUDGETS} is not a file of budgets: {first_problem(error, 'it')}") from error


HANDED_OVER = ("agent.player", "agent.reasoning_length", "extractor.mode", "max_turns_per_episode")
"""The options that change when a model takes over from a human player."""
_IN_PROMPTS = frozenset({"memory_sampling.memory_history_window"})


@cache
def changeable_options() -> tuple[str, ...]:
    """Return the names of the options that may change within a run. Keys are not among them: a run stores none."""
    names = [option.name for option in options_of(GameConfiguration) if not option.secret]
    groups = {"llm", *(f"{role}_model" for role in ROLES), *(f"{role}_sampling" for role in ROLES)}
    return tuple(
        name for name in names if name in HANDED_OVER or (name.partition(".")[0] in groups and name not in _IN_PROMPTS)
    )


def changes_between(before: GameConfiguration, after: GameConfiguration) -> dict[str, OptionValue]:
    """Return the changeable options of ``after`` with other values than in ``before``."""
    values = {name: attrgetter(name)(after) for name in changeable_options()}
    return {name: value for name, value in values.items() if value != attrgetter(name)(before)}


def changed(configuration: GameConfiguration, values: Mapping[str, OptionValue]) -> GameConfiguration:
    """Return the configuration with these options, as returned by :func:`changes_between`.

    Raises ``ValueError`` for an option that may not change.
    """
    for name, value in values.items():
        if name not in changeable_options():
            raise ValueError(f"{name} cannot change within a run")
        configuration = _with_value(configuration, name.split("."), value)
    return configuration


def updated(then: GameConfiguration, now: GameConfiguration, names: Iterable[str]) -> GameConfiguration:
    """Return the configuration ``then`` of a run, which has the prices of ``now``, with these options of ``now``.

    Raises ``ConfigurationError`` for an option that may not change within a run.
    """
    chosen = [type(now).aliases.get(name, name) for name in names]
    for name in chosen:
        is_money = name == "prices" or name.startswith("budgets.")
        if name in HANDED_OVER or (name not in changeable_options() and not is_money):
            raise ConfigurationError(
                f"{name}: within a run only models, servers, sampling and budgets can change; set it for a new run"
            )
    return rebuilt_with(then, now, (name for name in chosen if name != "prices"))


def rebuilt_with(then: GameConfiguration, now: GameConfiguration, names: Iterable[str]) -> GameConfiguration:
    """Return the configuration ``then`` with these options of ``now``, whatever they are; see :func:`updated`."""
    for name in (type(now).aliases.get(each, each) for each in names):
        if name.partition(".")[0] == "prompts":
            then = then.model_copy(update={"prompts": {**then.prompts, **now.prompts}})
        else:
            then = _with_value(then, name.split("."), attrgetter(name)(now))
    return then


def as_settings(values: Mapping[str, OptionValue]) -> str:
    """Return the values of options as text: ``agent_model = gpt-5, agent_sampling.top_k = unset``."""
    written = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
    return ", ".join(f"{name} = {'unset' if value == 'null' else value}" for name, value in written.items())


def before_changes(configuration: GameConfiguration, begun_with: GameConfiguration) -> GameConfiguration:
    """Return the configuration with the values of ``begun_with`` of all options that may change."""
    return changed(configuration, changes_between(configuration, begun_with))


def _with_value(group: Group, path: list[str], value: object) -> Group:
    first, *rest = path
    return group.model_copy(update={first: _with_value(getattr(group, first), rest, value) if rest else value})
