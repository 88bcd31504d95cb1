"""One model on one server: the form of a request, the conversation about an answer, and what the server refuses."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, Generic, cast

from openai import pydantic_function_tool
from pydantic import BaseModel, JsonValue

from session.errors import LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.game_configuration import RoleOptions, Sampling
from session.text import SURROGATE
from zorkgpt.llm.language_model import Answer, Completion, Prompt, TokenUsage
from zorkgpt.llm.openai.answers import AnswerIncomplete, ChatReply, SchemaIgnored, joined, read_answer, split_reasoning
from zorkgpt.llm.openai.faults import RequestFailed, RequestRefused, ServerRefuses
from zorkgpt.llm.openai.model_server import ModelServer, first_for_chat, is_listed

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionContentPartTextParam, ChatCompletionMessageParam

_LOG = logging.getLogger(__name__)
TRIAL: Final[list[ChatCompletionMessageParam]] = [{"role": "user", "content": "Reply with OK."}]
_NO_LIST = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
_TRIAL_LENGTH = 1000  # characters of the reply that are read: enough for an error
_NAMES_SHOWN = 8
_KEY_MEND = "set llm.api_key, or OPENAI_API_KEY in the environment"
_SHOWN = 120
_SHOWN_AGAIN = 4000
_KEPT = 20_000  # characters of an answer that cannot be used
REFUSALS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.NOT_IMPLEMENTED})
"""Statuses of a server that does not understand the form of a request."""
_OTHER_REFUSALS = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.INTERNAL_SERVER_ERROR})
"""Statuses of servers that do not understand it if they also have the words for it."""
_SAMPLING = frozenset(Sampling.model_fields)  # a role's own sampling may hold more, which is not for servers
_SIGNS_OF_NO_SCHEMA = 2
CACHE_MARKS = "cache_control"
_CACHED: Final = {"type": "ephemeral"}
SYSTEM_ROLE = "the system role"
_HINTS = {
    SYSTEM_ROLE: re.compile(r"\broles?\b|\b(?:system|developer)[ _]?(?:message|prompt|instruction)s?\b", re.IGNORECASE),
    # The stream first: an answer that is held to its schema is worth more than one that streams.
    "stream": re.compile(r"\bstream(?:ing|ed)?\b", re.IGNORECASE),
    "response_format": re.compile(r"schema|grammar|structured", re.IGNORECASE),
    CACHE_MARKS: re.compile(r"\bmessages\b|\bcontent\b.*\b(?:string|str|list|array|sequence|type)\b", re.IGNORECASE),
}
_UNSUPPORTED = re.compile(
    r"\bunsupported\b|\bun(?:known|recogni[sz]ed)\b|\bextra inputs\b"
    r"|(?:\bnot|n't|\bno|\bonly)\b.*\b(?:support|allow|permit|accept|recogni[sz]e|enable)",
    re.IGNORECASE,
)
"""A refusal of a field or role with a status that usually has other reasons."""
_TOO_LONG = re.compile(r"context[ _-]?(?:length|size|window)", re.IGNORECASE)
_ANNOTATIONS = frozenset({"default", "examples", "title"})
_CONSTRAINTS = frozenset(
    {
        *("minLength", "maxLength", "pattern", "format"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "propertyNames"),
    }
)


class Dialect:
    """The fields that a model understands: all fields that can be sent, except those that its server has refused.

    schema_in_prompt: the server does not constrain answers to a schema, so the prompt has to describe it
    is_held: an answer to a prompt without the schema was usable
    """

    def __init__(self) -> None:
        self.schema_in_prompt = False
        self.is_held = False
        self._words_helped = 0
        self._formats = [True, False]  # with constraints, then without
        self._refused: set[str] = set()
        self._max_tokens = "max_tokens"

    def fields(self, sampling: Sampling, schema: type[BaseModel], settings: RoleOptions) -> dict[str, JsonValue]:
        """Return the fields of a request other than model and messages, as this model takes them."""
        fields: dict[str, JsonValue] = {"stream_options": {"include_usage": True}, "stream": True}
        fields |= settings.extra_body
        fields |= sampling.model_dump(include=set(_SAMPLING), exclude_none=True)
        if "max_tokens" in fields:
            fields[self._max_tokens] = fields.pop("max_tokens")
        if self._formats:
            fields["response_format"] = response_format(
                schema, constraints=self._formats[0], compact=settings.engine == "embedded"
            )
        return {name: value for name, value in fields.items() if name not in self._refused}

    def learn_from_answer(self, *, is_plain: bool, needed_words: bool) -> None:
        """Learn from a usable answer whether the server constrains answers to their schema.

        One invalid answer proves nothing. The server counts as unable if answers were valid only after a repair
        prompt with the schema, twice, and never without one.

        is_plain: the prompt did not include the schema
        needed_words: an answer had to be repaired that no server with constrained answers would have returned
        """
        self.is_held |= is_plain
        self._words_helped += needed_words and not is_plain
        self.schema_in_prompt |= not self.is_held and self._words_helped >= _SIGNS_OF_NO_SCHEMA

    def takes(self, name: str) -> bool:
        """Return whether the server has not refused this part of a request, such as the marks for its cache."""
        return name not in self._refused

    def learn(self, name: str) -> None:
        """Leave out or reword a field that the server refused from now on."""
        if name == "response_format":
            del self._formats[0]
            self.schema_in_prompt |= not self._formats
        elif name == "max_tokens":
            self._max_tokens = "max_completion_tokens"
        elif name == "stream":
            self._refused |= {"stream", "stream_options"}
        else:
            self._refused.add(name)


def refused_field(failure: RequestFailed, sent: Collection[str]) -> str | None:
    """Return the field among those that were sent that the server refused, if any."""
    words = str(failure)
    is_refusal = failure.status in REFUSALS
    may_be_refusal = failure.status in _OTHER_REFUSALS and _UNSUPPORTED.search(words)
    if not (is_refusal or may_be_refusal) or _TOO_LONG.search(words):
        return None
    blamed = (name for name in sent if name == failure.parameter)
    named = (name for name in sent if re.search(rf"\b{re.escape(name)}\b", words))
    hints = _HINTS if is_refusal else {SYSTEM_ROLE: _HINTS[SYSTEM_ROLE]}
    hinted = (name for name, hint in hints.items() if name in sent and hint.search(words))
    unnamed = ("stream",) if failure.status == HTTPStatus.NOT_IMPLEMENTED and "stream" in sent else ()
    return next(chain(blamed, named, hinted, unnamed), None)


def response_format(schema: type[BaseModel], *, constraints: bool, compact: bool = False) -> dict[str, JsonValue]:
    """Return the ``response_format`` with which a server constrains its answer strictly to ``schema``.

    The schemas of answers have neither free keys nor alternatives with a discriminator, which no strict one may have.

    constraints: keep lengths, ranges and patterns; llama.cpp supports them, OpenAI rejects some
    compact: allow no white space between the fields, in the syntax of llguidance, with which llama.cpp may be built
    """
    parameters = pydantic_function_tool(schema)["function"].get("parameters", {})
    dropped = _ANNOTATIONS if constraints else _ANNOTATIONS | _CONSTRAINTS
    narrowed = _without(json.loads(json.dumps(parameters)), dropped)
    if compact and isinstance(narrowed, dict):
        narrowed = narrowed | {"x-guidance": {"whitespace_flexible": False}}
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", schema.__name__)[:64]
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": narrowed}}


def schema_instruction(schema: type[BaseModel]) -> str:
    """Return the instruction to answer according to ``schema``, for servers without constrained answers."""
    named = _without(schema.model_json_schema(), frozenset({"title"}))
    written = json.dumps(named, separators=(",", ":"), ensure_ascii=False)
    return f"Answer with one JSON object that fits this JSON schema, and nothing else:\n{written}"


def _without(node: JsonValue, dropped: frozenset[str]) -> JsonValue:
    if isinstance(node, list):
        return [_without(each, dropped) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        keyword: (
            {name: _without(each, dropped) for name, each in value.items()}
            if keyword in {"properties", "$defs"} and isinstance(value, dict)
            else _without(value, dropped)
        )
        for keyword, value in node.items()
        if keyword not in dropped
    }


class AnswerUnfit(ResponseInvalid):
    """The answer does not fit, complete or cut at its token limit; the next request needs no pause."""


@dataclass(slots=True)
class Exchange(Generic[Answer]):
    """The requests and replies of one completion.

    option: the name of the option that limits the tokens of an answer
    marks: the ends of the stable parts of the user prompt, in characters, if they are marked for the server's cache
    repair: the messages of the next request that ask for an answer to be repaired; there is at most one repair
    schema_ignored: the server did not enforce the schema on the answer that needed repair
    usage, requests: sums over all replies, including failed requests
    model: the model of the latest reply, "" before the first
    unusable: the beginnings of the answers that could not be used
    """

    prompt: Prompt
    schema: type[Answer]
    sampling: Sampling
    option: str
    marks: tuple[int, ...] | None = None
    repair: list[ChatCompletionMessageParam] = field(default_factory=list)
    usage: TokenUsage = field(default_factory=TokenUsage)
    requests: int = 0
    model: str = ""
    enlarged: bool = False
    repaired: bool = False
    schema_ignored: bool = False
    unusable: list[str] = field(default_factory=list)

    def messages(self, dialect: Dialect) -> list[ChatCompletionMessageParam]:
        """Return the messages of the next request. Without a system role the instructions begin the user's message."""
        user = self.prompt.user
        if dialect.schema_in_prompt:
            user = f"{user}\n\n{schema_instruction(self.schema)}"
        system, user = _sendable(self.prompt.system), _sendable(user)
        marks = self.marks if dialect.takes(CACHE_MARKS) else None
        ends = [*(marks or ()), len(user)]
        parts = [user[start:end] for start, end in pairwise([0, *ends])]
        if dialect.takes(SYSTEM_ROLE):
            instructions = system if marks is None else [_text(system, marked=True)]
            before: list[ChatCompletionMessageParam] = [{"role": "system", "content": instructions}]
        else:
            parts, before = [f"{system}\n\n", *parts], []
        content = [*(_text(part, marked=True) for part in parts[:-1]), _text(parts[-1], marked=False)]
        return [*before, {"role": "user", "content": "".join(parts) if marks is None else content}, *self.repair]

    def draw_anew(self) -> None:
        """Use the next seed, since the same seed would give the same answer."""
        if self.sampling.seed is not None:
            self.sampling = self.sampling.model_copy(update={"seed": self.sampling.seed + 1})

    def read(self, reply: ChatReply, dialect: Dialect) -> Completion[Answer]:
        """Return the answer in ``reply``, from whose form ``dialect`` learns.

        Raises ``ResponseInvalid`` if it is unusable, and changes the next request: it has another seed; after an answer
        that was cut, it allows twice the tokens, once; after the first one that does not fit, it contains that with its
        problems, and with the schema if the model is not known to have it.
        """
        was_repair, self.repair = bool(self.repair), []
        self.model = reply.model
        self.usage = TokenUsage(
            self.usage.prompt + reply.usage.prompt,
            self.usage.completion + reply.usage.completion,
            self.usage.cached + reply.usage.cached,
        )
        # A server may send everything as reasoning; an object at its end is then the answer.
        split = split_reasoning(reply.text if reply.text.strip() else f"<think>{reply.reasoning}")
        try:
            value = read_answer(split, self.schema, is_repaired=self.repaired)
        except ResponseInvalid as problem:
            self.unusable.append(reply.text[:_KEPT])
            self.draw_anew()
            if reply.cut:
                raise AnswerUnfit(self._enlarge()) from problem
            if isinstance(problem, AnswerIncomplete):
                raise
            if not self.repaired:
                self.repaired = True
                self.schema_ignored = isinstance(problem, SchemaIgnored)
                is_known = dialect.schema_in_prompt or dialect.is_held
                asked = (
                    "Answer with one JSON object, and nothing else." if is_known else schema_instruction(self.schema)
                )
                objection = f"This answer cannot be used: {problem}\n{asked}"
                self.repair = [
                    {"role": "assistant", "content": _sendable((split.answer or split.unclosed)[:_SHOWN_AGAIN])},
                    {"role": "user", "content": _sendable(objection)},
                ]
            start = split.answer[:_SHOWN]
            raise AnswerUnfit(f"the answer does not fit its schema: {problem}; it begins with {start!r}") from problem
        is_plain = not was_repair and not dialect.schema_in_prompt
        dialect.learn_from_answer(is_plain=is_plain, needed_words=self.schema_ignored)
        return Completion(
            value=value,
            reasoning=joined([reply.reasoning, *([split.reasoning] if reply.text.strip() else [])]),
            text=reply.text,
            model=reply.model,
            usage=self.usage,
            seconds=0.0,
            requests=self.requests,
            question_tokens=0 if was_repair else reply.usage.prompt,
            unusable=tuple(self.unusable),
        )

    def _enlarge(self) -> str:
        """Double the token limit, once, and return what is wrong with the present one."""
        limit = self.sampling.max_tokens
        if limit is None:
            return f"the answer is cut at the server's own token limit; set {self.option}"
        if self.enlarged:
            return f"the answer is still cut at {limit} tokens; raise {self.option}"
        self.enlarged = True
        self.sampling = self.sampling.model_copy(update={"max_tokens": 2 * limit})
        return f"the answer is cut at {limit} tokens; raise {self.option}"


class ServedModel:
    """A model by its name, or the first one that its server lists for chat."""

    def __init__(self, server: ModelServer, name: str | None, clock: Callable[[], float]) -> None:
        self.server = server
        self._name = name
        self._clock = clock
        self._dialect = Dialect()
        self._warned_of: set[str] = set()

    @property
    def label(self) -> str:
        """Return the model and its URL for display, without a request."""
        return f"{self.name} at {self.server.address}"

    @property
    def name(self) -> str:
        """Return the model's name for display, without a request."""
        return self._name or "the first model"

    def find_name(self) -> str:
        """Return the model's name. If none is configured, the server's list is requested once."""
        if not self._name:
            try:
                names = self.server.model_names()
            except RequestFailed as failure:
                if failure.status not in _NO_LIST:
                    raise
                names = []
            self._name = first_for_chat(names)
        if not self._name:
            raise ServerRefuses("the server lists no models, so the role's model has to be named")
        return self._name

    def answer(self, exchange: Exchange[Answer], settings: RoleOptions, deadline: float) -> Completion[Answer]:
        """Send one request and return the answer if it is usable.

        Raises ``RequestFailed``, ``ServerRefuses`` or ``ResponseInvalid``.
        """
        reply = None
        while reply is None:
            fields = self._dialect.fields(exchange.sampling, exchange.schema, settings)
            parts = [*fields, SYSTEM_ROLE, *([] if exchange.marks is None else [CACHE_MARKS])]
            exchange.requests += 1
            try:
                reply = self._ask(exchange.messages(self._dialect), fields, parts, settings, deadline)
            except ResponseInvalid:
                exchange.draw_anew()
                raise
        return exchange.read(reply, self._dialect)

    def try_out(self, settings: RoleOptions, deadline: float) -> None:
        """Send a short request and read only the beginning of the reply, usable or not.

        Raises ``RequestFailed`` or ``ServerRefuses`` for a wrong address, key, name or option, a spent quota, and a
        server that is down.
        """
        asked_for = {name: settings.extra_body[name] for name in settings.asked_for}
        reply = None
        try:
            while reply is None:
                wanted: dict[str, JsonValue] = {"stream": True, **asked_for}
                fields = {name: value for name, value in wanted.items() if self._dialect.takes(name)}
                reply = self._ask(TRIAL, fields, [*fields], settings, deadline, longest=_TRIAL_LENGTH)
        except ResponseInvalid as problem:
            _LOG.info("%s: the reply to the trial request: %s", self.label, problem)

    def _ask(
        self,
        messages: list[ChatCompletionMessageParam],
        fields: dict[str, JsonValue],
        parts: Collection[str],
        settings: RoleOptions,
        deadline: float,
        longest: int | None = None,
    ) -> ChatReply | None:
        """Send a request and return the reply; ``None`` if a part of the request is refused, which is then changed."""
        try:
            return self.server.ask(
                self.find_name(),
                messages,
                fields,
                longest=longest or settings.limits.max_answer_length,
                stall=settings.limits.stall_timeout,
                deadline=min(deadline, self._clock() + settings.limits.timeout),
            )
        except RequestFailed as failure:
            refused = refused_field(failure, [part for part in parts if self._dialect.takes(part)])
            if refused is None:
                raise
            if refused in settings.asked_for:
                raise ServerRefuses(
                    f"the server rejects {refused!r} ({settings.asked_for[refused]}): {failure}"
                ) from failure
            self._dialect.learn(refused)
            if refused not in self._warned_of:
                self._warned_of.add(refused)
                _LOG.warning("%s refuses %s as sent, so it is changed or left out: %s", self.label, refused, failure)
            return None

    def refusal(self, failure: RequestFailed, place: str) -> LanguageModelUnavailable:
        """Return the failure as an error in one line that begins with ``place`` and explains how to fix it."""
        line, status = f"{place}: {failure}", failure.status
        if status == HTTPStatus.UNAUTHORIZED:
            what = "the key is refused" if self.server.has_key else "the server requires a key"
            return ServerRefuses(f"{line}; {what}; {_KEY_MEND}")
        if status == HTTPStatus.FORBIDDEN:
            return ServerRefuses(f"{line}; the key may not use this model")
        is_missing = status in {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}
        if is_missing or (status in REFUSALS and "model" in str(failure).lower()):
            names: list[str] | None = None
            with suppress(LanguageModelError):
                names = self.server.model_names()
            if names and self._name and not is_listed(self._name, names):
                listed = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
                line += f"; the server has no such model; it has: {listed}"
            elif names is None and is_missing:
                line += "; it lists no models either: check the base URL"
        mend = self.server.address_mend()
        if mend not in {"", failure.mend} and (is_missing or status is None):
            line += f"; {mend}"
        if is_missing:
            return ServerRefuses(line)
        is_of_request = status in {*REFUSALS, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}
        return RequestRefused(line) if is_of_request else LanguageModelUnavailable(line)


def _text(text: str, *, marked: bool) -> ChatCompletionContentPartTextParam:
    part: ChatCompletionContentPartTextParam = {"type": "text", "text": text}
    return cast("ChatCompletionContentPartTextParam", part | {CACHE_MARKS: _CACHED}) if marked else part


def _sendable(text: str) -> str:
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
