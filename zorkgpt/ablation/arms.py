"""What an ablation compares: configurations that differ in a few options, by name."""

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
    "shuffled-memory": {"simple_memory.shuffled": True},
}
"""The arms that have a name, each with the options that it sets."""

THE_SAME = frozenset({"game.seed", "game.file"})
"""What a pair must have in common."""
KEY = "api_key"
"""The end of an option that names no arm: names are written down."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison: ``settings``, by dotted name, over those of all arms.

    folder: a name for its runs, safe on any file system
    """

    name: str
    settings: Mapping[str, object]

    @property
    def folder(self) -> str:
        """Where the arm's runs are, below the folder of the ablation."""
        return re.sub(r"[^A-Za-z0-9.=+-]+", "_", self.name).lstrip(".") or "_"


def parse_arms(text: str) -> tuple[Arm, ...]:
    """The arms of a list such as ``full,no-memory+no-map,critic.mode=llm``; ``+`` joins parts that all hold.

    Raises ``ConfigurationError`` for a name that is none, where there are not two arms, and where two share a name.
    """
    arms = tuple(_arm(name.strip()) for name in text.split(",") if name.strip())
    if len(arms) < 2:  # noqa: PLR2004  a comparison has two sides
        raise ConfigurationError(f"--arms {text}: a comparison takes two arms or more, such as full,no-memory")
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
