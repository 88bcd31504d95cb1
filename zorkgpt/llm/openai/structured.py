"""Answers as values: the schema that a server is asked to hold to, and the reading of what came."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from openai import pydantic_function_tool
from pydantic import BaseModel, JsonValue, ValidationError

from session.errors import ResponseInvalid, problems_in
from zorkgpt.llm.openai.json_text import breaks_off, json_objects

if TYPE_CHECKING:
    from zorkgpt.llm.language_model import Answer
    from zorkgpt.llm.openai.reasoning import SplitText

_FENCE = "```"
_ANNOTATIONS = frozenset({"default", "examples", "discriminator"})
_CONSTRAINTS = frozenset(
    {
        *("minLength", "maxLength", "pattern", "format"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "propertyNames"),
    }
)
_UNSUITED_TO_STRICT = frozenset({"prefixItems", "allOf", "patternProperties"})


class AnswerIncomplete(ResponseInvalid):
    """The answer is empty or breaks off: another draw may be whole."""


class SchemaIgnored(ResponseInvalid):
    """The answer is such as no server would have let pass that holds a model to the schema."""


def response_format(schema: type[BaseModel], *, constraints: bool, compact: bool = False) -> dict[str, JsonValue]:
    """The ``response_format`` that holds an answer to ``schema``: strict where a strict schema can.

    constraints: lengths, ranges and patterns are in it; llama.cpp honours them, OpenAI refuses some
    compact: no white space between the fields, in the words of llguidance, which llama.cpp may be built with
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
    """The words that ask for an answer of ``schema`` where the server cannot hold the model to it."""
    written = json.dumps(schema.model_json_schema(), separators=(",", ":"), ensure_ascii=False)
    return f"Answer with one JSON object that fits this JSON schema, and nothing else:\n{written}"


def read_answer(split: SplitText, schema: type[Answer]) -> Answer:
    """The last JSON object of the answer that fits ``schema``.

    An answer that ends thoughts which were never closed counts; a draft within thoughts does not.
    Raises ``AnswerIncomplete`` for nothing or half an object, else ``ResponseInvalid`` with what is wrong.
    """
    objects = list(json_objects(split.answer)) or _last_words(split.unclosed)
    if not objects and not split.answer:
        raise AnswerIncomplete("the answer is empty")
    problem: ResponseInvalid = SchemaIgnored("there is no JSON object in it")
    for written in reversed(objects):
        try:
            return schema.model_validate_json(written)
        except ValidationError as error:
            problem = _misfit(error)
    if breaks_off(split.answer):
        raise AnswerIncomplete("the answer breaks off in the middle of its JSON")
    raise problem


def _last_words(thoughts: str) -> list[str]:
    text = thoughts.removesuffix(_FENCE).rstrip()
    return [written for written in json_objects(text) if text.endswith(written)]


def _misfit(error: ValidationError) -> ResponseInvalid:
    message = "; ".join(problems_in(error, "the object"))
    ignored = any(problem["type"] == "missing" for problem in error.errors())
    return SchemaIgnored(message) if ignored else ResponseInvalid(message)


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
