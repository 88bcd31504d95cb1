"""A scripted model, which tests and benchmarks use in place of models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from pydantic import BaseModel, ValidationError

from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from zorkgpt.llm.language_model import Answer, Completion, JointAnswer, Prompt, Role, Task, TokenUsage

Reply = BaseModel | Mapping[str, object] | LanguageModelError | BudgetSpent
ReplyFunction = Callable[[Role, Prompt, type[BaseModel]], Reply]


class ScriptedLLM:
    """Answers from a list, in order, or with a function of role, prompt and schema.

    A reply is validated like a real model's; a reply that is an error is raised. After the end of the list, every call
    raises ``LanguageModelUnavailable``. ``calls`` contains every call, answered or not. For a ``JointAnswer`` a
    function is called for each task.
    """

    def __init__(self, replies: Iterable[Reply] | ReplyFunction = (), *, usage: TokenUsage | None = None) -> None:
        self.calls: list[Task] = []
        self._usage = usage or TokenUsage()
        self._replies = replies if callable(replies) else iter(replies)

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return the next reply as a ``schema``, counted as one request that took no time."""
        self.calls.append(Task(role, prompt, schema))
        if callable(self._replies):
            tasks = schema.tasks if issubclass(schema, JointAnswer) else self.calls[-1:]
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
