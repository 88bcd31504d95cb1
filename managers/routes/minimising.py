"""Leaves out of a list of commands what is not needed (delta debugging)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Commands = tuple[str, ...]
PAIR = 2


def minimised(commands: Commands, still_works: Callable[[Commands], bool]) -> Commands:
    """Return the commands that are needed: halves are left out first, then ever less, while the rest still works.

    No single command and no two in a row can be left out of the result, as long as ``still_works`` says yes to what
    works: there and back again is two commands, neither of which can go alone.
    """
    size = len(commands) // 2
    while size:
        shorter = _without_chunks(commands, size, still_works)
        size = min(PAIR, len(shorter) - 1) if size <= PAIR and shorter != commands else size // 2
        commands = shorter
    return commands


def _without_chunks(commands: Commands, size: int, still_works: Callable[[Commands], bool]) -> Commands:
    """Return the commands without every chunk of that size that is not needed, the last ones first."""
    for start in range(len(commands) - size, -size, -(size // 2 or 1)):
        shorter = commands[: max(start, 0)] + commands[start + size :]
        if shorter and still_works(shorter):
            commands = shorter
    return commands
