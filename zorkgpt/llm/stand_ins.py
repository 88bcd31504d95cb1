"""Stand-ins for language models: a person, a Python function, random answers and scripted answers."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from session.commands import Vocabulary, commands_of
from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.text import FIRST_GUESS
from zorkgpt.llm.language_model import Answer, Completion, LanguageModel, Prompt, Role, TokenUsage

PERSON = "a person"
"""The name in place of a model's."""
LEAVING = "quit"
"""The command by which a person ends the episode. It is never sent to a story."""
_FUNCTION = "()"
"""The suffix of a function's name in place of a model's."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Action:
    """What a function decides to do, with more than a command.

    reasoning: kept in the record, and shown to the models that learn beside the function
    follow: the number of a route to follow instead of typing the command; ``until`` is its last command to play
    go_to: the id of a location to walk to instead of typing the command
    note: a line that stays in the prompts of the episode
    """

    command: str = "wait"
    reasoning: str = ""
    follow: int | None = None
    until: int | None = None
    go_to: int | None = None
    note: str = ""


Choose = Callable[[Prompt, tuple[str, ...]], str | Action]
"""Returns what to do. Takes the prompt and the commands to choose from, which are empty if any is allowed."""


class AgentStandIn:
    """Plays the commands that ``choose`` returns, and passes all roles other than the agent on to a model.

    others: that model; ``None`` if none is configured, in which case all other roles fail
    """

    def __init__(self, name: str, choose: Choose, others: LanguageModel | None = None) -> None:
        self.name = name
        self._choose = choose
        self._others = others

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return an answer with the chosen action, or the model's answer. Exceptions of ``choose`` propagate.

        Raises ``ValueError`` for a way that is not offered.
        """
        if role != "agent":
            if self._others is None:
                raise LanguageModelUnavailable(f"{role}: no model is configured")
            return self._others.complete(role, prompt, schema)
        began = time.monotonic()
        chosen = self._choose(prompt, get_args(schema.model_fields["action"].annotation))
        seconds = time.monotonic() - began
        action = chosen if isinstance(chosen, Action) else Action(chosen)
        ways = {"follow": action.follow, "until": action.until, "go_to": action.go_to}
        ways = {name: number for name, number in ways.items() if number is not None}
        if missing := ways.keys() - schema.model_fields.keys():
            raise ValueError(f"{self.name} chose {', '.join(sorted(missing))}, which is not possible now")
        note = {"note": {"text": action.note}} if action.note else {}
        value = schema.model_validate({"reasoning": action.reasoning, "action": action.command, **ways, **note})
        return Completion(value, "", value.model_dump_json(), self.name, TokenUsage(), seconds, requests=0)


def person(read_line: Callable[[], str], vocabulary: Vocabulary, others: LanguageModel | None = None) -> AgentStandIn:
    """Return a stand-in that plays the commands that a person types. Each command of a line is an answer of its own.

    read_line: waits until the person has typed a line, and returns it; raises ``WaitInterrupted``
    """
    typed: list[str] = []

    def choose(_prompt: Prompt, _choices: tuple[str, ...]) -> str:
        if not typed:
            typed.extend(commands_of(read_line(), vocabulary))
        return typed.pop(0)

    return AgentStandIn(PERSON, choose, others)


def function(name: str, choose: Choose, others: LanguageModel | None = None) -> AgentStandIn:
    """Return a stand-in that plays what a function returns.

    Exceptions of the function propagate. The stand-in raises ``TypeError`` if the function returns neither a string
    nor an ``Action``, and ``ValueError`` if the command is empty, cannot be encoded as UTF-8, or is not one of the
    commands to choose from.
    """
    name += _FUNCTION

    def checked(prompt: Prompt, choices: tuple[str, ...]) -> Action:
        chosen = choose(prompt, choices)
        if not isinstance(chosen, str | Action):
            raise TypeError(f"{name} returned {chosen!r}; expected a string or an Action")
        action = chosen if isinstance(chosen, Action) else Action(chosen)
        command = action.command
        if _SURROGATE.search(f"{command}{action.reasoning}{action.note}"):
            raise ValueError(f"{name} returned {command!r}, which contains half a surrogate pair")
        if not command.strip() or (choices and command not in choices):
            raise ValueError(f"{name} returned {command!r}, which is not one of the commands to choose from")
        return action

    return AgentStandIn(name, checked, others)


def function_in(description: str) -> str:
    """Return the name of the function in the description of a run's model; "" if no function played."""
    name = description.partition(";")[0]
    return name if name.endswith(_FUNCTION) else ""


_WORDS = (
    "I go on from here to see what lies behind the next turn of the way, for nothing that was tried so far speaks "
    "against it and what was found there may be of use later on"
)
_FOLLOWING = "follow route "
_ANY_COMMANDS = (
    *("north", "south", "east", "west", "up", "down", "northeast", "northwest", "southeast", "southwest"),
    *("look", "inventory", "take all", "enter", "out"),
)
_LOCATION = re.compile(r"^Location: .*\(ID: (\d+)\)", re.MULTILINE)
_TURN = re.compile(r"^\W*Turn (\d+)", re.MULTILINE)


class RandomModel:
    """Plays random commands, and fills all other answers with placeholder text.

    It draws from the commands that it has chosen least often at the location, in all episodes. If the first choice is
    to follow a route, it takes that. If the agent may type any command, it moves at random. A token is estimated at
    four characters.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311  not used for secrets
        self._numbers = count(1)  # of the texts, so that no two are equal
        self._tried: Counter[tuple[str, object]] = Counter()
        self._definitions: Mapping[str, Any] = {}
        self._location = ""
        self._turn = 1

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return an answer of that schema. Raises ``ResponseInvalid`` if placeholder text breaks a rule of it."""
        form = schema.model_json_schema()
        self._definitions = form.get("$defs", {})
        self._location = next(reversed(_LOCATION.findall(prompt.user)), "")
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
            return self._fill(self._definitions[form["$ref"].rpartition("/")[2]], name)
        if "anyOf" in form:
            first, *others = form["anyOf"]
            is_number_or_none = first.get("type") == "integer" and {"type": "null"} in others
            return None if is_number_or_none else self._fill(first, name)
        choices = form.get("enum") or ([form["const"]] if "const" in form else [])
        if form.get("type") == "string" and name == "action":
            choices = choices or _ANY_COMMANDS
        if not choices:
            return self._fill_freely(form, name)
        if str(choices[0]).startswith(_FOLLOWING):
            return choices[0]
        least = min(self._tried[self._location, choice] for choice in choices)
        drawn = self._random.choice([choice for choice in choices if self._tried[self._location, choice] == least])
        self._tried[self._location, drawn] += 1
        return drawn

    def _fill_freely(self, form: Mapping[str, Any], name: str) -> object:
        match form["type"]:
            case "object":
                return {field: self._fill(each, field) for field, each in form.get("properties", {}).items()}
            case "array":
                return [self._fill(form["items"], name) for _ in range(form.get("minItems", 1))]
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
