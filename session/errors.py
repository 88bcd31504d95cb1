"""The errors that ZorkGPT raises.

    ZorkGPTError
      ConfigurationError        a wrong option or a missing key: its name, its source, and the expected value
      StoryError                not a story file, an unknown version, or a corrupt file
      GameError                 the interpreter crashed, hung or refused
      LanguageModelError        a model call without a usable answer
        LanguageModelUnavailable    no server, no permission, or still failing after the retries
        ResponseInvalid             no answer matches the schema
      BudgetSpent               the run's limit on tokens, money or time is reached
      WaitInterrupted           the run was stopped while it waited for a model
      StoreError                memories, map, knowledge or journal cannot be read or written

Exceptions of other libraries are converted at the call, with ``raise ... from``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from session.values import TokenUsage

if TYPE_CHECKING:  # --help prints errors, and need not wait for Pydantic
    from pydantic import ValidationError
    from typing_extensions import Self


class ZorkGPTError(Exception):
    """The base of all errors of ZorkGPT; the message is one line."""

    exit_status = 1


class ConfigurationError(ZorkGPTError):
    """An option is wrong or missing; the message has its name, its source and the expected value."""

    exit_status = 2


class StoryError(ZorkGPTError):
    """The file is not a playable story; the message has the reason."""

    exit_status = 2


class GameError(ZorkGPTError):
    """The interpreter crashed, hung or refused."""


class LanguageModelError(ZorkGPTError):
    """A model call gave no usable answer.

    model, usage: the model that gave an unusable answer, and its tokens; "" and zeros if there was no answer
    requests: how many were sent
    unusable: the beginnings of its answers, as the model wrote them
    """

    model = ""
    usage = TokenUsage()
    requests = 0
    unusable: tuple[str, ...] = ()

    def after(self, model: str, usage: TokenUsage, requests: int, unusable: Iterable[str]) -> Self:
        """Return the error with what was sent and answered before it."""
        self.model, self.usage, self.requests, self.unusable = model, usage, requests, tuple(unusable)
        return self


class LanguageModelUnavailable(LanguageModelError):
    """The model cannot be reached, or still fails after the retries."""


class ResponseInvalid(LanguageModelError):
    """The model's answers cannot be used."""


class BudgetSpent(ZorkGPTError):
    """The run's limit on tokens, money or time is reached.

    It is not a ``LanguageModelError``, because callers that can continue without an answer must stop as well.
    """


class WaitInterrupted(ZorkGPTError):
    """The run was stopped while it waited for a model.

    Like ``BudgetSpent`` it is not a ``LanguageModelError``: the call is repeated when the run is resumed.
    """


class StoreError(ZorkGPTError):
    """A file of the work folder cannot be read or written."""


def require_count(name: str, number: object) -> None:
    """Raise ``ConfigurationError`` with the name of an argument that is not a whole number of at least 1."""
    if not isinstance(number, int):
        raise ConfigurationError(f"{name} is {number!r}; expected a whole number")
    if number < 1:
        raise ConfigurationError(f"{name} is {number}; expected at least 1")


@contextmanager
def reported_as(problem: str, kind: type[ZorkGPTError] = StoreError) -> Iterator[None]:
    """Raise an ``OSError`` of the block as an error of that kind: the problem, a colon and the reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{problem}: {error.strerror or error}") from error


def problems_in(error: ValidationError, whole: str = "the file") -> list[str]:
    """Return one line for each validation error: its location, a colon and the message.

    whole: the location to print for an error of the whole value
    """
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return [f"{'.'.join(map(str, problem['loc'])) or whole}: {problem['msg']}" for problem in problems]


def first_problem(error: ValidationError, whole: str = "the file") -> str:
    """Return the first of :func:`problems_in`."""
    return problems_in(error, whole)[0]
