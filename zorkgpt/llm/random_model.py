"""A random model, which estimates use in place of models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from random import Random
from typing import Any

from pydantic import ValidationError

from session.commands import COMMON_COMMANDS
from session.errors import ResponseInvalid
from session.text import FIRST_GUESS
from zorkgpt.llm.language_model import Answer, Completion, Prompt, Role, TokenUsage

_WORDS = (
    "I go on from here to see what lies behind the next turn of the way, for nothing that was tried so far speaks "
    "against it and what was found there may be of use later on"
)
_TURN = re.compile(r"^\W*Turn (\d+)", re.MULTILINE)


class RandomModel:
    """Chooses at random from listed values, and fills everything else with placeholder text.

    An estimate of costs uses it in place of models. A token is estimated at four characters.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311  not used for secrets
        self._numbers = count(1)  # of the texts, so that no two are equal
        self._definitions: Mapping[str, Any] = {}
        self._turn = 1

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return an answer of that schema. Raises ``ResponseInvalid`` if placeholder text breaks a rule of it."""
        form = schema.model_json_schema()
        self._definitions = form.get("$defs", {})
        self._turn = int(next(reversed(_TURN.findall(prompt.user)), 1))
        try:
            value = schema.model_validate(self._fill(form))
        except ValidationError as error:
            raise ResponseInvalid(f"no random {schema.__name__} for {role}: {error}") from error
        text = value.model_dump_json()
        usage = TokenUsage(prompt=round(prompt.length * FIRST_GUESS), completion=round(len(text) * FIRST_GUESS))
        return Completion(value, "", text, "random", usage, seconds=0.0, requests=1)

    def _fill(self, form: Mapping[str, Any], name: str = "") -> object:
        """Return a value of a JSON schema, the field ``name``'s. Optional integers and lists are left out."""
        if form.get("default") == []:
            return []
        if "$ref" in form:
            return self._fill(self._definitions[form["$ref"].rpartition("/")[2]])
        if "anyOf" in form:
            first, *others = form["anyOf"]
            is_number_or_none = first.get("type") == "integer" and {"type": "null"} in others
            return None if is_number_or_none else self._fill(first)
        choices = form.get("enum") or ([form["const"]] if "const" in form else [])
        if form.get("type") == "string" and name == "action":
            choices = choices or COMMON_COMMANDS
        return self._random.choice(choices) if choices else self._fill_freely(form)

    def _fill_freely(self, form: Mapping[str, Any]) -> object:
        match form["type"]:
            case "object":
                return {field: self._fill(each, field) for field, each in form.get("properties", {}).items()}
            case "array":
                return [self._fill(form["items"]) for _ in range(form.get("minItems", 1))]
            case "string" if "pattern" in form:
                return "I go on from here."
            case "string":
                return f"{next(self._numbers)}: {_WORDS}"[: form.get("maxLength")]
            case "integer":
                return min(self._turn, form.get("maximum", self._turn))
            case kind:
                return {"boolean": True, "number": 0.5}[kind]
