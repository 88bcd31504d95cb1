"""Requests to one OpenAI-compatible server over HTTP. No other module sees the HTTP client and its exceptions."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from threading import Event as Flag
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

import httpx2
import openai
from pydantic import BaseModel, JsonValue, SecretStr, ValidationError

from session.errors import ConfigurationError, LanguageModelError, LanguageModelUnavailable, WaitInterrupted
from session.resolved_configuration import is_loopback
from zorkgpt.llm.openai.chat_chunks import ChatChunk, ChatReply, ReplyBuilder, event_payloads, whole_payload
from zorkgpt.llm.openai.connections import RequestTime
from zorkgpt.llm.openai.faults import (
    AnswerCutOff,
    ReplyUnreadable,
    RequestFailed,
    ServerRefuses,
    from_status,
    is_transient,
    server_message,
)
from zorkgpt.llm.openai.hidden_keys import Secrets

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

OPENAI_BASE_URL = "https://api.openai.com/v1"
BASE_URL_MEND = "base URLs usually end in /v1"
_NO_KEY = "none"  # the client requires a key, and would otherwise send another server's from the environment
_CONNECT_SECONDS = 10.0
_LISTING_SECONDS = 10.0
_SHORTEST_SECONDS = 0.001
_SHOWN = 400
_LONGEST_BODY = 16_000_000
"""The most bytes, decompressed, of a response that is not an answer: an error or a list of models."""
_PIECE = 1 << 20  # bytes that are decompressed at a time


class _Model(BaseModel):
    id: str


class _ModelList(BaseModel):
    data: list[_Model]


class ModelServer:
    """A server's base URL and key, and the connections to it.

    stop: set to stop the run; cancels the request in flight
    address: the base URL for display, without user name and password
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
        url = _parsed(base_url or OPENAI_BASE_URL)
        self.address = url._replace(netloc=url.netloc.rpartition("@")[2]).geturl().rstrip("/")
        self.has_key = bool(api_key)
        self._secrets = Secrets([api_key, url.password, *other_keys])
        self._clock = clock
        self._time = RequestTime(clock, stop or Flag())
        connections = openai.DefaultHttpxClient(
            trust_env=not is_loopback(url.hostname),
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [_stay_with_host, _bound_body]},
        )
        self._time.bound(connections)
        self._client = openai.OpenAI(
            base_url=url.geturl(), api_key=_sendable(api_key) or _NO_KEY, max_retries=0, http_client=connections
        )

    def model_names(self) -> list[str]:
        """Return the models that the server lists, in its order. Raises ``LanguageModelError``."""
        self._time.deadline = self._clock() + _LISTING_SECONDS
        with self._without_keys(), _translated("list of models"):
            listed = self._client.get("/models", cast_to=httpx2.Response, options={"timeout": _LISTING_SECONDS})
            _content_type(listed.headers)
            models = _ModelList.model_validate_json(listed.content).data
        return [self._secrets.hidden_in_name(model.id) for model in models]

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

        Raises ``RequestFailed``, ``ServerRefuses``, ``ReplyUnreadable``, ``AnswerTooLong`` or ``WaitInterrupted``.
        """
        self._time.deadline = deadline
        chat = self._client.chat.completions.with_streaming_response
        streams = bool(fields.get("stream"))
        time_left = deadline - self._clock()
        silence = max(min(stall, time_left) if streams else time_left, _SHORTEST_SECONDS)
        timeout = openai.Timeout(silence, connect=min(silence, _CONNECT_SECONDS))
        with (
            self._without_keys(),
            _translated("chat completion"),
            chat.create(model=model, messages=messages, extra_body=dict(fields), timeout=timeout) as response,
        ):
            kind = _content_type(response.headers)
            received = response.iter_bytes()
            is_whole = "json" in kind or not streams
            payloads = [whole_payload(received, longest)] if is_whole else event_payloads(received, longest)
            reply = _summed(payloads, ReplyBuilder(longest, model=model))
        hidden, model = self._secrets.hidden, self._secrets.hidden_in_name(reply.model)
        return replace(reply, text=hidden(reply.text), reasoning=hidden(reply.reasoning), model=model)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @contextmanager
    def _without_keys(self) -> Iterator[None]:
        """Hide keys in a failure, and drop its cause, which may contain them as well."""
        try:
            yield
        except (RequestFailed, ReplyUnreadable) as failure:
            failure.args = (self._secrets.hidden(str(failure))[:_SHOWN],)
            raise failure from None


def served_models(
    base_url: str | None, api_key: SecretStr | None, other_keys: Iterable[SecretStr | None] = ()
) -> tuple[str, ...]:
    """Return the names of the models that a server lists, with one request and a timeout of ten seconds.

    base_url: ``None`` is the client's own default
    other_keys: keys of other servers, also hidden in this server's texts

    Raises ``ConfigurationError`` for an invalid base URL or key, and ``LanguageModelUnavailable`` with the URL and the
    reason if the request fails.
    """
    hidden = [key.get_secret_value() for key in other_keys if key]
    server = ModelServer(base_url, api_key.get_secret_value() if api_key else None, time.monotonic, hidden)
    try:
        return tuple(server.model_names())
    except LanguageModelError as error:
        raise LanguageModelUnavailable(f"{server.address}: {error}") from error
    finally:
        server.close()


class _Body(httpx2.SyncByteStream):
    """The bytes of a response, decompressed in small pieces. Raises ``RequestFailed`` after ``most`` bytes."""

    def __init__(self, inner: httpx2.SyncByteStream, most: float, *, is_compressed: bool) -> None:
        self._inner = inner
        self._left = most
        self._unzip = zlib.decompressobj(zlib.MAX_WBITS | 32) if is_compressed else None  # 32: gzip or zlib

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            for piece in self._pieces(chunk):
                self._left -= len(piece)
                if self._left < 0:
                    raise RequestFailed("the response is too large for an error or a list of models")
                yield piece

    def close(self) -> None:
        self._inner.close()

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        if self._unzip is None:
            yield chunk
            return
        try:
            is_full = True
            while is_full:
                yield (piece := self._unzip.decompress(chunk, _PIECE))
                chunk, is_full = self._unzip.unconsumed_tail, len(piece) == _PIECE
        except zlib.error as error:
            raise RequestFailed("the server's compressed response cannot be decompressed") from error


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
        raise ServerRefuses(
            f"{_place(asked)} redirects to {_place(other)}, which is not the configured server, so nothing is sent; "
            "to use that server, set its base URL"
        )


def _place(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def _bound_body(response: httpx2.Response) -> None:
    """Decompress a response piece by piece, and limit its size unless it is an answer, which has its own limit.

    The client would decompress each chunk as a whole, up to a thousand times its size. Raises ``RequestFailed`` for a
    compression other than gzip and deflate; none is requested.
    """
    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip", "x-gzip", "deflate"}:
        raise RequestFailed(f"the server compresses its response with {encoding}, which was not requested")
    is_answer = response.request.method != "GET" and response.is_success
    assert isinstance(response.stream, httpx2.SyncByteStream)
    most = inf if is_answer else _LONGEST_BODY
    response.stream = _Body(response.stream, most, is_compressed=encoding != "identity")


def _content_type(headers: Mapping[str, str]) -> str:
    """Return the content type of a response. Raises ``RequestFailed`` for that of a web page."""
    kind = headers.get("content-type", "")
    if "html" in kind:
        raise RequestFailed(f"the response is a web page, not a model's answer; {BASE_URL_MEND}", transient=False)
    return kind


@contextmanager
def _translated(expected: str) -> Iterator[None]:
    """Translate the client's exceptions during a request for what ``expected`` names."""
    try:
        yield
    except openai.APIStatusError as error:
        raise from_status(error) from error
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        has_connected = not isinstance(error.__cause__ or error, httpx2.ConnectTimeout)
        raise RequestFailed("the server stopped sending" if has_connected else "the connection timed out") from error
    except openai.APIConnectionError as error:
        cause = error.__cause__
        if isinstance(cause, RequestFailed | ServerRefuses | WaitInterrupted):
            raise cause from None
        hint = ": is the server running there?" if isinstance(cause, httpx2.ConnectError) else ""
        raise RequestFailed(f"no connection ({cause or error}){hint}") from error
    except httpx2.RequestError as error:
        raise AnswerCutOff(f"the connection broke within the answer ({error})") from error
    except (openai.OpenAIError, ValueError) as error:
        raise ReplyUnreadable(f"the server's response cannot be read: it is not a {expected}") from error


def _summed(payloads: Iterable[bytes], builder: ReplyBuilder) -> ChatReply:
    for payload in payloads:
        try:
            chunk = ChatChunk.model_validate_json(payload)
        except ValidationError as error:
            raise ReplyUnreadable("the server's response is not a chat completion") from error
        if chunk.error is not None:
            code = chunk.error.get("code") if isinstance(chunk.error, dict) else None
            status = code if isinstance(code, int) else None
            message = f"within the answer: {server_message(chunk.error) or 'an error without a message'}"
            raise RequestFailed(message, status=status, transient=status is None or is_transient(status))
        builder.add(chunk)
    return builder.reply()


def _parsed(base_url: str) -> SplitResult:
    try:
        url = urlsplit(base_url)
        well_formed = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        well_formed = False
    if not well_formed:
        raise ConfigurationError("the base URL of a model is not of the form http(s)://host[:port]/path")
    return url


def _sendable(api_key: str | None) -> str | None:
    if api_key and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise ConfigurationError("the API key contains invalid characters (a space or a line break?)")
    return api_key
