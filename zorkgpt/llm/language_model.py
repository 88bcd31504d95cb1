"""The one door to a language model, and what comes back through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from session.values import ROLES, Role, TokenUsage

Answer = TypeVar("Answer", bound=BaseModel)

__all__ = ["ROLES", "Answer", "Completion", "LanguageModel", "Prompt", "Role", "TokenUsage"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question. ``system`` holds what never changes within a run, so that it caches;
    ``user`` goes from what changes rarely to the present moment (decision 25).
    """

    system: str
    user: str


@dataclass(frozen=True, slots=True)
class Completion(Generic[Answer]):
    """A usable answer.

    value: the answer, validated against the schema that was asked for
    reasoning: what the model thought before it answered (``<think>`` and the like, or the server's own field)
    text: the raw text of the answer, thoughts included
    model: the model's name as the server gave it
    seconds: from the first request to the last byte, retries included
    requests: HTTP requests made, retries and repair included
    question_tokens: of the prompt alone, as the server counted it in the request that was answered; 0 where it did
        not, or where the answer was a repaired one. Unlike ``usage`` it is the same however many requests failed.
    """

    value: Answer
    reasoning: str
    text: str
    model: str
    usage: TokenUsage
    seconds: float
    requests: int
    question_tokens: int = 0


class LanguageModel(Protocol):
    """Answers prompts with validated values."""

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """A validated answer of type ``schema`` from the model that plays ``role``.

        Raises ``LanguageModelUnavailable``, ``ResponseInvalid`` or ``BudgetSpent``; never invents an answer.
        """
        ...

    def describe(self) -> str:
        """The model and where it runs, for the first line of output; never a key."""
        ...

    def close(self) -> None:
        """Connections and servers of this model are gone."""
        ...
