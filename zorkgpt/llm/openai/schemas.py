"""The form of a request: settings of a server, and schemas as servers understand them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from weakref import WeakKeyDictionary

from openai import pydantic_function_tool
from pydantic import BaseModel, JsonValue

from session.game_configuration import Sampling


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a model's time, in seconds, and of its attempts.

    request: one HTTP request, from sending it to its last byte
    stall: silence between two bytes of an answer, and before its first
    total: one completion with all its retries and pauses, give or take one stall; waits for a model that is down do
        not count
    patience: the wait for a model that is down or rate-limited, from its first failure
    attempts: unusable answers before a completion fails
    answer_length: characters of one answer, including reasoning; a longer one is cut off
    """

    request: float = 300.0
    stall: float = 120.0
    total: float = 900.0
    patience: float = 300.0
    attempts: int = 8
    answer_length: int = 1_000_000


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """The model that plays one role.

    model: ``None`` takes the first one that the server lists
    base_url: up to and with ``/v1``; ``None`` is the ``openai`` package's own default
    api_key: never shown; ``None`` for servers that want none
    extra_body: fields that only this server knows, sent as they are (llama.cpp's ``repeat_penalty``)
    compact: answers are written without white space between their fields
    """

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = Limits()
    extra_body: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))
    compact: bool = False


_ANNOTATIONS = frozenset({"default", "examples", "discriminator", "title"})
_CONSTRAINTS = frozenset(
    {
        *("minLength", "maxLength", "pattern", "format"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "propertyNames"),
    }
)
_UNSUITED_TO_STRICT = frozenset({"prefixItems", "allOf", "patternProperties"})


def response_format(schema: type[BaseModel], *, constraints: bool, compact: bool = False) -> dict[str, JsonValue]:
    """Return the ``response_format`` with which a server constrains its answer to ``schema``, strictly if possible.

    It is cached for each schema.

    constraints: keep lengths, ranges and patterns; llama.cpp supports them, OpenAI rejects some
    compact: allow no white space between the fields, in the syntax of llguidance, with which llama.cpp may be built
    """
    made = _MADE.setdefault(schema, {})
    if (constraints, compact) not in made:
        parameters = pydantic_function_tool(schema)["function"].get("parameters", {})
        dropped = _ANNOTATIONS if constraints else _ANNOTATIONS | _CONSTRAINTS
        narrowed = _without(json.loads(json.dumps(parameters)), dropped)
        if compact and isinstance(narrowed, dict):
            narrowed = narrowed | {"x-guidance": {"whitespace_flexible": False}}
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", schema.__name__)[:64]
        made[constraints, compact] = {
            "type": "json_schema",
            "json_schema": {"name": name, "strict": _is_closed(narrowed), "schema": narrowed},
        }
    return made[constraints, compact]


_MADE: WeakKeyDictionary[type[BaseModel], dict[tuple[bool, bool], dict[str, JsonValue]]] = WeakKeyDictionary()


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
