"""Servers on loopback at addresses of the tests' own; what else runs on this computer does not matter."""

from __future__ import annotations

import time
from contextlib import ExitStack
from socket import create_server

import pytest

from session.game_configuration import GameConfiguration
from tests.fixtures.misbehaving_server import Drips, Floods, MisbehavingServer, Says, Silent, Step
from zorkgpt.llm.local_servers import LISTING_SECONDS, unused_server

NOTHING_CONFIGURED = GameConfiguration()


def _closed_port() -> int:
    with create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_the_first_server_that_lists_a_model_is_named_with_the_command_that_uses_it() -> None:
    with ExitStack() as stack:
        empty, other = (
            stack.enter_context(MisbehavingServer(Silent(), models=models)) for models in ((), ("a\x1b[2J:8b\nb", "c"))
        )
        closed = f"http://127.0.0.1:{_closed_port()}/v1"
        addresses = {"Closed": closed, "Empty": empty.base_url, "Other": other.base_url}
        line = unused_server(NOTHING_CONFIGURED, addresses)
        assert line.startswith("A server at the usual address of Other has a\x1b[2J:8b")  # escaped when it is printed
        assert line.endswith(f" run --base-url {other.base_url} plays with it.")
        assert "\n" not in line
        assert (other.listings, other.asked) == (1, [])
        for options in ({"llm": {"engine": "embedded"}}, {"agent_model": "m"}, {"llm": {"base_url": closed}}):
            assert unused_server(GameConfiguration(options), addresses) == ""
        assert other.listings == 1


@pytest.mark.parametrize(
    "listing", [Silent(), Drips(), Says(200, "<html>"), Says(200, {"models": []}), Says(404), Floods(" " * 999)]
)
def test_a_port_that_is_open_but_lists_no_models_delays_a_run_by_half_a_second_at_most(listing: Step) -> None:
    with MisbehavingServer(Silent()) as server:
        server.listing, begun = Says(404), time.monotonic()
        unused_server(NOTHING_CONFIGURED, {"Ollama": server.base_url})
        at_once = time.monotonic() - begun  # mostly to make a client, which takes longer on a busy machine
        server.listing, begun = listing, time.monotonic()
        assert unused_server(NOTHING_CONFIGURED, {"Ollama": server.base_url}) == ""
        assert time.monotonic() - begun < LISTING_SECONDS + max(3, 5 * at_once)


def test_without_a_server_it_takes_a_few_milliseconds() -> None:
    addresses = {name: f"http://127.0.0.1:{_closed_port()}/v1" for name in ("a", "b", "c")}
    seconds = []
    for _ in range(20):
        begun = time.perf_counter()
        assert unused_server(NOTHING_CONFIGURED, addresses) == ""
        seconds.append(time.perf_counter() - begun)
    assert min(seconds) < 0.005
