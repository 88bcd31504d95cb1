"""Who plays: a player receives what may be known before a turn, and proposes what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from session.context import AgentContext, OfferedRoute
from session.events import MemoryGiven
from session.game_configuration import PlayerKind
from session.values import Observation, Proposal


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What a player may know when it proposes a command.

    turn, turns_left: the number of this turn from 1, and how many can follow it; ``None`` if there is no limit
    prompt: returns what a language model is shown beside its instructions, which it takes, since they count towards
        the budget; it is built only when it is called
    valid_actions: the commands to choose from; ``None`` if any command is allowed
    routes: the routes that can be followed from here
    offers_ways: the player may follow a route or walk to a location instead
    """

    observation: Observation
    turn: int
    turns_left: int | None
    prompt: Callable[[str], AgentContext] = field(repr=False)
    valid_actions: tuple[str, ...] | None = None
    routes: tuple[OfferedRoute, ...] = ()
    offers_ways: bool = True

    @property
    def route_choices(self) -> tuple[OfferedRoute, ...]:
        """The routes that belong to the list of commands."""
        return tuple(route for route in self.routes if route.is_listed) if self.valid_actions else ()


@dataclass(frozen=True, slots=True)
class Remember:
    """The player has a memory to store before it proposes a command."""

    memory: MemoryGiven


@dataclass(frozen=True, slots=True)
class Leave:
    """The player ends the episode."""


JudgedBy = Literal["critic", "person", "none"]

JUDGED_BY: Mapping[PlayerKind, JudgedBy] = {
    "model": "critic",
    "random": "critic",
    "person": "person",
    "person-alone": "person",
    "function": "none",
    "client": "none",
}
"""What decides on the proposals of each kind of player; those of a person or a program are played as they are."""


class Player(Protocol):
    """Proposes commands. ``name``: as it is shown to the user."""

    name: str

    def propose(self, context: TurnContext) -> Proposal | Remember | Leave:
        """Return what the player wants to do. Raises ``LanguageModelError``, or what a function raises."""
        ...
