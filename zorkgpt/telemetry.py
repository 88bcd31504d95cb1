"""Sends a run to an OpenTelemetry collector, as spans by the GenAI semantic conventions. Needs the extra ``otel``."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from typing_extensions import override

from session import events
from session.errors import ConfigurationError
from session.game_configuration import GameConfiguration

_LOG = logging.getLogger(__name__)
_NANOSECONDS = 1_000_000_000


@contextmanager
def open_spans(configuration: GameConfiguration) -> Iterator[Callable[[events.Event], None]]:
    """Open a listener for the events of a run. Its spans are sent in the background, the last ones on leaving.

    The variables of OpenTelemetry (``OTEL_*``) apply. Raises ``ConfigurationError`` for an impossible value of one.
    """
    about = {"service.name": os.environ.get("OTEL_SERVICE_NAME", "zorkgpt"), "service.version": version("zorkgpt")}
    # The log of the library may quote a key, and would overwrite the live view.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    try:
        provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
        exporter = Exporter()
        provider.add_span_processor(BatchSpanProcessor(exporter))
    except ValueError as error:
        raise ConfigurationError(f"OpenTelemetry cannot be set up from the environment: {error}") from error
    spans = RunSpans(provider.get_tracer("zorkgpt", version("zorkgpt")), configuration)
    try:
        yield spans.show
    finally:
        spans.close()
        exporter.closing = True
        provider.shutdown()


class Exporter(OTLPSpanExporter):
    """Warns once of lost spans. When ``closing``, it gives up after a failure, since each attempt takes a timeout."""

    closing = failing = False

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE if self.closing and self.failing else super().export(spans)
        if result is SpanExportResult.FAILURE and not self.failing:
            _LOG.warning("spans are lost: the collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take them")
        self.failing = result is SpanExportResult.FAILURE
        return result


class RunSpans:
    """Makes spans of a run, its episodes, their turns, and the model calls in these.

    A model call that ended before its turn began (memories, objectives) belongs to the episode. Spans contain no text
    of a model, a story or a person, no address and no key.

    clock: returns nanoseconds since 1970
    """

    def __init__(self, tracer: Tracer, config: GameConfiguration, clock: Callable[[], int] = time.time_ns) -> None:
        self._tracer, self._config, self._clock = tracer, config, clock
        self._run: Span | None = None
        self._episode: Span | None = None
        self._calls: list[tuple[events.ModelAnswered | events.ModelFailed, int]] = []

    def show(self, event: events.Event) -> None:
        """End the spans that end with the event and begin those that begin with it."""
        now = self._clock()
        match event:
            case events.RunStarted(run_id=run_id, story=story, assistance=assistance):
                named = {"run.id": run_id, "story.name": story.name, "story.sha256": story.sha256}
                self._run = self._begin("run", None, now, {**named, "assistance": assistance})
            case events.EpisodeStarted():
                self._episode = self._begin("episode", self._run, now, {"episode": event.episode, "seed": event.seed})
            case events.ModelAnswered() | events.ModelFailed():
                self._calls.append((event, now))
            case events.TurnPlayed(record=record):
                start = now - round(event.seconds * _NANOSECONDS)
                played = {"episode": record.episode, "turn": record.turn, "rejected": len(record.proposals) - 1}
                after = {"score": record.after.score, "location_id": record.after.location_id}
                turn = self._begin("turn", self._episode, start, {**played, **after})
                self._add_calls(lambda end: turn if end > start else self._episode)
                turn.end(now)
            case events.EpisodeEnded():
                counts = {each: getattr(event, each) for each in ("turns", "score", "max_score")}
                self._end(now, {"episode.end": event.end, **counts, "rooms": event.rooms or None})
            case events.RunPaused() | events.RunEnded():
                self._end(now, run_end="done" if isinstance(event, events.RunEnded) else "paused")

    def close(self) -> None:
        """End all open spans. A run that did not end otherwise was cut off."""
        self._end(self._clock(), run_end="cut off")

    def _begin(self, name: str, parent: Span | None, at: int, ours: dict[str, Any], **call: object) -> Span:
        context = Context() if parent is None else set_span_in_context(parent, Context())  # never the current span
        attributes = _named("zorkgpt", ours) | _named("gen_ai", call)
        kind = SpanKind.CLIENT if call else SpanKind.INTERNAL
        return self._tracer.start_span(name, context, kind, attributes, start_time=at)

    def _add_calls(self, parent_at: Callable[[int], Span | None]) -> None:
        for event, end in self._calls:
            role = self._config.role(event.role)
            answered = event if isinstance(event, events.ModelAnswered) else None
            model = (role.model if role.engine == "openai" else None) or (answered.model if answered else None)
            call = {"operation.name": "chat", "provider.name": "openai", "output.type": "json", "request.model": model}
            if answered:
                usage = {"input_tokens": answered.prompt_tokens, "output_tokens": answered.completion_tokens}
                usage = usage | {"cache_read.input_tokens": answered.cached_tokens} if any(usage.values()) else {}
                call |= {"response.model": answered.model, **_named("usage", usage)}
            ours = {"role": event.role, "requests": answered.requests if answered else None}
            start = end - round(event.seconds * _NANOSECONDS)
            span = self._begin(f"chat {model}" if model else "chat", parent_at(end), start, ours, **call)
            if answered is None:
                span.set_attribute("error.type", "_OTHER")
                span.set_status(Status(StatusCode.ERROR))
            span.end(end)
        self._calls.clear()

    def _end(self, now: int, ours: Mapping[str, Any] | None = None, *, run_end: str = "") -> None:
        """End the episode, and also the run if ``run_end`` says how it ended."""
        self._add_calls(lambda _: self._episode or self._run)
        if self._episode is not None:
            self._episode.set_attributes(_named("zorkgpt", ours or {}))
            self._episode.end(now)
            self._episode = None
        if self._run is not None and run_end:
            self._run.set_attribute("zorkgpt.run.end", run_end)
            self._run.end(now)
            self._run = None


def _named(prefix: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes whose values are known, with their full names."""
    return {f"{prefix}.{name}": value for name, value in attributes.items() if value is not None}
