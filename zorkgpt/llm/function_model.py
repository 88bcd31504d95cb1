"""A function of a Python program in the place of the agent's model (docs/python.md)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from session.errors import LanguageModelUnavailable
from session.values import Observation
from zorkgpt.llm.language_model import Answer, Completion, LanguageModel, Prompt, Role, TokenUsage

if TYPE_CHECKING:
    from pydantic import BaseModel

_SURROGATE = re.compile("[\ud800-\udfff]")
_FUNCTION = "()"
"""The end of the name that a function has in the place of a model's."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What an agent is shown when it has to choose a command.

    observation: what the story shows, read out of the machine
    prompt: the same and all that was learnt, in words: what a language model would read in the agent's place
    choices: the commands to choose from; empty where any may be played
    """

    observation: Observation
    prompt: str
    choices: tuple[str, ...] = ()


Agent = Callable[[Situation], str]
"""Returns the command to play next."""


class FunctionModel:
    """Answers for the agent with what a function returns, and leaves all other roles to a model.

    observe: returns the latest observation
    others: ``None`` where no model is there, and everyone else has to go on without answers
    """

    def __init__(self, agent: Agent, observe: Callable[[], Observation], others: LanguageModel | None = None) -> None:
        self._agent = agent
        self._observe = observe
        self._others = others
        self.name = getattr(agent, "__name__", type(agent).__name__) + _FUNCTION

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return an answer with the command that the function chose.

        What the function raises is raised. Raises ``TypeError`` where it returns no text, ``ValueError`` where that is
        empty, no text that UTF-8 can hold, or none of the commands to choose from.
        """
        if role != "agent":
            if self._others is None:
                raise LanguageModelUnavailable(f"{role} needs a model, and none was named beside {self.name}")
            return self._others.complete(role, prompt, schema)
        choices = _choices(schema)
        began = time.monotonic()
        command = self._agent(Situation(self._observe(), prompt.user, choices))
        seconds = time.monotonic() - began
        if not isinstance(command, str):
            raise TypeError(f"{self.name} returned {command!r}: a command is a text")
        if _SURROGATE.search(command):
            raise ValueError(f"{self.name} returned {command!r}: half a surrogate pair is no character")
        if not command.strip() or (choices and command not in choices):
            raise ValueError(f"{self.name} returned {command!r}, which is no command to choose from here")
        value = schema.model_validate({"reasoning": "", "action": command})
        return Completion(value, "", command, self.name, TokenUsage(), seconds, requests=0)


def function_in(description: str) -> str:
    """Return the name of the function that played by the description of a run's model; "" where none did."""
    name = description.partition(";")[0]
    return name if name.endswith(_FUNCTION) else ""


def _choices(schema: type[BaseModel]) -> tuple[str, ...]:
    """Return the commands that an answer of that form may hold; nothing where it may hold any."""
    return get_args(schema.model_fields["action"].annotation)
