"""A language model that gives prepared answers: for tests, and for playing without a real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from zorkgpt.llm.language_model import Answer, Completion, Prompt, Role, TokenUsage

if TYPE_CHECKING:
    from collections.abc import Iterable

Reply = BaseModel | Mapping[str, object] | LanguageModelError | BudgetSpent
ReplyFunction = Callable[[Role, Prompt, type[BaseModel]], Reply]

_UNCOUNTED = TokenUsage()


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """The arguments of one call to a ``ScriptedLLM``."""

    role: Role
    prompt: Prompt
    schema: type[BaseModel]


class ScriptedLLM:
    """Answers from a list, in order, or with a function of role, prompt and schema.

    A reply is validated as a real model's would be; a reply that is an error is raised. When the list is used up every
    call raises ``LanguageModelUnavailable``. ``calls`` holds every call, answered or not.
    """

    def __init__(
        self,
        replies: Iterable[Reply] | ReplyFunction = (),
        *,
        usage: TokenUsage = _UNCOUNTED,
    ) -> None:
        self.calls: list[ScriptedCall] = []
        self._usage = usage
        self._reply = replies if callable(replies) else _in_order(replies)

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return the next reply as a ``schema``, as if it had taken one request and no time."""
        self.calls.append(ScriptedCall(role, prompt, schema))
        reply = self._reply(role, prompt, schema)
        if isinstance(reply, LanguageModelError | BudgetSpent):
            raise reply
        value = _validated(reply, role, schema)
        return Completion(
            value=value,
            reasoning="",
            text=json.dumps(value.model_dump(mode="json")),  # in ASCII: a reply may hold half a surrogate pair
            model="scripted",
            usage=self._usage,
            seconds=0.0,
            requests=1,
            question_tokens=self._usage.prompt,
        )


def _in_order(replies: Iterable[Reply]) -> ReplyFunction:
    remaining = iter(replies)

    def next_reply(role: Role, _prompt: Prompt, schema: type[BaseModel]) -> Reply:
        exhausted = LanguageModelUnavailable(f"the script has no reply left for {role} ({schema.__name__})")
        return next(remaining, exhausted)

    return next_reply


def _validated(reply: BaseModel | Mapping[str, object], role: Role, schema: type[Answer]) -> Answer:
    fields = reply.model_dump() if isinstance(reply, BaseModel) else reply
    try:
        return schema.model_validate(fields)
    except ValidationError as error:
        raise ResponseInvalid(f"the script's reply for {role} is no {schema.__name__}: {error}") from error
