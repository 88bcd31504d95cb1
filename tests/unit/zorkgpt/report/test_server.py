"""A served report answers only its own computer, on two unguessable paths, and accepts no data."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse

import pytest

from session.errors import ConfigurationError
from tests.fixtures.report_data import data_in
from zorkgpt.report.server import ReportServer

FIRST, SECOND = b'{"format":1}', b'{"format":2}'


@pytest.fixture
def server() -> Iterator[ReportServer]:
    with ReportServer(0, FIRST) as running:
        yield running


def answer(
    server: ReportServer, name: str = "", method: str = "GET", *, path: str = "", **headers: str
) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path or f"/{server.word}/{name}", headers=headers)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_the_page_has_the_data_and_follows(server: ReportServer) -> None:
    response, page = answer(server)
    assert (response.status, response.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert data_in(page.decode()) == {"format": 1}
    assert b' data-follow="report.json"' in page
    assert "Access-Control-Allow-Origin" not in response.headers


def test_data_are_given_once_and_again_when_there_is_news(server: ReportServer) -> None:
    response, data = answer(server, "report.json")
    mark = response.headers["ETag"]
    assert (response.status, gzip.decompress(data)) == (200, FIRST)
    assert answer(server, "report.json", **{"If-None-Match": mark})[0].status == 304
    server.content = SECOND
    response, data = answer(server, "report.json", **{"If-None-Match": mark})
    assert (response.status, gzip.decompress(data)) == (200, SECOND)


@pytest.mark.parametrize("path", ["/", "/report.json", "/word/", "/../", "/%2e%2e/", "/%ff/"])
def test_no_other_path_is_answered(server: ReportServer, path: str) -> None:
    assert answer(server, path=path)[0].status == 404
    assert answer(server, "../report.json")[0].status == 404
    assert answer(server, "other")[0].status == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example"])
def test_a_request_for_another_host_is_refused(server: ReportServer, host: str) -> None:
    assert answer(server, Host=host)[0].status == 421
    assert answer(server, Host=f"localhost:{server.port}")[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_nothing_can_be_written(server: ReportServer, method: str) -> None:
    assert answer(server, method=method)[0].status == 501


def test_it_listens_on_loopback_alone_and_a_port_that_is_taken_is_an_error_in_one_line(server: ReportServer) -> None:
    assert server.socket.getsockname() == ("127.0.0.1", server.port)
    with pytest.raises(ConfigurationError, match=rf"^--port {server.port}: cannot listen on 127\.0\.0\.1: "):
        ReportServer(server.port, FIRST)


def test_a_client_that_says_nothing_keeps_nobody_waiting(server: ReportServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)):
        assert answer(server)[0].status == 200
