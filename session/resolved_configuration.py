"""The configuration that holds in a folder, and where each of its options came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from session.configuration.options import Setting, files_of, options_of, resolve
from session.configuration.sources import settings_from
from session.game_configuration import GameConfiguration
from session.key_trust import require_trusted

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT = "default"
EMBEDDED_PROFILE: Mapping[str, JsonValue] = {
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
"""Defaults where the agent's model is embedded: it is small, and cannot phrase commands."""


@dataclass(frozen=True, slots=True)
class ShownOption:
    """An option as it may be shown. The value of a key is ``set`` or ``None``, never the key."""

    name: str
    value: JsonValue
    origin: str


@dataclass(frozen=True, slots=True)
class ResolvedConfiguration:
    """A configuration, and where each of its options was given.

    origins: in words, by dotted name; an option that is not in it has its default
    """

    configuration: GameConfiguration
    origins: Mapping[str, str]

    def shown(self) -> Iterator[ShownOption]:
        """Yield every option, in the order of their definition."""
        values: Any = self.configuration.without_keys()
        for option in options_of(GameConfiguration):
            value: JsonValue
            if option.secret:
                value = None if option.value_in(self.configuration) is None else "set"
            else:
                value = reduce(getitem, option.name.split("."), values)
            yield ShownOption(option.name, value, self.origins.get(option.name, DEFAULT))


def load_configuration(overrides: Mapping[str, object], environ: Mapping[str, str], cwd: Path) -> ResolvedConfiguration:
    """Return the configuration that holds in the folder ``cwd``.

    overrides: values by dotted name, from the command line; ``None`` means not given
    Precedence: ``overrides``, ``environ``, ``.env`` in ``cwd``, the nearest ``zorkgpt.toml`` or ``pyproject.toml`` on
    the way up from there, ``EMBEDDED_PROFILE`` where the agent's model is embedded, defaults.
    Raises ``ConfigurationError``, also for a key that would be sent to an address from a file that is not trusted.
    """
    lowest_first = list(settings_from(overrides, environ, cwd))
    configuration, origins = resolve(GameConfiguration, lowest_first)
    if configuration.role("agent").engine == "embedded":
        profile = [Setting(name, value, DEFAULT, "of the embedded model") for name, value in EMBEDDED_PROFILE.items()]
        configuration, origins = resolve(GameConfiguration, [*profile, *lowest_first])
    home = environ.get("HOME")
    require_trusted(configuration, files_of(GameConfiguration, lowest_first), Path(home) if home else None)
    return ResolvedConfiguration(configuration, origins)
