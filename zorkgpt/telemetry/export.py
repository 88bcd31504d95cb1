"""Sends spans to an OpenTelemetry collector by HTTP."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Tracer

_LOG = logging.getLogger(__name__)
_LIBRARY_LOG = logging.getLogger("opentelemetry")


@contextmanager
def open_tracer() -> Iterator[Tracer]:
    """Open a tracer whose ended spans are sent in the background, the last ones before the block is left.

    The environment says where to and how (``OTEL_EXPORTER_OTLP_*``, ``OTEL_RESOURCE_ATTRIBUTES``, ...). A collector
    that cannot be reached is warned of once, and waited for no longer than one request may take. Raises ``ValueError``
    for a variable with an impossible value.
    """
    release = version("zorkgpt")
    name = os.environ.get("OTEL_SERVICE_NAME", "zorkgpt")
    with _without_library_log():
        resource = Resource.create({"service.name": name, "service.version": release})
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = Exporter()
        provider.add_span_processor(BatchSpanProcessor(exporter))
        try:
            yield provider.get_tracer("zorkgpt", release)
        finally:
            exporter.closing = True
            provider.shutdown()


class Exporter(SpanExporter):
    """Sends spans by OTLP. Once it is ``closing`` it gives up after a failure: each try would wait as long."""

    def __init__(self) -> None:
        self.closing = False
        self._inner = OTLPSpanExporter()
        self._failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans; what the collector does not take is lost, with a warning for the first of several losses."""
        if self.closing and self._failing:
            return SpanExportResult.FAILURE
        result = self._inner.export(spans)
        failing = result is not SpanExportResult.SUCCESS
        if failing and not self._failing:
            _LOG.warning("spans are lost: the collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take them")
        self._failing = failing
        return result

    def shutdown(self) -> None:
        """Close the connection."""
        self._inner.shutdown()  # type: ignore[no-untyped-call]


@contextmanager
def _without_library_log() -> Iterator[None]:
    """Silence OpenTelemetry's own log, which would run over the screen of a watched run and may quote a key."""
    level = _LIBRARY_LOG.level
    _LIBRARY_LOG.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        _LIBRARY_LOG.setLevel(level)
