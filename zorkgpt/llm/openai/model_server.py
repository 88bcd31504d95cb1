"""Requests to one OpenAI-compatible server over HTTP. No other module sees the HTTP client and its exceptions."""

from __future__ import annotations

import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from socket import SHUT_RDWR, socket
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from threading import Event as Flag
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit
from weakref import WeakSet

import httpx2
import openai
from pydantic import JsonValue, SecretStr
from pydantic_core import from_json

from session.errors import LanguageModelError, LanguageModelUnavailable, WaitInterrupted
from session.game_configuration import OPENAI_BASE_URL
from session.resolved_configuration import is_loopback
from zorkgpt.llm.environment import certificates, connection_mend, require_usable_proxies
from zorkgpt.llm.openai.answers import ChatReply, read_reply
from zorkgpt.llm.openai.faults import (
    BASE_URL_MEND,
    AnswerCutOff,
    ReplyUnreadable,
    RequestFailed,
    ServerRefuses,
    failed_sample,
    failure_in,
    from_status,
    require_no_web_page,
    server_message,
)

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_NO_KEY = "none"  # the client requires a key, and would otherwise send another server's from the environment
_CONNECT_SECONDS = 10.0
_LISTING_SECONDS = 10.0
_SHORTEST_SECONDS = 0.001
_POLL_SECONDS = 0.1
_SHOWN = 400
_LONGEST_BODY = 16_000_000
"""The most bytes of a response that is not an answer: an error or a list of models."""
_HIGHEST_RATIO = 1032  # of deflate: one byte becomes at most so many
HIDDEN = "[key]"
_SHORTEST_UNIQUE = 8
"""Characters. A shorter key may be a word, such as ``ollama``, and is hidden only as a whole word."""
_Result = TypeVar("_Result")


_NOT_FOR_CHAT = re.compile(r"embed|rerank|whisper|moderation", re.IGNORECASE)


def first_for_chat(names: Sequence[str]) -> str | None:
    """Return the first of a server's models, without those that are named as models for another purpose, if any."""
    return min(names, key=lambda name: _NOT_FOR_CHAT.search(name) is not None, default=None)


def is_listed(model: str, names: Iterable[str]) -> bool:
    """Return whether a server lists the model, perhaps with a vendor before its name or a tag behind it."""
    return any(name == model or name.endswith(f"/{model}") or name.startswith(f"{model}:") for name in names)


class ModelServer:
    """A server's base URL and key, and the connections to it.

    stop: set to stop the run; cancels the request in flight
    address: the base URL
    other_keys: keys of other servers, also hidden in this server's texts, since it may know them
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        clock: Callable[[], float],
        other_keys: Iterable[str | None] = (),
        stop: Flag | None = None,
    ) -> None:
        self.address = (base_url or OPENAI_BASE_URL).rstrip("/")
        url = urlsplit(self.address)
        self.has_key = bool(api_key)
        self._secrets = Secrets([api_key, *other_keys])
        self._clock = clock
        self._stop = stop or Flag()
        self._worker: Thread | None = None
        self._sockets: WeakSet[socket] = WeakSet()
        self._scheme, self._is_local = url.scheme, is_loopback(url.hostname)
        if not self._is_local:
            require_usable_proxies()
        connections = openai.DefaultHttpxClient(
            trust_env=not self._is_local,
            # Plain HTTP on this computer needs no certificates, and reading those of the system takes a while.
            verify=certificates() if url.scheme == "https" or not self._is_local else SSLContext(PROTOCOL_TLS_CLIENT),
            headers={"Accept-Encoding": "identity"},
            event_hooks={"request": [self._watch], "response": [_stay_with_host, _bound_body]},
        )
        self._client = openai.OpenAI(
            base_url=self.address, api_key=api_key or _NO_KEY, max_retries=0, http_client=connections
        )

    def address_mend(self) -> str:
        """Return what is unusual about the base URL, "" if nothing is."""
        base, endpoint, _ = self.address.partition("/chat/completions")
        if endpoint:
            return f"the base URL ends before {endpoint}: {base}"
        return "" if re.search(r"/v\d\w*(?:/|$)", self.address) else BASE_URL_MEND

    def model_names(self, seconds: float = _LISTING_SECONDS) -> list[str]:
        """Return the models that the server lists, in its order. Raises ``LanguageModelError``, also after the time."""

        def request() -> list[str]:
            listed = self._client.get("/models", cast_to=httpx2.Response, options={"timeout": seconds})
            return _listed_names(listed.content)

        names = self._within(self._clock() + seconds, request, "list of models")
        return [self._secrets.hidden_in_name(name) for name in names]

    def ask(
        self,
        model: str,
        messages: Iterable[ChatCompletionMessageParam],
        fields: Mapping[str, JsonValue],
        *,
        longest: int,
        stall: float,
        deadline: float,
    ) -> ChatReply:
        """Return the model's reply, streamed or whole, with keys hidden.

        fields: the fields of the request other than model and messages
        longest: the most characters that the reply may have
        stall: the longest silence, in seconds; without streaming, only ``deadline`` limits the silence
        deadline: by ``clock``

        Raises ``RequestFailed``, ``ServerRefuses``, ``ResponseInvalid`` or ``WaitInterrupted``.
        """
        streams = bool(fields.get("stream"))
        time_left = deadline - self._clock()
        silence = max(min(stall, time_left) if streams else time_left, _SHORTEST_SECONDS)
        timeout = openai.Timeout(silence, connect=min(silence, _CONNECT_SECONDS))
        chat = self._client.chat.completions.with_streaming_response

        def request() -> ChatReply:
            body = dict(fields)
            with chat.create(model=model, messages=messages, extra_body=body, timeout=timeout) as response:
                return read_reply(response.iter_bytes(), longest, model)

        reply = self._within(deadline, request, "chat completion")
        hidden, name = self._secrets.hidden, self._secrets.hidden_in_name(reply.model)
        return replace(reply, text=hidden(reply.text), reasoning=hidden(reply.reasoning), model=name)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _within(self, deadline: float, request: Callable[[], _Result], expected: str) -> _Result:
        """Return the result of ``request``, which runs in a thread until the deadline or a stop of the run.

        The client's own timeouts restart with every byte, so a server that sends its header very slowly could block a
        run. Raises ``RequestFailed`` after the deadline and ``WaitInterrupted`` after a stop. Keys are hidden in every
        failure. Its cause may contain them as well and is dropped.
        """
        future: Future[_Result] = Future()

        def fulfil() -> None:
            try:
                future.set_result(request())
            except (LanguageModelError, openai.OpenAIError, httpx2.RequestError, ValueError) as error:
                failure = self._translated(error, expected)
                failure.args = (self._secrets.hidden(str(failure))[:_SHOWN],)
                failure.__cause__ = None
                future.set_exception(failure)
            except RuntimeError as error:  # the client was closed meanwhile
                future.set_exception(error)

        worker = self._worker = Thread(target=fulfil, daemon=True)
        worker.start()
        try:
            while worker.is_alive():
                if self._stop.is_set():
                    raise WaitInterrupted("interrupted during a model request")
                left = deadline - self._clock()
                if left <= 0:
                    raise RequestFailed("the answer took longer than the time limit for one request")
                worker.join(min(left, _POLL_SECONDS))
        finally:
            self._worker = None
            if worker.is_alive():
                for each in list(self._sockets):
                    with suppress(OSError):  # closed already
                        each.shutdown(SHUT_RDWR)
        return future.result(timeout=0)

    def _translated(self, error: Exception, expected: str) -> LanguageModelError:
        """Return the client's error during a request for ``expected`` as one of ours."""
        cause = error.__cause__ or error
        failure: LanguageModelError
        match error:
            case LanguageModelError():
                failure = error
            case openai.APIStatusError():
                failure = from_status(error)
                failure = failed_sample(error.body, str(failure)) or failure
            case openai.APITimeoutError() | httpx2.TimeoutException():
                has_connected = not isinstance(cause, httpx2.ConnectTimeout)
                failure = RequestFailed("the server stopped sending" if has_connected else "the connection timed out")
            case openai.APIConnectionError() if isinstance(cause, LanguageModelError):
                failure = cause
            case openai.APIConnectionError():
                is_trusted = "CERTIFICATE_VERIFY_FAILED" not in str(cause)
                mend = ""
                if isinstance(cause, httpx2.ConnectError | httpx2.ProxyError):
                    mend = connection_mend("" if self._is_local else self._scheme, str(cause))
                failure = RequestFailed(f"no connection ({cause}){mend}", transient=is_trusted)
            case httpx2.RequestError():
                failure = AnswerCutOff(f"the connection broke within the answer ({error})")
            case _:
                failure = ReplyUnreadable(f"the server's response cannot be read: it is not a {expected}")
        return failure

    def _watch(self, request: httpx2.Request) -> None:
        """Note each new connection for a request. It is closed if the thread of the request was given up."""

        def trace(event: str, about: Mapping[str, Any]) -> None:
            if event.endswith(("connect_tcp.complete", "start_tls.complete")):
                stream = about["return_value"]
                if current_thread() is not self._worker:
                    stream.close()
                    raise RequestFailed("the request was given up")
                self._sockets.add(stream.get_extra_info("socket"))

        request.extensions["trace"] = trace


def served_models(
    base_url: str | None,
    api_key: SecretStr | None,
    other_keys: Iterable[SecretStr | None] = (),
    *,
    seconds: float = _LISTING_SECONDS,
) -> tuple[str, ...]:
    """Return the names of the models that a server lists, with one request that takes at most so many seconds.

    base_url: ``None`` is the client's own default
    other_keys: keys of other servers, also hidden in this server's texts

    Raises ``LanguageModelUnavailable`` with the URL and the reason if the request fails.
    """
    hidden = [key.get_secret_value() for key in other_keys if key]
    server = ModelServer(base_url, api_key.get_secret_value() if api_key else None, time.monotonic, hidden)
    try:
        return tuple(server.model_names(seconds))
    except LanguageModelError as error:
        raise LanguageModelUnavailable(f"{server.address}: {error}") from error
    finally:
        server.close()


class _Body(httpx2.SyncByteStream):
    """The bytes of a response that is not an answer. Raises ``RequestFailed`` if there are too many."""

    def __init__(self, inner: httpx2.SyncByteStream, longest: int) -> None:
        self._inner = inner
        self._longest = longest

    def __iter__(self) -> Iterator[bytes]:
        length = 0
        for chunk in self._inner:
            length += len(chunk)
            if length > self._longest:
                raise RequestFailed("the response is too large for an error or a list of models")
            yield chunk

    def close(self) -> None:
        self._inner.close()


def _bound_body(response: httpx2.Response) -> None:
    """Limit the size of a response unless it is an answer, which has its own limit.

    Raises ``RequestFailed`` for a compression other than deflate, once: its ratio is not bounded. None is requested.
    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip", "deflate"}:
        raise RequestFailed(f"the server compresses its response with {encoding}, which was not requested")
    if response.request.method == "GET" or not response.is_success:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        longest = _LONGEST_BODY if encoding == "identity" else _LONGEST_BODY // _HIGHEST_RATIO
        response.stream = _Body(response.stream, longest)


def _stay_with_host(response: httpx2.Response) -> None:
    """Follow a redirect only to the same origin or its HTTPS port, because the prompts are sent along.

    Raises ``ServerRefuses`` for any other redirect.
    """
    if not response.has_redirect_location:
        return
    asked = response.request.url
    other = asked.join(response.headers["location"])
    is_same = (asked.scheme, asked.host, asked.port) == (other.scheme, other.host, other.port)
    is_upgrade = asked.host == other.host and (asked.scheme, asked.port, other.scheme) == ("http", None, "https")
    if not is_same and not (is_upgrade and other.port is None):
        here, there = (f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}" for url in (asked, other))
        raise ServerRefuses(
            f"{here} redirects to {there}, which is not the configured server, so nothing is sent; "
            "to use that server, set its base URL"
        )


def _listed_names(body: bytes) -> list[str]:
    """Return the names in a list of models: an object with a list, or the list alone. Entries without one are left out.

    Raises ``RequestFailed``, ``ReplyUnreadable``, or ``ValueError`` if it is not JSON.
    """
    require_no_web_page(body)
    models = from_json(body.removeprefix(b"\xef\xbb\xbf"))
    if isinstance(models, dict):
        if "data" not in models and server_message(models):
            raise failure_in(models)
        models = (models["data"] or []) if "data" in models else models.get("models") or None
    if not isinstance(models, list):
        raise ReplyUnreadable("the server's response cannot be read: it is not a list of models")
    names = [model.get("id") if isinstance(model, dict) else model for model in models]
    return [name for name in names if isinstance(name, str) and name.strip()]


class Secrets:
    """Keys that must not be shown, in every encoding that a text of a server may use."""

    def __init__(self, keys: Iterable[str | None]) -> None:
        given = {key for key in keys if key}
        unique = {key for key in given if len(key) >= _SHORTEST_UNIQUE}
        forms = sorted({form for key in unique for form in _forms(key)}, key=len, reverse=True)
        words = [rf"(?<!\w){_spelt(key)}(?!\w)" for key in sorted(given - unique)]
        self._in_names = [_spelt(form) for form in forms]
        self._in_texts = [*self._in_names, *words]

    def hidden(self, text: str) -> str:
        """Return ``text`` with ``[key]`` for every key: plain, percent-encoded, in Base64 or in JSON escapes."""
        return _replaced(self._in_texts, text)

    def hidden_in_name(self, name: str) -> str:
        """Return the name of a model without keys; one like ``ollama/llama3`` may contain a short key and keeps it."""
        return _replaced(self._in_names, name)


def _replaced(patterns: list[str], text: str) -> str:
    return re.sub("|".join(patterns), HIDDEN, text) if patterns else text


def _forms(key: str) -> Iterator[str]:
    yield key
    yield quote(key, safe="")
    for before in range(3):
        # The text before the key shifts it within Base64's groups of three bytes; only whole groups are predictable.
        encoded = b64encode(bytes(before) + key.encode()).decode().rstrip("=")
        whole = encoded[-(-before * 8 // 6) : (before + len(key.encode())) * 8 // 6]
        yield whole
        yield whole.replace("+", "-").replace("/", "_")


def _spelt(form: str) -> str:
    """Return a pattern for ``form`` in which any character may be an escape of JSON."""
    return "".join(rf"(?:\\?{re.escape(each)}|\\u(?i:{ord(each):04x}))" for each in form)
