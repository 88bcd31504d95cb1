"""A person in the place of the agent's model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from session.command_reading import commands_of
from session.errors import LanguageModelUnavailable
from session.vocabulary import Vocabulary
from zorkgpt.llm.language_model import Completion, LanguageModel, TokenUsage

if TYPE_CHECKING:
    from zorkgpt.llm.language_model import Answer, Prompt, Role

PERSON = "a person"
"""What stands in the place of the model's name."""
LEAVING = "quit"
"""What a person types to end the episode; no story is ever given it."""


@dataclass(slots=True)
class PersonModel:
    """Lets a person choose the commands, and passes all else on to a model.

    read_line: waits until the person has typed a line, and returns it; raises ``WaitInterrupted``
    others: ``None`` where a person plays without any model

    A line of several commands is as many answers.
    """

    read_line: Callable[[], str]
    vocabulary: Vocabulary
    others: LanguageModel | None = None
    _typed: list[str] = field(default_factory=list)

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return the command that the person wants to play now, or the model's answer."""
        if role != "agent":
            if self.others is None:
                raise LanguageModelUnavailable(f"{role}: no model is configured")
            return self.others.complete(role, prompt, schema)
        begun = time.monotonic()
        self._typed = self._typed or commands_of(self.read_line(), self.vocabulary)
        value = schema.model_validate({"action": self._typed.pop(0)})
        seconds = time.monotonic() - begun
        return Completion(value, "", value.model_dump_json(), PERSON, TokenUsage(), seconds, requests=0)
