"""Limits and interruptions hold for every part of a request, from the connection on."""

from __future__ import annotations

import gzip
import json
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import count
from threading import Event as Flag
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from session.errors import LanguageModelUnavailable, WaitInterrupted
from session.game_configuration import LanguageModelOptions, RoleOptions
from tests.fixtures.misbehaving_server import (
    CONTINUES,
    Compressed,
    Drips,
    Handler,
    Header,
    MisbehavingServer,
    Says,
    Silent,
    Step,
    Streams,
)
from tests.unit.zorkgpt.llm.asking import GOOD, MOVE, Move, ask, failure, model_on, outcome
from zorkgpt.llm.openai.model_server import HIDDEN, Secrets
from zorkgpt.llm.openai.openai_model import OpenAIModel

if TYPE_CHECKING:
    Listener = Callable[[], AbstractContextManager[str]]

LONG = LanguageModelOptions(timeout=600.0, stall_timeout=600.0, total_time=600.0, patience=0.0)
BRIEF = LanguageModelOptions(timeout=0.3, stall_timeout=600.0, total_time=600.0, patience=0.0)
UNENDING = {"a dripping header": Header(), "interim responses": CONTINUES, "a dripping body": Drips()}


def model_at(base_url: str, limits: LanguageModelOptions, stop: Flag | None = None) -> OpenAIModel:
    return OpenAIModel({"agent": RoleOptions("named", base_url, limits=limits)}, stop=stop)


class Stops:
    """Sets ``stop``, then does what ``step`` does."""

    def __init__(self, step: Step) -> None:
        self.stop = Flag()
        self._step = step

    def play(self, handler: Handler) -> None:
        self.stop.set()
        self._step.play(handler)


@contextmanager
def full_listener() -> Iterator[str]:
    """The base URL of a port that answers no connection: its queue is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


@contextmanager
def silent_listener() -> Iterator[str]:
    """The base URL of a port that takes a connection and never begins with TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/v1"


@pytest.mark.parametrize("step", UNENDING.values(), ids=UNENDING.keys())
def test_the_time_for_one_request_holds_for_a_server_that_never_falls_silent(step: Step) -> None:
    ticking = count()
    too_long = "longer than the time limit for one request"
    with MisbehavingServer(step) as server:
        with model_at(server.base_url, BRIEF) as model, pytest.raises(LanguageModelUnavailable, match=too_long):
            ask(model)
        server.listing = step
        settings = RoleOptions(base_url=server.base_url, limits=LONG)
        with (
            OpenAIModel({"agent": settings}, clock=lambda: float(next(ticking))) as model,
            pytest.raises(LanguageModelUnavailable, match=too_long),
        ):
            model.find_names()


@pytest.mark.parametrize("step", [*UNENDING.values(), Silent(), Streams((MOVE[:9],), ending="stall")])
def test_a_run_that_is_stopped_cancels_the_request_in_flight(step: Step) -> None:
    stops = Stops(step)
    with (
        MisbehavingServer(stops) as server,
        model_at(server.base_url, LONG, stops.stop) as model,
        pytest.raises(WaitInterrupted, match="interrupted during a model request"),
    ):
        ask(model)


def test_a_server_notices_that_its_answer_is_no_longer_wanted() -> None:
    noticed = Flag()

    class Listens:
        def play(self, handler: Handler) -> None:
            if handler.rfile.read(1) == b"":
                noticed.set()

    stops = Stops(Listens())
    with MisbehavingServer(stops) as server, model_at(server.base_url, LONG, stops.stop) as model:
        with pytest.raises(WaitInterrupted):
            ask(model)
        assert noticed.wait(5.0)


@pytest.mark.parametrize("listener", [full_listener, silent_listener])
def test_a_connection_is_waited_for_until_the_run_is_stopped_or_the_time_for_one_request_is_over(
    listener: Listener,
) -> None:
    stop = Flag()
    stop.set()
    with listener() as base_url:
        with model_at(base_url, LONG, stop) as model, pytest.raises(WaitInterrupted):
            ask(model)
        with (
            model_at(base_url, BRIEF) as model,
            pytest.raises(LanguageModelUnavailable, match=r"the connection timed out|longer than the time"),
        ):
            ask(model)


def test_the_limits_hold_for_a_server_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with MisbehavingServer(Header()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url.removesuffix("/v1"))
        with (
            model_at("http://somewhere.invalid/v1", BRIEF) as model,
            pytest.raises(LanguageModelUnavailable, match="longer than the time limit for one request"),
        ):
            ask(model)
    assert len(proxy.asked) == 1


@pytest.mark.parametrize(
    ("status", "kind", "start"),
    [
        (400, "application/json", b'{"error": {"message": "'),
        (200, "application/json", b'{"choices": [{"message": {"content": "'),
        (200, "text/event-stream", b'data: {"choices": [{"delta": {"content": "'),
    ],
    ids=["error", "answer", "stream"],
)
def test_a_small_compressed_response_that_becomes_large_is_not_read_whole(status: int, kind: str, start: bytes) -> None:
    bomb = Compressed(status, gzip.compress(start + b"x" * 64_000_000), kind=kind)
    limits = LanguageModelOptions(patience=0.0, max_attempts=1, max_answer_length=100_000)
    tracemalloc.start()
    failed = failure(bomb, limits=limits)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ("too large for an error" if status == 400 else "longer than 100,000 characters") in failed.line
    assert most < 32_000_000


def test_no_compressed_answer_is_requested_but_one_is_read_all_the_same() -> None:
    event = {"choices": [{"delta": {"content": MOVE}}]}
    answer = gzip.compress(f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode())
    asked = outcome(Compressed(200, answer, kind="text/event-stream"))
    assert asked.completions[0].value.action == "light lamp"
    assert asked.server.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (Compressed(400, gzip.compress(b'{"error": "too odd"}')), "400: too odd"),
        (Compressed(400, b"no gzip at all"), "incorrect header check"),
        (Compressed(200, b"oops", "br"), "compresses its response with br, which was not requested"),
        (
            Compressed(400, gzip.compress(gzip.compress(bytes(64_000_000))), "gzip, gzip"),
            "response with gzip, gzip, which",
        ),
    ],
)
def test_a_compressed_response_that_is_no_answer_ends_in_one_line(step: Step, line: str) -> None:
    assert line in failure(step, kind=LanguageModelUnavailable, limits=LanguageModelOptions(patience=0.0)).line


KEY = "sk-planted/0123456789+abc"
SECRETS = Secrets([KEY, None])


@pytest.mark.parametrize(
    "spelt",
    [
        KEY,
        quote(KEY, safe=""),
        json.dumps(KEY).replace("/", "\\/"),
        "".join(f"\\u{ord(each):04X}" for each in KEY),
        f"\\u{ord(KEY[0]):04x}{KEY[1:]}",
    ],
)
def test_a_key_is_hidden_however_it_is_spelt(spelt: str) -> None:
    assert SECRETS.hidden(f"before {spelt} after").replace('"', "") == f"before {HIDDEN} after"


@pytest.mark.parametrize("key", ["ollama", "EMPTY"])
def test_a_short_key_is_hidden_as_a_whole_word_alone(key: str) -> None:
    secrets = Secrets([key])
    for before, after in (("Incorrect key: ", "."), ('{"api_key": "', '"}'), ("Bearer ", ""), ("key=", "&a=1")):
        assert secrets.hidden(f"{before}{key}{after}") == f"{before}{HIDDEN}{after}"
    unchanged = f"x{key} {key}s {key.swapcase()} {key}_1"
    assert secrets.hidden(unchanged) == Secrets([None, ""]).hidden(unchanged) == unchanged


def test_a_model_whose_name_contains_a_placeholder_key_is_requested_by_its_name() -> None:
    (body,) = outcome(GOOD, models=("ollama/llama3",), model=None, api_key="ollama").bodies
    assert body["model"] == "ollama/llama3"


class Echoes:
    """Puts the ``Authorization`` header into the status line, which is then no status line."""

    def play(self, handler: Handler) -> None:
        handler.wfile.write(f"HTTP/1.1 {handler.headers['Authorization']}\r\n\r\n".encode())


def test_an_answer_that_repeats_the_key_comes_without_it() -> None:
    answer = Move(reasoning=f"My key is {KEY}.", action=KEY).model_dump_json()
    half = len(answer) - 8
    thoughts = f'data: {{"model": "{KEY}", "choices": [{{"delta": {{"reasoning": "Hm, {KEY}."}}}}]}}\n\n'
    (completion,) = outcome(Streams((answer[:half], answer[half:]), more_events=(thoughts,)), api_key=KEY).completions
    assert completion.value == Move(reasoning=f"My key is {HIDDEN}.", action=HIDDEN)
    assert completion.reasoning == f"Hm, {HIDDEN}."
    assert KEY not in repr(completion)


@pytest.mark.parametrize(
    "step",
    [Echoes(), Says(200, KEY), Says(200, {"error": {"message": KEY}}), *(Says(code, KEY) for code in (401, 404, 429))],
    ids=["no status line", "no JSON", "error in the answer", "401", "404", "429"],
)
def test_neither_an_error_nor_what_it_came_from_repeats_the_key(step: Echoes | Says) -> None:
    error: BaseException | None = failure(step, models=(KEY,), api_key=KEY).error
    while error is not None:
        assert KEY not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_a_model_that_is_named_like_the_key_is_not_called_by_it() -> None:
    with MisbehavingServer(Says(500), models=(KEY,)) as server, model_on(server, model=None, api_key=KEY) as model:
        model.find_names()
    assert (model.names(), model.servers()) == ((HIDDEN,), (server.base_url,))
