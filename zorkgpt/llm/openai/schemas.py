"""The form of a request: the settings of a server, schemas as servers understand them, and the fields of a request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain
from types import MappingProxyType

from openai import pydantic_function_tool
from pydantic import BaseModel, JsonValue

from session.game_configuration import LanguageModelOptions, Sampling
from zorkgpt.llm.openai.faults import RequestFailed

REFUSALS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.NOT_IMPLEMENTED})
"""Statuses of a server that does not understand the form of a request."""
_SAMPLING = frozenset(Sampling.model_fields)  # a role's own sampling may hold more, which is not for servers
_SIGNS_OF_NO_SCHEMA = 2
_HINTS = {
    # The stream first: an answer that is held to its schema is worth more than one that streams.
    "stream": re.compile(r"\bstream(?:ing|ed)?\b", re.IGNORECASE),
    "response_format": re.compile(r"schema|grammar|structured", re.IGNORECASE),
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


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """The model that plays one role.

    model: ``None`` takes the first one that the server lists
    base_url: up to and with ``/v1``; ``None`` is the ``openai`` package's own default
    api_key: never shown; ``None`` for servers that want none
    limits: of its time and its attempts; the server is the one above
    extra_body: fields that only this server knows, sent as they are (llama.cpp's ``repeat_penalty``)
    compact: answers are written without white space between their fields
    """

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    sampling: Sampling = field(default_factory=Sampling)
    limits: LanguageModelOptions = field(default_factory=LanguageModelOptions)
    extra_body: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))
    compact: bool = False


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

    def fields(self, sampling: Sampling, schema: type[BaseModel], settings: RoleSettings) -> dict[str, JsonValue]:
        """Return the fields of a request other than model and messages, as this model takes them."""
        fields: dict[str, JsonValue] = {"stream_options": {"include_usage": True}, "stream": True}
        fields |= settings.extra_body
        fields |= sampling.model_dump(include=set(_SAMPLING), exclude_none=True)
        if "max_tokens" in fields:
            fields[self._max_tokens] = fields.pop("max_tokens")
        if self._formats:
            fields["response_format"] = response_format(schema, constraints=self._formats[0], compact=settings.compact)
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

    def learn(self, failure: RequestFailed, sent: Mapping[str, JsonValue]) -> str | None:
        """Return the field of ``sent`` that the server refused, if any, and leave it out or reword it from now on."""
        words = str(failure)
        if failure.status not in REFUSALS or _TOO_LONG.search(words):
            return None
        blamed = (name for name in sent if name == failure.parameter)
        named = (name for name in sent if re.search(rf"\b{re.escape(name)}\b", words))
        hinted = (name for name, hint in _HINTS.items() if name in sent and hint.search(words))
        unnamed = ("stream",) if failure.status == HTTPStatus.NOT_IMPLEMENTED and "stream" in sent else ()
        name = next(chain(blamed, named, hinted, unnamed), None)
        if name == "response_format":
            del self._formats[0]
            self.schema_in_prompt |= not self._formats
        elif name == "max_tokens":
            self._max_tokens = "max_completion_tokens"
        elif name == "stream":
            self._refused |= {"stream", "stream_options"}
        elif name is not None:
            self._refused.add(name)
        return name


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
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": _is_closed(narrowed), "schema": narrowed},
    }


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
