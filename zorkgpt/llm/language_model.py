"""The protocol of a language model, its prompts and its completions."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar, Generic, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, ValidationInfo
from pydantic_core import PydanticCustomError
from typing_extensions import Self

from session.errors import LanguageModelUnavailable
from session.values import ROLES, Role, TokenUsage

Answer = TypeVar("Answer", bound=BaseModel)
Written = TypeVar("Written", bound=Sized)

AS_WRITTEN = "as a model wrote it"
"""The validation context of an answer that was not recorded yet, in which a schema may correct its form."""
AS_REPAIRED = "as a model wrote it again"
"""The same for an answer after an objection to the first: what is still too long is accepted."""
TOO_LONG = "too_long_to_show"

__all__ = [
    "AS_REPAIRED",
    "AS_WRITTEN",
    "ROLES",
    "TOO_LONG",
    "Answer",
    "Completion",
    "LanguageModel",
    "NoModel",
    "Prompt",
    "Role",
    "TokenUsage",
    "at_most",
]


def at_most(number: int, unit: str = "characters") -> AfterValidator:
    """Return a validator of a text or a list in an answer, for a field whose description states the limit.

    A longer one is requested again once, and then accepted whole: nothing that a model wrote is cut. A limit in the
    JSON schema would make servers with constrained answers break the text off.
    """

    def validate(value: Written, info: ValidationInfo) -> Written:
        if info.context == AS_WRITTEN and len(value) > number:
            limits = {"length": len(value), "most": number, "unit": unit}
            raise PydanticCustomError(TOO_LONG, "it has {length} {unit}, at most {most} are allowed", limits)
        return value

    return AfterValidator(validate)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt, in two parts, so that servers can cache its beginning.

    system: never changes within a run
    user: ordered from what changes rarely to the present moment (docs/records/specification.md, Prompt order)
    shows: the keys of the items that are whole in it, of known ones as in ``managers/known.py``; no model gets them
    starts: where the parts of ``user`` begin, in characters
    """

    system: str
    user: str
    shows: tuple[str, ...] = field(default=(), compare=False, repr=False)
    starts: tuple[int, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, system: str, parts: Sequence[str], shows: tuple[str, ...] = ()) -> Self:
        """Return the prompt whose user message consists of the parts, with blank lines between them."""
        starts = accumulate((len(part) + 2 for part in parts), initial=0)
        return cls(system, "\n\n".join(parts), shows, tuple(starts)[:-1])

    @property
    def length(self) -> int:
        """Return the number of characters."""
        return len(self.system) + len(self.user)


@dataclass(frozen=True, slots=True)
class Completion(Generic[Answer]):
    """A usable answer and its cost.

    reasoning: the model's reasoning before the answer, from ``<think>`` or similar tags or the server's own field
    text: the raw text of the answer, reasoning included
    model: the model name that the server returned
    usage: tokens of all requests
    seconds: from the first request to the last byte, retries included
    requests: HTTP requests made, retries and repair included
    question_tokens: tokens of the prompt alone, as the server counted them in the request that succeeded; 0 if it did
        not count them or the answer was repaired. Unlike ``usage``, it does not depend on failed requests.
    unusable: the beginnings of the answers before it that could not be used, as the model wrote them
    """

    value: Answer
    reasoning: str
    text: str
    model: str
    usage: TokenUsage
    seconds: float
    requests: int
    question_tokens: int = 0
    unusable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A question to a model in some role."""

    role: Role
    prompt: Prompt
    schema: type[BaseModel]


class JointAnswer(BaseModel):
    """The answers to all tasks."""

    tasks: ClassVar[Sequence[Task]] = ()


class LanguageModel(Protocol):
    """Answers prompts with validated values."""

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Send the prompt to the model for ``role`` and return its answer as a valid ``schema``.

        Raises ``LanguageModelUnavailable``, ``ResponseInvalid``, ``BudgetSpent`` or ``WaitInterrupted``; never invents
        an answer.
        """
        ...


class NoModel:
    """Answers no prompt: no model is configured."""

    def complete(self, role: Role, _prompt: Prompt, _schema: type[Answer]) -> Completion[Answer]:
        """Raise ``LanguageModelUnavailable``."""
        raise LanguageModelUnavailable(f"{role}: no model is configured")
