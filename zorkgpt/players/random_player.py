"""A player that chooses at random."""

from __future__ import annotations

from collections import Counter
from random import Random

from session.commands import COMMON_COMMANDS
from session.values import Proposal
from zorkgpt.players.player import TurnContext


class RandomPlayer:
    """Draws from the commands that it has chosen least often at the location, in all episodes.

    If a route belongs to the list of commands, it follows that. If any command is allowed, it moves at random.
    """

    name = "random"

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311  not used for secrets
        self._tried: Counter[tuple[int | None, str]] = Counter()

    def propose(self, context: TurnContext) -> Proposal:
        """Return a random command."""
        for route in context.route_choices:
            return Proposal(route.choice, follow=route.number)
        place = context.observation.location.num if context.observation.location else None
        choices = context.valid_actions or COMMON_COMMANDS
        least = min(self._tried[place, choice] for choice in choices)
        drawn = self._random.choice([choice for choice in choices if self._tried[place, choice] == least])
        self._tried[place, drawn] += 1
        return Proposal(drawn)
