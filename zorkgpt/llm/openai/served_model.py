"""One model on one server: the form of a request, the conversation about an answer, and what the server refuses."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, Generic, cast

from openai import pydantic_function_tool
from pydantic import BaseModel, JsonValue

from session.errors import LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.game_configuration import RoleOptions, Sampling
from zorkgpt.llm.language_model import Answer, Completion, Prompt, TokenUsage
from zorkgpt.llm.openai.answers import AnswerIncomplete, ChatReply, SchemaIgnored, joined, read_answer, split_reasoning
from zorkgpt.llm.openai.faults import RequestFailed, ServerRefuses
from zorkgpt.llm.openai.model_server import BASE_URL_MEND, ModelServer

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionContentPartTextParam, ChatCompletionMessageParam

_LOG = logging.getLogger(__name__)
TRIAL: Final[list[ChatCompletionMessageParam]] = [{"role": "user", "content": "Reply with OK."}]
_TRIAL_LENGTH = 1000  # characters of the reply that are read: enough for an error
_NAMES_SHOWN = 8
_KEY_MEND = "set llm.api_key, or OPENAI_API_KEY in the environment"
_SHOWN = 120
_SHOWN_AGAIN = 4000
_KEPT = 20_000  # characters of an answer that cannot be used
_SURROGATE = re.compile("[\ud800-\udfff]")
REFUSALS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.NOT_IMPLEMENTED})
"""Statuses of a server that does not understand the form of a request."""
_SAMPLING = frozenset(Sampling.model_fields)  # a role's own sampling may hold more, which is not for servers
_SIGNS_OF_NO_SCHEMA = 2
CACHE_MARKS = "cache_control"
_CACHED: Final = {"type": "ephemeral"}
_HINTS = {
    # The stream first: an answer that is held to its schema is worth more than one that streams.
    "stream": re.compile(r"\bstream(?:ing|ed)?\b", re.IGNORECASE),
    "response_format": re.compile(r"schema|grammar|structured", re.IGNORECASE),
    CACHE_MARKS: re.compile(r"\bmessages\b|\bcontent\b.*\b(?:string|str|list|array|sequence|type)\b", re.IGNORECASE),
}
_TOO_LONG = re.compile(r"context[ _-]?(?:length|size|window)", re.IGNORECASE)
_ANNOTATIONS = frozenset({"default", "examples", "discriminator", "title"})
_CONSTRAINTS = frozenset(
    {
        *("minLength", "maxLength", "pattern", "format"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "propertyNames"),
    }
)
_UNSUITED_TO_STRICT = frozenset({"prefixItems", "allOf", "patternProperties"})


class Dialect:
    """The fields that a model understands: all fields that can be sent, except those that its server has refused.

    schema_in_prompt: the server does not constrain answers to a schema, so the prompt has to describe it
    """

    def __init__(self) -> None:
        self.schema_in_prompt = False
        self._is_held = False
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
        self._is_held |= is_plain
        self._words_helped += needed_words and not is_plain
        self.schema_in_prompt |= not self._is_held and self._words_helped >= _SIGNS_OF_NO_SCHEMA

    @property
    def takes_cache_marks(self) -> bool:
        """Whether the server has not refused to have parts of a prompt marked for its cache."""
        return CACHE_MARKS not in self._refused

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
    if failure.status not in REFUSALS or _TOO_LONG.search(words):
        return None
    blamed = (name for name in sent if name == failure.parameter)
    named = (name for name in sent if re.search(rf"\b{re.escape(name)}\b", words))
    hinted = (name for name, hint in _HINTS.items() if name in sent and hint.search(words))
    unnamed = ("stream",) if failure.status == HTTPStatus.NOT_IMPLEMENTED and "stream" in sent else ()
    return next(chain(blamed, named, hinted, unnamed), None)


def response_format(schema: type[BaseModel], *, constraints: bool, compact: bool = False) -> dict[str, JsonValue]:
    """Return the ``response_format`` with which a server constrains its answer to ``schema``, strictly if possible.

    constraints: keep lengths, ranges and patterns; llama.cpp supports them, OpenAI rejects some
    compact: allow no white space between the fields, in the syntax of llguidance, with which llama.cpp may be built
    """
    parameters = pydantic_function_tool(schema)["function"].get("parameters", {})
    dropped = _ANNOTATIONS if constraints else _ANNOTATIONS | _CONSTRAINTS
    narrowed = _without(json.loads(json.dumps(parameters)), dropped)
    if compact and isinstance(narrowed, dict):
        narrowed = narrowed | {"x-guidance": {"whitespace_flexible": False}}
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", schema.__name__)[:64]
    return {"type": "json_schema", "json_schema": {"name": name, "strict": _is_closed(narrowed), "schema": narrowed}}


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
        "anyOf" if keyword == "oneOf" else keyword: (
            {name: _without(each, dropped) for name, each in value.items()}
            if keyword in {"properties", "$defs"} and isinstance(value, dict)
            else _without(value, dropped)
        )
        for keyword, value in node.items()
        if keyword not in dropped
    }


def _is_closed(node: JsonValue) -> bool:
    if isinstance(node, list):
        return all(_is_closed(each) for each in node)
    if not isinstance(node, dict):
        return True
    if node.get("type") == "object" and node.get("additionalProperties") is not False:
        return False
    return _UNSUITED_TO_STRICT.isdisjoint(node) and all(_is_closed(each) for each in node.values())


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

    def messages(self, *, schema_in_prompt: bool, takes_marks: bool = True) -> list[ChatCompletionMessageParam]:
        """Return the messages of the next request."""
        user = f"{self.prompt.user}\n\n{schema_instruction(self.schema)}" if schema_in_prompt else self.prompt.user
        system, user = _sendable(self.prompt.system), _sendable(user)
        if self.marks is None or not takes_marks:
            return [{"role": "system", "content": system}, {"role": "user", "content": user}, *self.repair]
        starts = (0, *self.marks)
        parts = [_text(user[start:end], marked=True) for start, end in pairwise(starts)]
        parts.append(_text(user[starts[-1] :], marked=False))
        return [
            {"role": "system", "content": [_text(system, marked=True)]},
            {"role": "user", "content": parts},
            *self.repair,
        ]

    def draw_anew(self) -> None:
        """Use the next seed, since the same seed would give the same answer."""
        if self.sampling.seed is not None:
            self.sampling = self.sampling.model_copy(update={"seed": self.sampling.seed + 1})

    def read(self, reply: ChatReply) -> Completion[Answer]:
        """Return the answer in ``reply``. Raises ``ResponseInvalid`` if it is unusable, and changes the next request.

        - Every new request has another seed.
        - After an answer that was cut, the next request allows twice the tokens, once.
        - After the first answer that does not fit, the next request contains it with its problems.
        """
        was_repair, self.repair = bool(self.repair), []
        self.model = reply.model
        self.usage = TokenUsage(
            self.usage.prompt + reply.usage.prompt,
            self.usage.completion + reply.usage.completion,
            self.usage.cached + reply.usage.cached,
        )
        split = split_reasoning(reply.text)
        try:
            value = read_answer(split, self.schema)
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
                objection = f"This answer cannot be used: {problem}\n{schema_instruction(self.schema)}"
                self.repair = [
                    {"role": "assistant", "content": _sendable((split.answer or split.unclosed)[:_SHOWN_AGAIN])},
                    {"role": "user", "content": _sendable(objection)},
                ]
            start = split.answer[:_SHOWN]
            raise AnswerUnfit(f"the answer does not fit its schema: {problem}; it begins with {start!r}") from problem
        return Completion(
            value=value,
            reasoning=joined([reply.reasoning, split.reasoning]),
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
    """A model by its name, or the first one that its server lists."""

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
        """Return the model's name. If none is configured, the server's first model is requested once."""
        if not self._name:
            try:
                names = self.server.model_names()
            except RequestFailed as failure:
                if failure.status != HTTPStatus.NOT_FOUND:
                    raise
                names = []
            if not names:
                raise ServerRefuses("the server lists no models, so the role's model has to be named")
            self._name = names[0]
        return self._name

    def answer(self, exchange: Exchange[Answer], settings: RoleOptions, deadline: float) -> Completion[Answer]:
        """Send one request and return the answer if it is usable.

        Raises ``RequestFailed``, ``ServerRefuses`` or ``ResponseInvalid``.
        """
        is_plain = not exchange.repair and not self._dialect.schema_in_prompt
        while True:
            fields = self._dialect.fields(exchange.sampling, exchange.schema, settings)
            takes_marks = self._dialect.takes_cache_marks
            name = self.find_name()
            exchange.requests += 1
            try:
                reply = self.server.ask(
                    name,
                    exchange.messages(schema_in_prompt=self._dialect.schema_in_prompt, takes_marks=takes_marks),
                    fields,
                    longest=settings.limits.max_answer_length,
                    stall=settings.limits.stall_timeout,
                    deadline=min(deadline, self._clock() + settings.limits.timeout),
                )
                break
            except ResponseInvalid:
                exchange.draw_anew()
                raise
            except RequestFailed as failure:
                marks = [] if exchange.marks is None or not takes_marks else [CACHE_MARKS]
                refused = refused_field(failure, [*fields, *marks])
                if refused is None:
                    raise
                _require_not_asked_for(refused, settings, failure)
                self._dialect.learn(refused)
                if refused not in self._warned_of:
                    self._warned_of.add(refused)
                    _LOG.warning(
                        "%s refuses %s as sent, so it is changed or left out: %s", self.label, refused, failure
                    )
        completion = exchange.read(reply)
        self._dialect.learn_from_answer(is_plain=is_plain, needed_words=exchange.schema_ignored)
        return completion

    def try_out(self, settings: RoleOptions, deadline: float) -> None:
        """Send a short request and read only the beginning of the reply, usable or not.

        Raises ``RequestFailed`` or ``ServerRefuses`` for a wrong address, key, name or option, a spent quota, and a
        server that is down.
        """
        fields: dict[str, JsonValue] = {"stream": True}
        fields |= {name: settings.extra_body[name] for name in settings.asked_for}
        try:
            self.server.ask(
                self.find_name(),
                TRIAL,
                fields,
                longest=_TRIAL_LENGTH,
                stall=settings.limits.stall_timeout,
                deadline=min(deadline, self._clock() + settings.limits.timeout),
            )
        except ResponseInvalid as problem:
            _LOG.info("%s: the reply to the trial request: %s", self.label, problem)
        except RequestFailed as failure:
            _require_not_asked_for(refused_field(failure, settings.asked_for), settings, failure)
            if failure.status not in REFUSALS:  # a refused form of request is changed when the run needs an answer
                raise

    def refusal(self, failure: RequestFailed, place: str) -> LanguageModelUnavailable:
        """Return the failure as an error in one line that begins with ``place`` and explains how to fix it."""
        if failure.status == HTTPStatus.UNAUTHORIZED:
            what = "the key is refused" if self.server.has_key else "the server requires a key"
            return ServerRefuses(f"{place}: 401: {what}; {_KEY_MEND}")
        if failure.status == HTTPStatus.FORBIDDEN:
            return ServerRefuses(f"{place}: {failure}; the key may not use this model")
        if failure.status == HTTPStatus.NOT_FOUND:
            try:
                names = self.server.model_names()
            except LanguageModelError:
                names = []
            if not names:
                return ServerRefuses(f"{place}: 404: nothing is served there; {BASE_URL_MEND}")
            listed = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
            return ServerRefuses(f"{place}: 404: the server has no such model; it has: {listed}")
        return LanguageModelUnavailable(f"{place}: {failure}")


def _require_not_asked_for(refused: str | None, settings: RoleOptions, failure: RequestFailed) -> None:
    """Raise ``ServerRefuses`` if the user has set the field that the server refuses."""
    if refused is not None and refused in settings.asked_for:
        raise ServerRefuses(f"the server rejects {refused!r} ({settings.asked_for[refused]}): {failure}") from failure


def _text(text: str, *, marked: bool) -> ChatCompletionContentPartTextParam:
    part: ChatCompletionContentPartTextParam = {"type": "text", "text": text}
    return cast("ChatCompletionContentPartTextParam", part | {CACHE_MARKS: _CACHED}) if marked else part


def _sendable(text: str) -> str:
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
