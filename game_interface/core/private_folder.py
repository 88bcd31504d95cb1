"""Temporary folders for interpreters and the processes that they run in."""

from __future__ import annotations

from tempfile import TemporaryDirectory

from session.errors import GameError


def private_folder() -> TemporaryDirectory[str]:
    """Make an empty temporary folder, which is gone with ``cleanup`` or with this process at the latest.

    Raises ``GameError`` where none can be made.
    """
    try:
        return TemporaryDirectory(prefix="zorkgpt-", ignore_cleanup_errors=True)
    except OSError as error:
        raise GameError(f"no temporary folder can be made: {error.strerror or error}") from error
