"""The log of a run: one JSON object a line, beside its journal."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

import structlog

from session.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from structlog.typing import FilteringBoundLogger


@contextmanager
def open_log(path: Path) -> Iterator[FilteringBoundLogger]:
    """A logger whose lines are appended to ``path``. Raises ``StoreError`` where that cannot be.

    Once it is open, a line that the disk refuses is lost: what a run cannot do without is in its journal, whose
    refusal does end the run, and logging often happens while another error is on its way.
    """
    try:
        file = path.open("ab", buffering=0)
    except OSError as error:
        raise StoreError(f"cannot write the log {path}: {error.strerror}") from error
    try:
        yield structlog.wrap_logger(
            _Lines(file),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(),
            ],
        )
    finally:
        with suppress(OSError):
            file.close()


class _Lines:
    """What structlog writes to: each message is a line of ``file``, or lost."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def msg(self, message: str) -> None:
        with suppress(OSError):
            self._file.write(message.encode("utf-8", "backslashreplace") + b"\n")

    debug = info = warning = warn = error = exception = critical = fatal = log = msg
