"""``zorkgpt mcp --http``: clients on this computer, and with a token on others, but no page of a browser."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import anyio
import httpx2
import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.episodes.test_mcp_command import called
from tests.fixtures.command_line import COMMAND, environment, ran
from zorkgpt.api import read_run

pytestmark = pytest.mark.slow
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPTED = {"accept": "application/json, text/event-stream"}


@contextmanager
def serving(
    folder: Path, address: str, ended_by: signal.Signals = signal.SIGINT, **more: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The server's URL, and its process, which is ended by a signal."""
    command = [*COMMAND, "mcp", "--workdir", "work", "--max-turns", "3", "--http", address]
    with subprocess.Popen(command, cwd=folder, env=environment(**more), stderr=PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+/mcp", process.stderr.readline())
        assert found is not None
        try:
            yield found[0], process
        finally:
            process.send_signal(ended_by)
            assert process.wait(60) == 130
            assert set(process.stderr.read().splitlines()) <= {"zorkgpt: Invalid Host header: example.org"}


def status_of(url: str, **headers: str) -> int:
    encoded = {name.encode(): value.encode() for name, value in (ACCEPTED | headers).items()}
    return httpx2.post(url, json=PING, headers=encoded, trust_env=False).status_code


@pytest.mark.parametrize(
    ("address", "ended_by"),
    [("127.0.0.1:0", signal.SIGINT), ("localhost:0", signal.SIGTERM), ("127.0.0.1:0", signal.SIGHUP)],
)
def test_two_clients_play_the_same_run_one_after_the_other_and_it_is_paused_in_the_end(
    tmp_path: Path, address: str, ended_by: signal.Signals
) -> None:
    async def play(url: str, command: str) -> str:
        async with Client(url) as client:
            return await called(client, "act", command=command)

    with serving(tmp_path, address, ended_by) as (url, _):
        assert "Forecourt" in anyio.run(play, url, "north")
        assert "Hall" in anyio.run(play, url, "north")
    summary = read_run(workdir=tmp_path / "work").summary
    assert (summary.state, summary.turns) == ("paused", 2)


def test_pages_from_elsewhere_and_other_names_of_this_computer_are_refused(tmp_path: Path) -> None:
    with serving(tmp_path, "127.0.0.1:0") as (url, _):
        ours = url.removesuffix("/mcp")
        assert status_of(url, origin="https://example.org") == 403
        assert status_of(url, origin=ours.replace("127.0.0.1", "localhost")) == 403
        assert status_of(url, origin="null") == 403
        assert status_of(url, host="example.org") == 421
        assert status_of(url, host="example.org", origin="http://example.org") == 421
        assert status_of(url) == status_of(url, origin=ours)
        assert status_of(url) < 403
        half = '{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}'
        sent = httpx2.post(url, content=half, headers=ACCEPTED | {"content-type": "application/json"}, trust_env=False)
        assert 400 <= sent.status_code < 500


def test_with_a_token_other_computers_may_play_and_nobody_without_it(tmp_path: Path) -> None:
    async def play(url: str) -> str:
        async with (
            httpx2.AsyncClient(headers={b"authorization": "Bearer sésame".encode()}, trust_env=False) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return await called(client, "situation")

    with serving(tmp_path, "0.0.0.0:0", ZORKGPT_MCP_TOKEN="sésame\n") as (url, _):
        there = url.replace("0.0.0.0", "127.0.0.1")
        for wrong in (
            {},
            {"authorization": "Bearer open"},
            {"authorization": "sésame"},
            {"authorization": "Bearer se\u0301same"},
        ):
            assert status_of(there, **wrong) == 401
        assert status_of(there, authorization="Bearer sésame", origin="https://example.org") == 403
        assert "Causeway" in anyio.run(play, there)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("0.0.0.0:8765", "set ZORKGPT_MCP_TOKEN"),
        ("[::]:8765", "set ZORKGPT_MCP_TOKEN"),
        ("example.org:8765", "set ZORKGPT_MCP_TOKEN"),
        ("8765", "expected HOST:PORT"),
        (":8765", "expected HOST:PORT"),
        ("127.0.0.1:99999", "expected HOST:PORT"),
        ("127.0.0.1:http", "expected HOST:PORT"),
        ("127.0.0.1:1", "cannot be used: "),
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(tmp_path: Path, address: str, words: str) -> None:
    if address == "127.0.0.1:1":
        with serving(tmp_path, "127.0.0.1:0") as (url, _):
            wrong = ran(tmp_path, "mcp", "--http", url.removeprefix("http://").removesuffix("/mcp"))
    else:
        wrong = ran(tmp_path, "mcp", "--http", address)
    assert (wrong.status, wrong.out, len(wrong.lines)) == (2, b"", 1)
    assert words in wrong.lines[0]
