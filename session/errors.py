"""Every error that ZorkGPT raises on purpose.

    ZorkGPTError
      ConfigurationError        a wrong option or a missing key: which one, where, and what would be right
      StoryError                not a story file, an unknown version, or a corrupt one
      GameError                 the interpreter died, hung or refused
      LanguageModelError        a model call that gave no usable answer
        LanguageModelUnavailable    no server, no permission, or still failing after the retries
        ResponseInvalid             answers came, but none that fits the schema
      BudgetSpent               the run's own limit on tokens, money or time is reached
      WaitInterrupted           the run was stopped while it waited for a model
      StoreError                memories, map, knowledge or journal cannot be read or written

Foreign exceptions are translated where the foreign code is called, with ``raise ... from``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.values import TokenUsage

if TYPE_CHECKING:  # --help prints errors, and need not wait for Pydantic
    from pydantic import ValidationError


class ZorkGPTError(Exception):
    """The base of all errors of ZorkGPT: its message says in one line what went wrong."""

    exit_status = 1


class ConfigurationError(ZorkGPTError):
    """An option is wrong or missing; the message names it, where it was given and what would be right."""

    exit_status = 2


class StoryError(ZorkGPTError):
    """The file is not a story this program can play; the message says what is wrong with it."""

    exit_status = 2


class GameError(ZorkGPTError):
    """The interpreter died, hung or refused."""


class LanguageModelError(ZorkGPTError):
    """A model call gave no usable answer.

    model, usage: the model that gave an unusable answer, and its tokens; "" and zeros where none came
    """

    model = ""
    usage = TokenUsage()


class LanguageModelUnavailable(LanguageModelError):
    """The model cannot be reached, or went on failing after the retries."""


class ResponseInvalid(LanguageModelError):
    """The model answered, and the answer cannot be used."""


class BudgetSpent(ZorkGPTError):
    """The run's own limit on tokens, money or time is reached.

    It is no ``LanguageModelError``, because whoever can go on without an answer has to stop all the same.
    """


class WaitInterrupted(ZorkGPTError):
    """The run was stopped while it waited for a model.

    Like ``BudgetSpent`` it is no ``LanguageModelError``: nobody goes on without the answer, which is asked for again
    when the run is resumed.
    """


class StoreError(ZorkGPTError):
    """A file of the work folder cannot be read or written."""


def problems_in(error: ValidationError, whole: str = "the file") -> list[str]:
    """Return one line for each thing that did not validate: its place, a colon and what is wrong with it.

    whole: what to call the place where the problem is with all of it
    """
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return [f"{'.'.join(map(str, problem['loc'])) or whole}: {problem['msg']}" for problem in problems]


def first_problem(error: ValidationError, whole: str = "the file") -> str:
    """Return the first of :func:`problems_in`."""
    return problems_in(error, whole)[0]
