"""Spans go to the collector that the environment names; without one, or without the extra, nothing happens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span
from opentelemetry.sdk.trace.export import SpanExportResult
from typing_extensions import Self

from session.errors import ConfigurationError
from session.events import RunEnded
from session.game_configuration import GameConfiguration
from tests.fixtures.run_events import answered, run_started, turn_played
from zorkgpt.cli.playing import OTEL_ENDPOINT, spans_of
from zorkgpt.telemetry import Exporter


@dataclass(slots=True)
class TraceCollector:
    """Takes OTLP over HTTP at ``endpoint`` while it is open; answers every request with ``status``.

    requests: path, content type and spans of each request so far
    """

    status: int = HTTPStatus.OK
    requests: list[tuple[str, str, list[ResourceSpans]]] = field(default_factory=list)
    _server: ThreadingHTTPServer = field(init=False)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def spans(self) -> list[Span]:
        """All spans of all requests."""
        return [
            span
            for _, _, resources in self.requests
            for resource in resources
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def __enter__(self) -> Self:
        collector = self

        class Door(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = ExportTraceServiceRequest.FromString(body)
                collector.requests.append((self.path, self.headers["Content-Type"], list(request.resource_spans)))
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
                """Tests print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


LOOK_AT_IMPORTS = (
    "import sys; from zorkgpt.cli.playing import spans_of; from session.game_configuration import GameConfiguration\n"
    "with spans_of(GameConfiguration()): print([m for m in sys.modules if m.startswith('opentelemetry')])"
)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[TraceCollector]:
    """The collector that the environment names, with nothing else about spans in the environment."""
    for name in ("OTEL_SERVICE_NAME", "OTEL_SDK_DISABLED", "OTEL_TRACES_SAMPLER"):
        monkeypatch.delenv(name, raising=False)
    with TraceCollector() as collector:
        monkeypatch.setenv(OTEL_ENDPOINT, collector.endpoint)
        yield collector


def show_turns(turns: int) -> None:
    with spans_of(GameConfiguration()) as show:
        show(run_started())
        for turn in range(turns):
            show(answered("named", seconds=0.001, prompt=10))
            show(turn_played(0.002, turn))
        show(RunEnded(episodes=1))


def services(collector: TraceCollector) -> set[str]:
    return {
        attribute.value.string_value
        for _, _, resources in collector.requests
        for resource in resources
        for attribute in resource.resource.attributes
        if attribute.key == "service.name"
    }


def test_every_span_has_reached_the_collector_when_the_block_is_left(collector: TraceCollector) -> None:
    show_turns(600)
    names = sorted({span.name for span in collector.spans})
    assert (len(collector.spans), names) == (1201, ["chat named", "run", "turn"])
    assert {(path, kind) for path, kind, _ in collector.requests} == {("/v1/traces", "application/x-protobuf")}
    tokens = [
        attribute.value.int_value
        for span in collector.spans
        for attribute in span.attributes
        if attribute.key == "gen_ai.usage.input_tokens"
    ]
    assert tokens == [10] * 600
    assert services(collector) == {"zorkgpt"}


def test_the_environment_may_name_the_service_and_what_it_gets_wrong_is_not_quoted_where_it_may_hold_a_key(
    collector: TraceCollector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "my-players")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer sk-nobody-may-see-this")
    show_turns(1)
    assert services(collector) == {"my-players"}
    assert "sk-nobody" not in caplog.text


@pytest.mark.parametrize(("name", "value"), [("OTEL_BSP_MAX_QUEUE_SIZE", "-1"), ("OTEL_BSP_SCHEDULE_DELAY", "0")])
def test_what_cannot_be_is_one_line(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(OTEL_ENDPOINT, "http://127.0.0.1:1")
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=r"OpenTelemetry cannot be set up from the environment: .* positive"):
        show_turns(1)


def test_a_collector_that_takes_nothing_is_warned_of_once_and_by_nobody_else(
    collector: TraceCollector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = 400
    show_turns(1200)
    assert caplog.messages == ["spans are lost: the collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take them"]
    assert collector.requests


@pytest.mark.parametrize(("status", "requests_at_the_end"), [(400, 0), (200, 2)])
def test_a_failing_collector_is_tried_again_and_again_but_not_at_the_end(
    collector: TraceCollector, status: int, requests_at_the_end: int
) -> None:
    collector.status = status
    exporter = Exporter()
    results = [exporter.export(()) for _ in range(2)]
    exporter.closing = True
    results += [exporter.export(()) for _ in range(2)]
    assert set(results) == {SpanExportResult.FAILURE if status == 400 else SpanExportResult.SUCCESS}
    assert len(collector.requests) == 2 + requests_at_the_end


def test_a_run_that_ends_in_an_error_is_sent_too(collector: TraceCollector) -> None:
    with suppress(OSError), spans_of(GameConfiguration()) as show:
        show(run_started())
        raise OSError("the disk is full")
    (span,) = collector.spans
    assert [each.value.string_value for each in span.attributes if each.key == "zorkgpt.run.end"] == ["cut off"]


def test_without_a_collector_nothing_of_opentelemetry_is_even_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OTEL_ENDPOINT, raising=False)
    seen = subprocess.run([sys.executable, "-c", LOOK_AT_IMPORTS], capture_output=True, text=True, check=True)
    assert seen.stdout == "[]\n"


def test_a_collector_without_the_extra_is_warned_of_and_the_run_goes_on(
    collector: TraceCollector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(sys.modules, "zorkgpt.telemetry", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    show_turns(1)
    (message,) = caplog.messages
    assert message.startswith("OTEL_EXPORTER_OTLP_ENDPOINT is set, but no span is sent: `")
    assert "opentelemetry-sdk" in message
    assert collector.requests == []
