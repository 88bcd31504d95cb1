"""Leaves out of a list of commands what is not needed (delta debugging)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Commands = tuple[str, ...]


def minimised(commands: Commands, still_works: Callable[[Commands], bool]) -> Commands:
    """Return the commands without those that they work as well without: halves are left out first, then ever less.

    No single command can be left out of the result, as long as ``still_works`` says yes to what works.
    """
    size = len(commands) // 2
    while size:
        shorter = _without_chunks(commands, size, still_works)
        size = size if size == 1 and shorter != commands else size // 2
        commands = shorter
    return commands


def _without_chunks(commands: Commands, size: int, still_works: Callable[[Commands], bool]) -> Commands:
    """Return the commands without every chunk of that size that is not needed, the last ones first."""
    for start in range(len(commands) - size, -size, -size):
        shorter = commands[: max(start, 0)] + commands[start + size :]
        if shorter and still_works(shorter):
            commands = shorter
    return commands
