"""The arms of an ablation: named configurations that differ in a few options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from session.errors import ConfigurationError

NAMED: Mapping[str, Mapping[str, object]] = {
    "full": {},
    "no-memory": {"simple_memory.enabled": False},
    "no-knowledge": {"knowledge.enabled": False},
    "no-map": {"map.shown": False},
    "no-routes": {"routes.enabled": False},
    "shuffled-memory": {"simple_memory.shuffled": True},
    "shuffled-routes": {"routes.shuffled": True},
}
"""Arms with a name of their own, and the options that they set."""

THE_SAME = frozenset({"game.seed", "game.file"})
"""Options that must be the same in both runs of a pair."""
KEY = "api_key"
"""The end of the options that may not be in an arm's name, since names are written down."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison.

    settings: its own options by dotted name; they override those of all arms
    """

    name: str
    settings: Mapping[str, object]

    @property
    def folder(self) -> str:
        """Return the folder of the arm's runs, below that of the ablation; a name that any file system takes."""
        return re.sub(r"[^A-Za-z0-9.=+-]+", "_", self.name).lstrip(".") or "_"


def parse_arms(text: str) -> tuple[Arm, ...]:
    """Return the arms of a list such as ``full,no-memory+no-map,critic.mode=llm``; ``+`` joins settings of one arm.

    Raises ``ConfigurationError`` for a name that is none, where there is no arm, and where two share a name.
    """
    arms = tuple(_arm(name.strip()) for name in text.split(",") if name.strip())
    if not arms:
        raise ConfigurationError("--arms names no arm: one to be measured, or more to be compared, as full,no-memory")
    if len({arm.folder for arm in arms}) < len(arms):
        raise ConfigurationError(f"--arms {text}: two arms have the same name, as far as a folder can have it")
    return arms


def _arm(name: str) -> Arm:
    settings: dict[str, object] = {}
    for part in name.split("+"):
        option, sign, value = part.strip().partition("=")
        if sign and (option.strip() in THE_SAME or option.strip().endswith(KEY)):
            raise ConfigurationError(f"--arms: {option.strip()} must be the same for all arms: set it beside --arms")
        if sign:
            settings[option.strip()] = value.strip()
        elif option in NAMED:
            settings.update(NAMED[option])
        else:
            raise ConfigurationError(f"--arms: {option} is no arm; there is {', '.join(NAMED)}, or option=value")
    return Arm(name, settings)
