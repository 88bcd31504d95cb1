"""Arguments that C would crash on or quietly change, refused in one line."""

from __future__ import annotations

from session.errors import ConfigurationError, GameError

_HIGHEST_SEED = 2**31 - 1
"""The interpreter takes a C int; it would cut a higher seed, perhaps to 0, which means none."""


def require_seed(seed: object) -> None:
    """``seed`` is a whole number that the interpreter takes as it is, or ``ConfigurationError`` says what would be."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 1 <= seed <= _HIGHEST_SEED:
        raise ConfigurationError(
            f"A story's seed has to be a whole number, 1 or more and at most {_HIGHEST_SEED}, not {seed!r}."
        )


def require_command(command: object) -> None:
    """``command`` is a text, or ``GameError`` says what it is."""
    if not isinstance(command, str):
        raise GameError(f"A command has to be a text, not {command!r}.")
