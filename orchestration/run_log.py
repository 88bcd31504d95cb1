"""The log of a run: one JSON object a line, beside its journal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog

from session.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from structlog.typing import FilteringBoundLogger


@contextmanager
def open_log(path: Path) -> Iterator[FilteringBoundLogger]:
    """A logger whose lines are appended to ``path``. Raises ``StoreError`` where that cannot be."""
    try:
        file = path.open("a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise StoreError(f"cannot write the log {path}: {error.strerror}") from error
    with file:
        yield structlog.wrap_logger(
            structlog.WriteLogger(file),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(),
            ],
        )
