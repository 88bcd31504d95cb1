"""Connections to a model server that end at a request's deadline, and immediately when the run is stopped.

The client's own timeouts restart with every byte, so a server that sends its header very slowly could block a run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import ExitStack
from functools import partial
from math import inf
from threading import Event as Flag
from threading import Thread
from typing import Any, TypeVar

import httpcore2
import httpx2

from session.errors import WaitInterrupted
from zorkgpt.llm.openai.faults import RequestFailed

_POLL_SECONDS = 0.1
_SHORTEST_SECONDS = 0.001
_Result = TypeVar("_Result", bound=httpcore2.NetworkStream | None)


class RequestTime:
    """The time left for the request in flight.

    clock: seconds, monotonic
    stop: set to stop the run
    deadline: of the request, by ``clock``
    """

    def __init__(self, clock: Callable[[], float], stop: Flag) -> None:
        self.deadline = inf
        self._clock = clock
        self._stop = stop

    def left(self) -> float:
        """Return the seconds left. Raises ``RequestFailed`` after the deadline, ``WaitInterrupted`` after a stop."""
        if self._stop.is_set():
            raise WaitInterrupted("interrupted during a model request")
        left = self.deadline - self._clock()
        if left <= 0:
            raise RequestFailed("the answer took longer than the time limit for one request")
        return left

    def bound(self, client: httpx2.Client) -> None:
        """Apply the limits to all connections of ``client``, including those through a proxy."""
        for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001  httpx has no option for it
            if isinstance(transport, httpx2.HTTPTransport):
                transport._pool._network_backend = _Backend(self)  # noqa: SLF001  the same

    def call(self, blocking: Callable[[], _Result]) -> _Result:
        """Return the result of ``blocking``, which runs in a thread; a result after the deadline is closed."""
        future: Future[_Result] = Future()
        Thread(target=_fulfil, args=(future, blocking), daemon=True).start()
        with ExitStack() as leaving:
            leaving.callback(future.add_done_callback, _close)
            while not wait([future], min(self.left(), _POLL_SECONDS)).done:
                pass
            leaving.pop_all()
        return future.result()


class _Backend(httpcore2.SyncBackend):
    def __init__(self, request_time: RequestTime) -> None:
        self._time = request_time

    def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.NetworkStream:  # noqa: ANN401  passed on
        return _Stream(self._time.call(partial(super().connect_tcp, *args, **options)), self._time)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream, request_time: RequestTime) -> None:
        self._inner = inner
        self._time = request_time

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        silent_at = time.monotonic() + (inf if timeout is None else timeout)
        while True:
            seconds = min(self._time.left(), silent_at - time.monotonic(), _POLL_SECONDS)
            try:
                return self._inner.read(max_bytes, max(seconds, _SHORTEST_SECONDS))
            except httpcore2.ReadTimeout:
                if time.monotonic() >= silent_at:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._time.call(partial(self._inner.write, buffer, timeout))

    def start_tls(self, *args: Any, **options: Any) -> httpcore2.NetworkStream:  # noqa: ANN401  passed on
        return _Stream(self._time.call(partial(self._inner.start_tls, *args, **options)), self._time)

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401  the signature of the base class
        return self._inner.get_extra_info(info)


def _fulfil(future: Future[_Result], blocking: Callable[[], _Result]) -> None:
    try:
        future.set_result(blocking())
    except (httpcore2.NetworkError, httpcore2.TimeoutException, ValueError) as error:
        future.set_exception(error)


def _close(late: Future[Any]) -> None:
    if late.exception() is None and late.result() is not None:
        late.result().close()
