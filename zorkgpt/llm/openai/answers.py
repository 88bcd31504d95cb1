"""Reads what a model server sends: its events, the reasoning in them, and the JSON of the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import AliasChoices, AliasPath, BaseModel, Field, JsonValue, ValidationError, WrapValidator

from session.errors import ResponseInvalid, problems_in
from zorkgpt.llm.language_model import AS_WRITTEN, Answer, TokenUsage
from zorkgpt.llm.openai.faults import ReplyUnreadable, RequestFailed, is_transient, server_message
from zorkgpt.llm.openai.loose_json import loose_objects, without_strings

_MOST_TOKENS = 10**9  # in any request
_MOST_BYTES = 8
"""The most bytes on the wire for one character of an answer, with JSON escapes and syntax."""
_FIELDS = frozenset({b"", b"data", b"error", b"event", b"id", b"retry"})
"""Field names of an event. A comment has an empty name; ``error`` is an extension of llama.cpp."""
_MOST_TRIED = 100
"""The most objects of one answer that are validated, last ones first, and the most braces from the beginning and from
the end that are tried as starts of objects. The time for each try may grow with the length of the text."""
_MOST_PROBLEMS = 100
_FENCE = "```"
_BRACE = re.compile(r"""\{(?=[ \t\n\r]*(?:["}]|\Z))""")
"""A brace that may start an object."""
_MARK = re.compile(rf"<(?P<closing>/?)(?:think|thinking|reflection)\s*>|(?P<brace>{_BRACE.pattern})", re.IGNORECASE)
_DECODER = json.JSONDecoder()
_TORN = re.compile(r"\s*|t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.\d*|(?:\.\d+)?[eE][+-]?\d*")
"""The rest of a truncated object, from the position of the JSON error on."""
_LONGEST_ESCAPE = 5  # characters after the backslash, "u" among them


class AnswerIncomplete(ResponseInvalid):
    """The answer is empty or truncated; another sample may be complete."""


class SchemaIgnored(ResponseInvalid):
    """The answer is one that a server with schema enforcement could not have returned."""


def _or_missing(value: object, validate: Callable[[object], object]) -> object:
    try:
        return validate(value)
    except ValidationError:
        return None


def _in_message(name: str) -> AliasChoices:
    return AliasChoices(AliasPath("choices", 0, "delta", name), AliasPath("choices", 0, "message", name))


_Count = Annotated[Annotated[int, Field(ge=0, le=_MOST_TOKENS)] | None, WrapValidator(_or_missing)]
"""A number of tokens; an impossible one counts as missing and does not make the answer fail."""


class _ChatChunk(BaseModel):
    """One event of a streamed completion, or a whole completion, of which only the first choice is read.

    prompt_n, predicted_n, cache_n: llama.cpp's own token counts, sent even without ``usage``
    """

    model: str | None = None
    error: JsonValue = None
    content: str | None = Field(None, validation_alias=_in_message("content"))
    refusal: str | None = Field(None, validation_alias=_in_message("refusal"))
    reasoning: str | None = Field(None, validation_alias=_in_message("reasoning"))
    reasoning_content: str | None = Field(None, validation_alias=_in_message("reasoning_content"))
    finish_reason: str | None = Field(None, validation_alias=AliasPath("choices", 0, "finish_reason"))
    prompt_tokens: _Count = Field(None, validation_alias=AliasPath("usage", "prompt_tokens"))
    completion_tokens: _Count = Field(None, validation_alias=AliasPath("usage", "completion_tokens"))
    cached_tokens: _Count = Field(None, validation_alias=AliasPath("usage", "prompt_tokens_details", "cached_tokens"))
    prompt_n: _Count = Field(None, validation_alias=AliasPath("timings", "prompt_n"))
    predicted_n: _Count = Field(None, validation_alias=AliasPath("timings", "predicted_n"))
    cache_n: _Count = Field(None, validation_alias=AliasPath("timings", "cache_n"))

    def usage(self) -> TokenUsage | None:
        """Return the tokens of the request, ``None`` if the server has not counted any in this event."""
        cached = self.cached_tokens or self.cache_n or 0
        if self.prompt_tokens is not None or self.completion_tokens is not None:
            return TokenUsage(self.prompt_tokens or 0, self.completion_tokens or 0, cached)
        if self.prompt_n is not None or self.predicted_n is not None:
            return TokenUsage(cached + (self.prompt_n or 0), self.predicted_n or 0, cached)
        return None


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


def read_reply(received: Iterable[bytes], longest: int, model: str, *, is_stream: bool) -> ChatReply:
    """Return the reply in the bytes of a response: server-sent events, or one chat completion.

    longest: the most characters that the reply may have, reasoning included
    model: its name, if the server does not give one

    Raises ``ResponseInvalid`` for a reply that is unreadable or too long, which is not read to its end, and
    ``RequestFailed`` for an error of the server within the answer.
    """
    text: list[str] = []
    reasoning: list[str] = []
    usage, finish_reason, length = TokenUsage(), "", 0
    for payload in _events(received, longest) if is_stream else [_whole(received, longest)]:
        try:
            chunk = _ChatChunk.model_validate_json(payload)
        except ValidationError as error:
            raise ReplyUnreadable("the server's response is not a chat completion") from error
        if chunk.error is not None:
            code = chunk.error.get("code") if isinstance(chunk.error, dict) else None
            status = code if isinstance(code, int) else None
            message = f"within the answer: {server_message(chunk.error) or 'an error without a message'}"
            raise RequestFailed(message, status=status, transient=status is None or is_transient(status))
        text.append((chunk.content or "") + (chunk.refusal or ""))
        reasoning.append(chunk.reasoning_content or chunk.reasoning or "")
        length += len(text[-1]) + len(reasoning[-1])
        if length > longest:
            raise _too_long(longest)
        model = chunk.model or model
        usage = chunk.usage() or usage
        finish_reason = chunk.finish_reason or finish_reason
    return ChatReply("".join(text), "".join(reasoning).strip(), model, usage, cut=finish_reason == "length")


def _events(received: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """Yield the payload of each server-sent event, up to ``[DONE]``.

    Comments, which keep a connection alive, are left out (WHATWG HTML §9.2.6). A line that must contain more than
    ``longest`` characters is not read to its end. The decoder of the ``openai`` package has no such limit, and returns
    no event at all for a response that is not a stream.
    """
    for line in _lines(received, longest):
        field_name, _, value = line.rstrip(b"\r").partition(b":")
        if field_name not in _FIELDS:
            raise ReplyUnreadable("the server's response is not an event stream")
        payload = value.strip() if field_name in {b"data", b"error"} else b""
        if payload == b"[DONE]":
            return
        if payload:
            yield payload


def _lines(received: Iterable[bytes], longest: int) -> Iterator[bytes]:
    pending = b""
    for chunk in received:
        *lines, pending = (pending + chunk).split(b"\n")
        yield from lines
        if len(pending) > _MOST_BYTES * longest:
            raise _too_long(longest)
    yield pending


def _whole(received: Iterable[bytes], longest: int) -> bytes:
    whole = bytearray()
    for chunk in received:
        whole += chunk
        if len(whole) > _MOST_BYTES * longest:
            raise _too_long(longest)
    return bytes(whole)


def _too_long(longest: int) -> ResponseInvalid:
    return ResponseInvalid(f"the answer is longer than {longest:,} characters (llm.max_answer_length)")


@dataclass(frozen=True, slots=True)
class SplitText:
    """A model's text, in two parts.

    answer: the text without the reasoning
    reasoning: the contents of all reasoning tags, separated by blank lines
    unclosed: the part of ``reasoning`` without a closing tag; it may contain the answer
    """

    answer: str
    reasoning: str
    unclosed: str = ""


def split_reasoning(text: str) -> SplitText:
    """Separate the reasoning in ``<think>``, ``<thinking>`` and ``<reflection>`` from the rest.

    Tags may be nested, and any closing tag closes any opening tag. An opening tag without a closing tag contains all
    text after it; a closing tag without an opening tag contains all text before it. Tags within a JSON object are part
    of that object.
    """
    answer: list[str] = []
    thoughts: list[str] = []
    depth = position = failed = 0
    mark = _MARK.search(text)
    while mark:
        resume = mark.end()
        if mark["brace"]:
            end = _read_object(text, mark.start())[0] if depth == 0 and failed < _MOST_TRIED else None
            if end is not None:
                answer.append(text[position:end])
                position = resume = end
            failed += depth == 0 and end is None
        else:
            (thoughts if depth else answer).append(text[position : mark.start()])
            position = resume
            if not mark["closing"]:
                depth += 1
            elif depth:
                depth -= 1
            else:
                thoughts.append("".join(answer))
                answer.clear()
        mark = _MARK.search(text, resume)
    rest = text[position:]
    unclosed = rest.strip() if depth else ""
    (thoughts if depth else answer).append(rest)
    return SplitText("".join(answer).strip(), joined(thoughts), unclosed)


def joined(thoughts: list[str]) -> str:
    """Join the thoughts that are not blank, with blank lines between them."""
    return "\n\n".join(thought.strip() for thought in thoughts if thought.strip())


def read_answer(split: SplitText, schema: type[Answer]) -> Answer:
    """Return the last JSON object of the answer that fits ``schema``.

    An object at the end of unclosed reasoning counts as an answer; a draft within the reasoning does not.
    An object with errors of syntax (``loose_json``) is read if no other one fits, and one without any field of its own
    does not fit. Raises ``AnswerIncomplete`` for an empty or truncated answer, and ``ResponseInvalid`` with the problem
    otherwise.
    """
    objects, is_torn = json_objects(split.answer)
    if not objects:
        thoughts = split.unclosed.removesuffix(_FENCE).rstrip()
        objects = [written for written in json_objects(thoughts)[0] if thoughts.endswith(written)]
    if not objects and not split.answer:
        raise AnswerIncomplete("the answer is empty")
    problem: ResponseInvalid = SchemaIgnored("there is no JSON object in it")
    for written in objects[: -_MOST_TRIED - 1 : -1]:
        try:
            return _validated(written, schema)
        except ResponseInvalid as error:
            problem = error
    for written in loose_objects(split.answer)[: -_MOST_TRIED - 1 : -1]:
        try:
            return _validated(written, schema)
        except ResponseInvalid as error:
            problem = error
    if is_torn:
        raise AnswerIncomplete("the answer breaks off in the middle of its JSON")
    raise problem


def _validated(written: str, schema: type[Answer], *, is_second: bool = False) -> Answer:
    """Return a JSON object as ``schema``; its values may be JSON in strings. Raises ``ResponseInvalid``."""
    try:
        answer = schema.model_validate_json(written, context=AS_WRITTEN)
    except ValidationError as error:
        if error.error_count() > _MOST_PROBLEMS:
            raise ResponseInvalid(f"{error.error_count()} values in it do not fit") from error
        problems = error.errors()
        if not is_second and problems[0]["type"] != "json_invalid":
            read = without_strings(written, [each["loc"] for each in problems])
            if read is not None:
                return _validated(read, schema, is_second=True)
        is_ignored = any(each["type"] == "missing" for each in problems)
        raise (SchemaIgnored if is_ignored else ResponseInvalid)("; ".join(problems_in(error, "the object"))) from error
    for part in [task.schema for task in getattr(schema, "tasks", ())] or [schema]:
        own = [name for name in part.model_fields if name != "reasoning"]
        if answer.model_fields_set.isdisjoint(own):
            raise SchemaIgnored(f"it has none of the fields {', '.join(own)}")
    return answer


def json_objects(text: str) -> tuple[list[str], bool]:
    """Return the outermost complete JSON objects of ``text``, unchanged and in order, and whether it ends within one.

    Objects within a truncated object are parts of it and are left out.
    """
    starts = [brace.start() for brace in _BRACE.finditer(text)]
    if len(starts) > 2 * _MOST_TRIED:
        starts = starts[:_MOST_TRIED] + starts[-_MOST_TRIED:]
    objects: list[str] = []
    read = 0
    for start in starts:
        if start < read:
            continue
        end, is_torn = _read_object(text, start)
        if is_torn:
            return objects, True
        if end is not None:
            objects.append(text[start:end])
            read = end
    return objects, False


def _read_object(text: str, start: int) -> tuple[int | None, bool]:
    """Return the end of the object at ``start``, ``None`` if it is not complete JSON, and whether the text is torn."""
    try:
        return _DECODER.raw_decode(text, start)[1], False
    except json.JSONDecodeError as error:
        rest = text[error.pos :]
        is_in_escape = error.msg.startswith("Invalid \\uXXXX") and len(rest) <= _LONGEST_ESCAPE
        is_in_string = error.msg.startswith("Unterminated string")
        return None, is_in_escape or is_in_string or _TORN.fullmatch(rest) is not None
    except (ValueError, RecursionError):
        return None, False
