"""Connects a run's events with OpenTelemetry, where the user asks for it."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from session.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from session.events import Event
    from session.game_configuration import GameConfiguration
    from zorkgpt.telemetry.spans import SpanListener

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_LOG = logging.getLogger(__name__)


@contextmanager
def open_listener(configuration: GameConfiguration) -> Iterator[Callable[[Event], None]]:
    """Open a listener for every event of a run; its spans have been sent when the block is left.

    It does nothing unless the environment names a collector; where it does and the extra ``otel`` is not installed, a
    warning says so. Raises ``ConfigurationError`` for a variable with an impossible value.
    """
    if not os.environ.get(ENDPOINT):
        yield _ignore
        return
    with ExitStack() as stack:
        listener = _listener(configuration, stack)
        yield listener.show if listener else _ignore


def _listener(configuration: GameConfiguration, stack: ExitStack) -> SpanListener | None:
    """Return a listener that is closed with ``stack``; ``None`` without the extra. Raises ``ConfigurationError``."""
    try:
        from zorkgpt.telemetry.export import open_tracer  # noqa: PLC0415  an extra
        from zorkgpt.telemetry.spans import SpanListener  # noqa: PLC0415

        tracer = stack.enter_context(open_tracer())
    except ImportError:
        _LOG.warning("%s is set, but no span is sent: pip install 'zorkgpt[otel]' is needed for that", ENDPOINT)
        return None
    except ValueError as error:
        raise ConfigurationError(f"OpenTelemetry cannot be set up as the environment says: {error}") from error
    listener = SpanListener(tracer, configuration)
    stack.callback(listener.close)
    return listener


def _ignore(event: Event) -> None:
    del event
