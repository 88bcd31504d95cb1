"""Reads a chat completion, sent whole or as a stream of events, and builds the reply from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, JsonValue, ValidationError, WrapValidator

from session.errors import ResponseInvalid
from zorkgpt.llm.language_model import TokenUsage
from zorkgpt.llm.openai.faults import ReplyUnreadable

MOST_TOKENS = 10**9  # in any request
_WRITTEN = 8
"""The most bytes on the wire for one character of an answer, with JSON escapes and syntax."""
_FIELDS = frozenset({b"", b"data", b"error", b"event", b"id", b"retry"})
"""Field names of an event. A comment has an empty name; ``error`` is an extension of llama.cpp."""


class AnswerTooLong(ResponseInvalid):
    """The answer is longer than its limit and was not read to its end."""


def _or_missing(value: object, validate: Callable[[object], object]) -> object:
    try:
        return validate(value)
    except ValidationError:
        return None


_OrMissing = WrapValidator(_or_missing)
"""Marks an optional field: an invalid value counts as missing and does not make the answer fail."""
_Count = Annotated[int | None, _OrMissing]


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(BaseModel):
    delta: _Message | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _PromptDetails(BaseModel):
    cached_tokens: _Count = None


class _Usage(BaseModel):
    prompt_tokens: _Count = None
    completion_tokens: _Count = None
    prompt_tokens_details: Annotated[_PromptDetails | None, _OrMissing] = None


class _Timings(BaseModel):
    """llama.cpp's own token counts, sent even without ``usage``."""

    prompt_n: _Count = None
    predicted_n: _Count = None
    cache_n: _Count = None


class ChatChunk(BaseModel):
    """One event of a streamed completion, or a whole completion; unused fields are ignored."""

    model: str | None = None
    choices: list[_Choice] = []
    usage: Annotated[_Usage | None, _OrMissing] = None
    timings: Annotated[_Timings | None, _OrMissing] = None
    error: JsonValue = None


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The result of one request.

    text: the model's text, unchanged; a refusal counts as text
    reasoning: the server's own field; tags in ``text`` are not read
    cut: the server stopped the answer at a token limit
    usage: zeros if the server does not count tokens
    """

    text: str
    reasoning: str
    model: str
    usage: TokenUsage
    cut: bool


@dataclass(slots=True)
class ReplyBuilder:
    """Builds a reply from its chunks.

    longest: the most characters that the reply may have, reasoning included
    """

    longest: int
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    model: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    finish_reason: str | None = None
    _length: int = 0

    def add(self, chunk: ChatChunk) -> None:
        """Add a chunk; only its first choice is read. Raises ``AnswerTooLong``."""
        self.model = chunk.model or self.model
        self.usage = _usage(chunk) or self.usage
        for choice in chunk.choices[:1]:
            self.finish_reason = choice.finish_reason or self.finish_reason
            message = choice.delta or choice.message or _Message()
            self._append(self.text, (message.content or "") + (message.refusal or ""))
            self._append(self.reasoning, message.reasoning_content or message.reasoning or "")

    def reply(self) -> ChatReply:
        """Return the reply received so far."""
        return ChatReply(
            text="".join(self.text),
            reasoning="".join(self.reasoning).strip(),
            model=self.model,
            usage=self.usage,
            cut=self.finish_reason == "length",
        )

    def _append(self, pieces: list[str], piece: str) -> None:
        self._length += len(piece)
        if self._length > self.longest:
            raise _too_long(self.longest)
        if piece:
            pieces.append(piece)


def event_payloads(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """Yield the payload of each server-sent event, up to ``[DONE]``.

    Comments, which keep a connection alive, are left out (WHATWG HTML §9.2.6).

    longest: the most characters that an answer may have; a line that must contain more raises ``AnswerTooLong``

    Raises ``ReplyUnreadable`` for a line that is not part of an event, because the answer is not a stream or not text.
    """
    for line in _lines(chunks, longest):
        field_name, _, value = line.rstrip(b"\r").partition(b":")
        if field_name not in _FIELDS:
            raise ReplyUnreadable("the server's response is not an event stream")
        payload = value.strip() if field_name in {b"data", b"error"} else b""
        if payload == b"[DONE]":
            return
        if payload:
            yield payload


def whole_payload(chunks: Iterable[bytes], longest: int) -> bytes:
    """Return an answer that was not streamed. Raises ``AnswerTooLong`` if it must contain more characters."""
    received = bytearray()
    for chunk in chunks:
        received += chunk
        if len(received) > _WRITTEN * longest:
            raise _too_long(longest)
    return bytes(received)


def _lines(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    pending = b""
    for chunk in chunks:
        *lines, pending = (pending + chunk).split(b"\n")
        yield from lines
        if len(pending) > _WRITTEN * longest:
            raise _too_long(longest)
    yield pending


def _usage(chunk: ChatChunk) -> TokenUsage | None:
    usage, timings = chunk.usage, chunk.timings
    if usage is not None:
        details = usage.prompt_tokens_details
        cached = details.cached_tokens if details else None
        if cached is None:
            cached = timings.cache_n if timings else None
        return TokenUsage(_count(usage.prompt_tokens), _count(usage.completion_tokens), _count(cached))
    if timings is not None:
        cached = _count(timings.cache_n)
        return TokenUsage(cached + _count(timings.prompt_n), _count(timings.predicted_n), cached)
    return None


def _count(reported: int | None) -> int:
    """Return the token count that a server reported, 0 if it is missing or impossible."""
    return reported if reported is not None and 0 <= reported <= MOST_TOKENS else 0


def _too_long(longest: int) -> AnswerTooLong:
    return AnswerTooLong(f"the answer is longer than {longest:,} characters (llm.max_answer_length)")
