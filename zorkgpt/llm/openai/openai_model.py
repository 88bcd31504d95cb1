"""Language models behind OpenAI-compatible servers, asked again where that can help."""

from __future__ import annotations

import time
from functools import cache, partial
from typing import TYPE_CHECKING

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential

from session.errors import ConfigurationError, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from zorkgpt.llm.language_model import ROLES, Answer, Completion, Prompt, Role
from zorkgpt.llm.openai.answers import AnswerIncomplete
from zorkgpt.llm.openai.exchange import Exchange
from zorkgpt.llm.openai.faults import RequestFailed
from zorkgpt.llm.openai.model_server import ModelServer
from zorkgpt.llm.openai.served_model import ServedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Self

    from zorkgpt.llm.openai.settings import RoleSettings

_FULL_JITTER = wait_random_exponential(multiplier=1.0, max=60.0)


class OpenAIModel:
    """Each role's model on its server; roles that share address and key share the connections.

    Answers are held to their schema by the server, or by words in the prompt where it cannot do
    that; what a server refuses is remembered for the life of this object. ``Completion.usage``
    sums all requests of a completion; a server that does not count leaves zeros.

    sleep, clock: seconds, monotonic
    """

    def __init__(
        self,
        settings: Mapping[Role, RoleSettings],
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = dict(settings)
        self._sleep = sleep
        self._clock = clock
        self._models: dict[Role, ServedModel] = {}
        keys = [each.api_key for each in settings.values()]
        server = cache(partial(ModelServer, clock=clock, other_keys=keys))
        served = cache(partial(ServedModel, clock=clock))
        for role in (role for role in ROLES if role in settings):
            place = settings[role]
            try:
                self._models[role] = served(server(place.base_url, place.api_key), place.model)
            except ConfigurationError as error:
                raise ConfigurationError(f"{role}: {error}") from None

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return a validated answer of the model that plays ``role``, after as many requests as its limits allow.

        Raises ``LanguageModelUnavailable`` (a ``ConfigurationError`` too where the user can mend it)
        or ``ResponseInvalid``, in one line that names role, model and server.
        """
        if role not in self._models:
            raise ConfigurationError(f"{role}: no model is configured for this role")
        settings, model = self._settings[role], self._models[role]
        exchange = Exchange(prompt, schema, settings.sampling)
        start = self._clock()
        deadline = start + settings.limits.total
        try:
            usable = self._retrying(settings.limits.attempts, deadline)(model.answer, exchange, settings, deadline)
        except LanguageModelError as error:
            spent = f"{exchange.requests} requests in {self._clock() - start:.0f} s"
            explained = _explained(error, role, model, spent)
            explained.model, explained.usage = exchange.model, exchange.usage
            raise explained from error.__cause__
        return Completion(
            value=usable.value,
            reasoning=usable.reasoning,
            text=usable.text,
            model=usable.model,
            usage=exchange.usage,
            seconds=self._clock() - start,
            requests=exchange.requests,
            question_tokens=usable.question_tokens,
        )

    def find_names(self) -> None:
        """Ask the servers of roles without a model's name for their first model.

        Raises ``LanguageModelUnavailable`` in one line where a server does not say.
        """
        for role, model in self._models.items():
            try:
                model.find_name()
            except RequestFailed as error:
                raise model.refusal(error, f"{role}: {model.label}") from error.__cause__
            except LanguageModelError as error:
                raise type(error)(f"{role}: {model.label}: {error}") from error.__cause__

    def describe(self) -> str:
        """Return each distinct model and its server, in the order of the roles; asks no server."""
        return ", ".join(dict.fromkeys(model.label for model in self._models.values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for model in self._models.values():
            model.close()

    def _retrying(self, attempts: int, deadline: float) -> Retrying:
        """Return a caller that tries again after what may pass, and in the end raises the last error.

        Pauses grow exponentially with full jitter, or are what the server asks for. No attempt begins
        after ``deadline`` (by the clock): a pause that would end later is not begun.
        """

        def exhausted(state: RetryCallState) -> bool:
            return state.attempt_number >= attempts or self._clock() + state.upcoming_sleep >= deadline

        return Retrying(
            retry=retry_if_exception(_may_pass),
            wait=_pause,
            stop=exhausted,
            sleep=self._sleep,
            reraise=True,
        )


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, AnswerIncomplete) or (isinstance(error, RequestFailed) and error.transient)


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked_for = error.retry_after if isinstance(error, RequestFailed) else None
    return _FULL_JITTER(state) if asked_for is None else asked_for


def _explained(error: LanguageModelError, role: Role, model: ServedModel, spent: str) -> LanguageModelError:
    place = f"{role}: {model.label}"
    if isinstance(error, AnswerIncomplete):
        return ResponseInvalid(f"{place}: {error}; gave up after {spent}")
    if not isinstance(error, RequestFailed):
        return type(error)(f"{place}: {error}")
    if not error.transient:
        return model.refusal(error, place)
    wait = f"; the server asks to wait {error.retry_after:.0f} s" if error.retry_after else ""
    return LanguageModelUnavailable(f"{place}: {error}; gave up after {spent}{wait}")
