"""A person who types the commands."""

from __future__ import annotations

from collections.abc import Callable

from session.commands import Vocabulary, commands_of
from session.values import Proposal
from zorkgpt.players.player import Leave, TurnContext


class Person:
    """Plays what a person types. Each command of a line is a proposal of its own.

    read_command: waits until the person has typed a line, and returns it; ``None`` ends the episode. Raises
        ``WaitInterrupted``
    """

    name = "a person"

    def __init__(self, read_command: Callable[[], str | None], vocabulary: Vocabulary) -> None:
        self._read_command = read_command
        self._vocabulary = vocabulary
        self._typed: list[str] = []

    def propose(self, _context: TurnContext) -> Proposal | Leave:
        """Return the next command."""
        if not self._typed:
            line = self._read_command()
            if line is None:
                return Leave()
            self._typed.extend(commands_of(line, self._vocabulary))
        return Proposal(self._typed.pop(0))
