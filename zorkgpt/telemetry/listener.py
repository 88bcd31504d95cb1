"""Who is told of a run's events for the sake of OpenTelemetry: nobody, unless the user asks for it."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from session.events import Event
    from session.game_configuration import GameConfiguration

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_LOG = logging.getLogger(__name__)


@contextmanager
def open_listener(configuration: GameConfiguration) -> Iterator[Callable[[Event], None]]:
    """To be told of every event of a run. What it makes spans of has been sent when the block is left.

    It does nothing unless the environment names a collector; where it does and the extra ``otel`` is not installed, a
    warning says so.
    """
    if not os.environ.get(ENDPOINT):
        yield _ignore
        return
    try:
        from zorkgpt.telemetry.export import open_tracer  # noqa: PLC0415  an extra
        from zorkgpt.telemetry.spans import SpanListener  # noqa: PLC0415
    except ImportError:
        _LOG.warning("%s is set, but no span is sent: pip install 'zorkgpt[otel]' is needed for that", ENDPOINT)
        yield _ignore
        return
    with open_tracer() as tracer:
        listener = SpanListener(tracer, configuration)
        try:
            yield listener.show
        finally:
            listener.close()


def _ignore(event: Event) -> None:
    del event
