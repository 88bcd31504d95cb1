"""A configuration from the command line, the environment and files, and where each option came from.

The sources are read here rather than by a settings library because every value keeps its origin, and because
an unknown name is an error in the environment too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from io import StringIO
from operator import getitem
from typing import TYPE_CHECKING, Any

from dotenv import dotenv_values
from pydantic import JsonValue

from session.configuration.options import Setting, options_of, resolve
from session.configuration.toml_settings import from_toml_file
from session.errors import ConfigurationError
from session.game_configuration import GameConfiguration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEFAULT = "default"
PREFIX = "ZORKGPT_"
WELL_KNOWN = {"OPENAI_API_KEY": "llm.api_key", "OPENAI_BASE_URL": "llm.base_url"}
EMBEDDED_PROFILE: Mapping[str, JsonValue] = {
    "max_turns_per_episode": 100,
    "assist": "fresh-actions",
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
    "agent_sampling.seed": 1,
    "prompt_budgets.agent": 1500,
    "prompt_budgets.critic": 1500,
    "prompt_budgets.info_ext": 1500,
    "prompt_budgets.analysis": 1500,
    "prompt_budgets.memory": 900,
    "memory_sampling.max_tokens": 150,
    "memory_sampling.memory_history_window": 1,
}
"""Defaults where the agent's model is embedded: it is small, and cannot phrase commands."""
NOT_OPTIONS = frozenset({"ZORKGPT_MODEL_DIR", "ZORKGPT_STORIES"})


_EMBEDDED_PROFILE = [Setting(name, value, DEFAULT, "of the embedded model") for name, value in EMBEDDED_PROFILE.items()]


@dataclass(frozen=True, slots=True)
class ShownOption:
    """An option fit to be seen. ``value`` of a key is ``set`` or ``None``, never the key."""

    name: str
    value: JsonValue
    origin: str


@dataclass(frozen=True, slots=True)
class ResolvedConfiguration:
    """A configuration, and in words where each option came from, by dotted name.

    Options that ``origins`` lacks have their default.
    """

    configuration: GameConfiguration
    origins: Mapping[str, str]

    def shown(self) -> Iterator[ShownOption]:
        """Every option, in the order of their definition."""
        values: Any = self.configuration.without_keys()
        for option in options_of(GameConfiguration):
            value: JsonValue
            if option.secret:
                value = None if option.value_in(self.configuration) is None else "set"
            else:
                value = reduce(getitem, option.name.split("."), values)
            yield ShownOption(option.name, value, self.origins.get(option.name, DEFAULT))


def load_configuration(overrides: Mapping[str, object], environ: Mapping[str, str], cwd: Path) -> ResolvedConfiguration:
    """The configuration that holds in the folder ``cwd``.

    overrides: values by dotted name, from the command line; ``None`` is not given
    Precedence: ``overrides``, ``environ``, ``.env`` in ``cwd``, the nearest ``zorkgpt.toml`` or
    ``pyproject.toml`` on the way up from there (side by side: the first), ``EMBEDDED_PROFILE`` where the agent's model
    is embedded, defaults.
    Raises ``ConfigurationError``.
    """
    lowest_first = [
        *_from_nearest_file(cwd.absolute()),
        *_from_environment(_read_dotenv(cwd / ".env"), f"in {cwd / '.env'}"),
        *_from_environment(environ, "in the environment"),
        *(Setting(name, value, name, "on the command line") for name, value in overrides.items() if value is not None),
    ]
    configuration, origins = resolve(GameConfiguration, lowest_first)
    if configuration.role("agent").engine == "embedded":
        configuration, origins = resolve(GameConfiguration, [*_EMBEDDED_PROFILE, *lowest_first])
    return ResolvedConfiguration(configuration, origins)


def _from_nearest_file(cwd: Path) -> Iterator[Setting]:
    for folder in (cwd, *cwd.parents):
        for name in ("zorkgpt.toml", "pyproject.toml"):
            if (folder / name).is_file():
                return from_toml_file(folder / name)
    return iter(())


def _from_environment(environ: Mapping[str, str | None], source: str) -> Iterator[Setting]:
    for key, name in WELL_KNOWN.items():
        if environ.get(key):
            yield Setting(name, environ[key], key, source)
    for key, value in environ.items():
        if value and key.startswith(PREFIX) and key not in NOT_OPTIONS:
            yield Setting(key.removeprefix(PREFIX).lower().replace("__", "."), value, key, source)


def _read_dotenv(path: Path) -> dict[str, str | None]:
    if not path.is_file():
        return {}
    try:
        return dotenv_values(stream=StringIO(path.read_text(encoding="utf-8")), interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
