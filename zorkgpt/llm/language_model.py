"""What a language model is asked, what it answers, and the one method by which it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from session.values import ROLES, Role, TokenUsage

Answer = TypeVar("Answer", bound=BaseModel)

__all__ = ["ROLES", "Answer", "Completion", "LanguageModel", "Prompt", "Role", "TokenUsage"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a model, in two parts, so that servers can cache its beginning.

    system: never changes within a run
    user: goes from what changes rarely to the present moment (docs/specification.md, Prompt order)
    """

    system: str
    user: str


@dataclass(frozen=True, slots=True)
class Completion(Generic[Answer]):
    """A usable answer and what it cost.

    value: the answer, validated against the schema that was asked for
    reasoning: what the model thought before it answered (``<think>`` and the like, or the server's own field)
    text: the raw text of the answer, thoughts included
    model: the model's name as the server gave it
    usage: tokens of all requests
    seconds: from the first request to the last byte, retries included
    requests: HTTP requests made, retries and repair included
    question_tokens: tokens of the prompt alone, as the server counted it in the request that was answered; 0 where it
        did not, or where the answer was a repaired one. Unlike ``usage`` it is the same however many requests failed.
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
        """Ask the model that plays ``role`` and return its answer as a valid ``schema``.

        Raises ``LanguageModelUnavailable``, ``ResponseInvalid``, ``BudgetSpent`` or ``WaitInterrupted``; never invents
        an answer.
        """
        ...
