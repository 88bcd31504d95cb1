"""The log of a run: one JSON object per line; errors also go to ``logging``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NoReturn

import structlog
from pydantic import BaseModel, ValidationError
from structlog.typing import EventDict, FilteringBoundLogger

from session.errors import reported_as
from session.files.shared_files import open_to_append
from session.values import Role

_PROGRAM = logging.getLogger("zorkgpt")
_SCREEN = logging.getLogger("zorkgpt.run")
_MODELS = logging.getLogger("zorkgpt.llm")


class Activity(BaseModel):
    """A log entry about the current activity: which model is called, or why a call is retried."""

    timestamp: datetime
    event: str
    role: Role | None = None
    logger: str = ""


def activity_in(line: bytes) -> Activity | None:
    """Return the activity in a line of the log, ``None`` if it is about something else."""
    try:
        activity = Activity.model_validate_json(line)
    except ValidationError:
        return None
    return activity if activity.role is not None or activity.logger.startswith(_MODELS.name) else None


@contextmanager
def open_log(path: Path, *, prints_errors: bool = True) -> Iterator[FilteringBoundLogger]:
    """Open a logger that appends its lines to ``path``. Raises ``StoreError``.

    With ``prints_errors``, errors also go to ``logging``, as one line without details. The file also gets the program's
    warnings from ``logging`` and the reasons for retries.

    Later write errors are ignored: everything that a run needs is in its journal, whose write errors end the run, and
    logging often happens while another error is handled.
    """
    with reported_as(f"cannot write the log {path}"):
        file = open_to_append(path)
    render = structlog.processors.JSONRenderer()

    def write(logger: object, level: str, event: EventDict) -> NoReturn:
        if level == "error" and prints_errors:
            _SCREEN.error("%s: %s", event["event"], event.get("error", "see the log"))
        with suppress(OSError):
            file.write(str(render(logger, level, event)).encode("utf-8", "backslashreplace") + b"\n")
        raise structlog.DropEvent

    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    log = structlog.wrap_logger(None, processors=[structlog.processors.add_log_level, stamp, write])
    forward = _Forward(log)
    _PROGRAM.addHandler(forward)
    level = _MODELS.level
    _MODELS.setLevel(logging.INFO)
    try:
        yield log
    finally:
        _MODELS.setLevel(level)
        _PROGRAM.removeHandler(forward)
        with suppress(OSError):
            file.close()


class _Forward(logging.Handler):
    """Writes the program's ``logging`` records to the run's log."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        super().__init__(logging.INFO)
        self._log = log
        self.addFilter(lambda record: record.name != _SCREEN.name)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the message with the name of its module."""
        tell = self._log.info if record.levelno < logging.WARNING else self._log.warning
        tell(record.getMessage(), logger=record.name)
