"""Stand-ins for language models: random answers, for estimates, and scripted answers, for tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from pydantic import BaseModel, ValidationError

from session.commands import COMMON_COMMANDS
from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
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
        """Return a value of a JSON schema, which belongs to the field ``name``. An optional integer is left out."""
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


Reply = BaseModel | Mapping[str, object] | LanguageModelError | BudgetSpent
ReplyFunction = Callable[[Role, Prompt, type[BaseModel]], Reply]


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """The arguments of one call to a ``ScriptedLLM``."""

    role: Role
    prompt: Prompt
    schema: type[BaseModel]


class ScriptedLLM:
    """Answers from a list, in order, or with a function of role, prompt and schema.

    A reply is validated like a real model's; a reply that is an error is raised. After the end of the list, every call
    raises ``LanguageModelUnavailable``. ``calls`` contains every call, answered or not. If a question consists of
    several tasks (``managers/questions.py``), a function is called for each of them.
    """

    def __init__(self, replies: Iterable[Reply] | ReplyFunction = (), *, usage: TokenUsage | None = None) -> None:
        self.calls: list[ScriptedCall] = []
        self._usage = usage or TokenUsage()
        self._replies = replies if callable(replies) else iter(replies)

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return the next reply as a ``schema``, counted as one request that took no time."""
        self.calls.append(ScriptedCall(role, prompt, schema))
        if callable(self._replies):
            tasks = getattr(schema, "tasks", ()) or [ScriptedCall(role, prompt, schema)]
            replies = [self._replies(task.role, task.prompt, task.schema) for task in tasks]
            reply = replies[0] if len(replies) == 1 else _merged(replies)
        else:
            exhausted = LanguageModelUnavailable(f"the script has no reply left for {role} ({schema.__name__})")
            reply = next(self._replies, exhausted)
        if isinstance(reply, LanguageModelError | BudgetSpent):
            raise reply
        try:
            value = schema.model_validate(reply.model_dump() if isinstance(reply, BaseModel) else reply)
        except ValidationError as error:
            raise ResponseInvalid(f"the script's reply for {role} is not a {schema.__name__}: {error}") from error
        return Completion(
            value=value,
            reasoning="",
            text=json.dumps(value.model_dump(mode="json")),  # in ASCII: a reply may contain half a surrogate pair
            model="scripted",
            usage=self._usage,
            seconds=0.0,
            requests=1,
            question_tokens=self._usage.prompt,
        )


def _merged(replies: Iterable[Reply]) -> Reply:
    """Return the fields of all replies; the first error if there is one."""
    merged: dict[str, object] = {}
    for reply in replies:
        if isinstance(reply, LanguageModelError | BudgetSpent):
            return reply
        merged |= reply.model_dump() if isinstance(reply, BaseModel) else reply
    return merged
