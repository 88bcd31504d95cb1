"""Reads what a model server sends: its events, the reasoning in them, and the JSON of the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Annotated

from pydantic import AliasChoices, AliasPath, BaseModel, Field, JsonValue, ValidationError, WrapValidator
from pydantic_core import from_json

from session.errors import ResponseInvalid, problems_in
from zorkgpt.llm.language_model import AS_REPAIRED, AS_WRITTEN, Answer, JointAnswer, TokenUsage
from zorkgpt.llm.openai.faults import ReplyUnreadable, failure_in, has_content, require_no_web_page, server_message
from zorkgpt.llm.openai.loose_json import loose_objects, without_strings

_MOST_TOKENS = 10**9  # in any request
_MOST_BYTES = 8
"""The most bytes on the wire for one character of an answer, with JSON escapes and syntax."""
_FIELDS = frozenset({b"", b"data", b"error", b"event", b"id", b"retry"})
"""Field names of an event. A comment has an empty name; ``error`` is an extension of llama.cpp."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a carriage return at the end may be the half of a pair
_KEEP_ALIVE = re.compile(rb"ping|(?:keep|still)[-_ ]?alive|heart[-_ ]?beat", re.IGNORECASE)
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Reasons in which an answer ends at a token limit."""
_REASONING = ("reasoning_content", "reasoning", "thinking", "thoughts", "thinking_blocks", "reasoning_details")
_MOST_NESTED = 8
_MOST_TRIED = 100
"""The most objects of one answer that are validated, last ones first, and the most braces from the beginning and from
the end that are tried as starts of objects. The time for each try may grow with the length of the text."""
_MOST_PROBLEMS = 100
_FENCE = "```"
_NO_STREAM = "the server's response is not an event stream"
_BRACE = re.compile(r"""\{(?=[ \t\n\r]*(?:["}]|\Z))""")
"""A brace that may start an object."""
_MARK = re.compile(rf"<(?P<closing>/?)(?:think|thinking|reflection)\s*>|(?P<brace>{_BRACE.pattern})", re.IGNORECASE)
_DECODER = json.JSONDecoder()
_TORN = re.compile(r"\s*[\w.+-]*")
"""The rest of a truncated object, from the position of the JSON error on."""


class AnswerIncomplete(ResponseInvalid):
    """The answer is empty or truncated; another sample may be complete."""


class SchemaIgnored(ResponseInvalid):
    """The answer is one that a server with schema enforcement could not have returned."""


def _or_missing(value: object, validate: Callable[[object], object]) -> object:
    try:
        return validate(value)
    except ValidationError:
        return None


_Count = Annotated[Annotated[int, Field(ge=0, le=_MOST_TOKENS)] | None, WrapValidator(_or_missing)]
"""A number of tokens; an impossible one counts as missing and does not make the answer fail."""
_Name = Annotated[str | None, WrapValidator(_or_missing)]
_Fields = Annotated[dict[str, JsonValue] | None, WrapValidator(_or_missing)]


def _in_usage(*names: str) -> AliasChoices:
    return AliasChoices(*(AliasPath("usage", name) for name in names))


class _ChatChunk(BaseModel):
    """One event of a streamed completion, or a whole completion, of which only the first choice is read.

    A field of an unexpected shape counts as missing.

    prompt_n, predicted_n, cache_n: llama.cpp's own token counts, sent even without ``usage``
    """

    model: _Name = None
    error: JsonValue = None
    choice: _Fields = Field(None, validation_alias=AliasPath("choices", 0))
    message: _Fields = Field(
        None, validation_alias=AliasChoices(AliasPath("choices", 0, "delta"), AliasPath("choices", 0, "message"))
    )
    finish_reason: _Name = Field(None, validation_alias=AliasPath("choices", 0, "finish_reason"))
    prompt_tokens: _Count = Field(None, validation_alias=_in_usage("prompt_tokens", "input_tokens"))
    completion_tokens: _Count = Field(None, validation_alias=_in_usage("completion_tokens", "output_tokens"))
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

    def texts(self) -> tuple[str, str]:
        """Return the answer and the reasoning in this event."""
        choice, message = self.choice or {}, self.message or {}
        text, thoughts = _texts(message.get("content") or choice.get("text"))
        refusal = "".join(_texts(message.get("refusal")))
        own = next(filter(None, ("".join(_texts(message.get(name))) for name in _REASONING)), "")
        return text + refusal, own or thoughts

    def tool_calls(self) -> Iterator[tuple[object, str]]:
        """Yield the index and the arguments of each tool call, in JSON or a piece of it."""
        message = self.message or {}
        calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
        for position, call in enumerate(calls if isinstance(calls, list) else [calls]):
            function = call.get("function") if isinstance(call, dict) else None
            arguments = function.get("arguments") if isinstance(function, dict) else None
            if isinstance(call, dict) and arguments is not None:
                written = arguments if isinstance(arguments, str) else json.dumps(arguments)
                yield str(call.get("index", position)), written


def _texts(content: JsonValue, depth: int = _MOST_NESTED) -> tuple[str, str]:
    """Return the text and the reasoning in a content: a string, a list of parts, or the answer as an object."""
    if isinstance(content, str):
        return content, ""
    if isinstance(content, list) and depth:
        found = [_texts(part, depth - 1) for part in content]
        return "".join(text for text, _ in found), "".join(thoughts for _, thoughts in found)
    if not isinstance(content, dict) or not depth:
        return "", ""
    kind = content.get("type")
    if not isinstance(kind, str) and "text" not in content:
        return json.dumps(content), ""
    names = ("text", "thinking", "reasoning", "refusal", "summary", "content")
    text = "".join(_texts(next((content[name] for name in names if content.get(name)), None), depth - 1))
    is_thought = bool(content.get("thought")) or re.search("think|reason", str(kind)) is not None
    return ("", text) if is_thought else (text, "")


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The result of one request.

    text: the model's text, unchanged; a refusal counts as text, and so do the arguments of the only tool call of a
        reply without other text
    reasoning: the server's own field; tags in ``text`` are not read
    cut: the server stopped the answer at a token limit
    usage: zeros if the server does not count tokens
    """

    text: str
    reasoning: str
    model: str
    usage: TokenUsage
    cut: bool


def read_reply(received: Iterable[bytes], longest: int, model: str) -> ChatReply:
    """Return the reply in the bytes of a response: server-sent events or one chat completion, whatever its label is.

    longest: the most characters that the reply may have, reasoning included
    model: its name, if the server does not give one

    Raises ``ResponseInvalid`` for a reply that is unreadable or too long, which is not read to its end, and
    ``RequestFailed`` for an error of the server within the answer.
    """
    text: list[str] = []
    reasoning: list[str] = []
    calls: dict[object, str] = {}
    usage, finish_reason, length = TokenUsage(), "", 0
    for value in _values(received, longest):
        try:
            chunk = _ChatChunk.model_validate(value)
        except ValidationError as error:
            raise ReplyUnreadable("the server's response is not a chat completion") from error
        problem = chunk.error if has_content(chunk.error) else (chunk.choice or {}).get("error")
        if has_content(problem) or not (chunk.choice or not server_message(value)):
            raise failure_in(value if problem is chunk.error or not chunk.choice else problem)
        for index, written in chunk.tool_calls():
            calls[index] = calls.get(index, "") + written
            length += len(written)
        for kept, piece in zip((text, reasoning), chunk.texts(), strict=True):
            kept.append(piece)
            length += len(piece)
        if length > longest:
            raise _too_long(longest)
        model = chunk.model or model
        usage = chunk.usage() or usage
        finish_reason = chunk.finish_reason or finish_reason
    whole = "".join(text)
    if not whole.strip() and len(calls) == 1:
        (whole,) = calls.values()
    return ChatReply(whole, "".join(reasoning).strip(), model, usage, cut=finish_reason.lower() in _CUT)


def _values(received: Iterable[bytes], longest: int) -> Iterator[JsonValue]:
    """Yield each JSON value of a response; its first byte shows whether it is an event stream."""
    pieces, start = iter(received), b""
    for piece in pieces:
        start += piece
        if len(start.strip()) >= len(_BYTE_ORDER_MARK):
            break
        if len(start) > _MOST_BYTES * longest:
            raise _too_long(longest)
    start = start.removeprefix(_BYTE_ORDER_MARK)
    require_no_web_page(start)
    body = chain([start], pieces)
    if not start.lstrip().startswith((b"{", b"[")):
        yield from _events(body, longest)
        return
    whole = bytearray()
    for piece in body:
        whole += piece
        if len(whole) > _MOST_BYTES * longest:
            raise _too_long(longest)
    yield from _read_values([bytes(whole)])


def _events(received: Iterable[bytes], longest: int) -> Iterator[JsonValue]:
    """Yield the JSON values of all server-sent events, up to ``[DONE]`` (WHATWG HTML §9.2.6).

    An event that must contain more than ``longest`` characters is not read to its end. The decoders of ``httpx2`` and
    of the ``openai`` package drop llama.cpp's errors and an event without a blank line after it, and return no event
    at all for a response that is not a stream.
    """
    data: list[bytes] = []
    name, size = b"", 0
    is_stream: bool | None = None
    for line in chain(_lines(received, longest), [b""]):
        if not line:
            yield from _dispatched(name, data)
            if data and _is_done(data[-1]):
                return
            data, name, size = [], b"", 0
            continue
        field_name, _, value = line.partition(b":")
        is_stream = is_stream or field_name in _FIELDS
        size += len(line) if field_name else 0
        if size > _MOST_BYTES * longest:
            raise _too_long(longest) if is_stream else ReplyUnreadable(_NO_STREAM)
        if field_name in {b"data", b"error"}:
            data.append(value.removeprefix(b" "))
        if field_name in {b"event", b"error"}:
            name = value.strip().lower() if field_name == b"event" else field_name
    if is_stream is False:
        raise ReplyUnreadable(_NO_STREAM)


def _dispatched(name: bytes, data: list[bytes]) -> Iterator[JsonValue]:
    if name == b"error" and data:
        written = b"\n".join(data)
        try:
            yield {"error": from_json(written)}
        except ValueError:
            yield {"error": written.decode("utf-8", "replace").strip()}
    elif not _KEEP_ALIVE.fullmatch(name):
        yield from _read_values(data)


def _lines(received: Iterable[bytes], longest: int) -> Iterator[bytes]:
    pending = b""
    for chunk in received:
        *lines, pending = _LINE_END.split(pending + chunk)
        yield from lines
        if len(pending) > _MOST_BYTES * longest:
            raise _too_long(longest)
    yield from pending.splitlines()


def _is_done(data: bytes) -> bool:
    return data.strip(b' \t"[]').lower() == b"done"


def _read_values(data: list[bytes]) -> Iterator[JsonValue]:
    """Yield the JSON values in the lines of an event: one, or one a line if the server leaves out blank lines."""
    if data and _is_done(data[-1]):
        data = data[:-1]
    whole = b"\n".join(data)
    for pieces in ([whole], whole.splitlines()):
        with suppress(ValueError):
            values = [from_json(piece) for piece in pieces if piece.strip()]
            for value in values:
                yield from value if isinstance(value, list) else [value]
            return
    raise ReplyUnreadable("the server's response is not a chat completion")


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


def read_answer(split: SplitText, schema: type[Answer], *, is_repaired: bool = False) -> Answer:
    """Return the last JSON object of the answer that fits ``schema``.

    An object at the end of unclosed reasoning counts as an answer; a draft within the reasoning does not.
    An object with errors of syntax (``loose_json``) is read if no other one fits, and one without any field of its own
    does not fit. A text that is too long fits only if ``is_repaired``. Raises ``AnswerIncomplete`` for an empty or
    truncated answer, and ``ResponseInvalid`` with the problem otherwise.
    """
    context = AS_REPAIRED if is_repaired else AS_WRITTEN
    objects, is_torn = json_objects(split.answer)
    if not objects:
        thoughts = split.unclosed.removesuffix(_FENCE).rstrip()
        objects = [written for written in json_objects(thoughts)[0] if thoughts.endswith(written)]
    if not objects and not split.answer:
        raise AnswerIncomplete("the answer is empty")
    problem: ResponseInvalid = SchemaIgnored("there is no JSON object in it")

    def candidates() -> Iterator[str]:
        yield from objects[: -_MOST_TRIED - 1 : -1]
        yield from loose_objects(split.answer)[: -_MOST_TRIED - 1 : -1]

    for written in candidates():
        try:
            return _validated(written, schema, context)
        except ResponseInvalid as error:
            problem = error
    if is_torn:
        raise AnswerIncomplete("the answer breaks off in the middle of its JSON")
    raise problem


def _validated(written: str, schema: type[Answer], context: str, *, is_second: bool = False) -> Answer:
    """Return a JSON object as ``schema``; its values may be JSON in strings. Raises ``ResponseInvalid``."""
    try:
        answer = schema.model_validate_json(written, context=context)
    except ValidationError as error:
        if error.error_count() > _MOST_PROBLEMS:
            raise ResponseInvalid(f"{error.error_count()} values in it do not fit") from error
        problems = error.errors()
        if not is_second and problems[0]["type"] != "json_invalid":
            read = without_strings(written, [each["loc"] for each in problems])
            if read is not None:
                return _validated(read, schema, context, is_second=True)
        is_ignored = any(each["type"] == "missing" for each in problems)
        raise (SchemaIgnored if is_ignored else ResponseInvalid)("; ".join(problems_in(error, "the object"))) from error
    for part in [task.schema for task in schema.tasks] if issubclass(schema, JointAnswer) else [schema]:
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
        is_in_string = error.msg.startswith("Unterminated string")
        return None, is_in_string or _TORN.fullmatch(text, error.pos) is not None
    except (ValueError, RecursionError):
        return None, False
