"""Language models behind OpenAI-compatible servers, with retries."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from threading import Event as Flag
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random
from typing_extensions import Self

from session.errors import ConfigurationError, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.text import counted
from zorkgpt.llm.language_model import ROLES, Answer, Completion, Prompt, Role
from zorkgpt.llm.openai.answers import AnswerIncomplete
from zorkgpt.llm.openai.exchange import AnswerUnfit, Exchange
from zorkgpt.llm.openai.faults import AnswerCutOff, RequestFailed
from zorkgpt.llm.openai.model_server import ModelServer
from zorkgpt.llm.openai.schemas import Limits, RoleSettings
from zorkgpt.llm.openai.served_model import ServedModel

Result = TypeVar("Result")

_LOG = logging.getLogger(__name__)
_DOUBLINGS = 6  # of the longest possible pause, from one second to a minute
_AT_ONCE = 2  # answers of one completion that break off and are asked for again without a pause
_SAID_FROM = 5.0  # seconds that a model is waited for before it is said


class OpenAIModel:
    """Each role's model on its server. Roles with the same URL and key share the connections.

    The server constrains answers to their schema, or if it cannot, the prompt describes the schema. What a server
    rejects is remembered for the life of this object. ``Completion.usage`` sums all requests of a completion; it is
    zero if the server does not count tokens.

    sleep, clock: seconds, monotonic
    stop: set when the run is to stop; cancels the current request
    """

    def __init__(
        self,
        settings: Mapping[Role, RoleSettings],
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        stop: Flag | None = None,
    ) -> None:
        self._settings = dict(settings)
        self._sleep = sleep
        self._clock = clock
        self._models: dict[Role, ServedModel] = {}
        keys = [each.api_key for each in settings.values()]
        server = cache(partial(ModelServer, clock=clock, other_keys=keys, stop=stop))
        served = cache(partial(ServedModel, clock=clock))
        for role in (role for role in ROLES if role in settings):
            place = settings[role]
            try:
                self._models[role] = served(server(place.base_url, place.api_key), place.model)
            except ConfigurationError as error:
                raise ConfigurationError(f"{role}: {error}") from None

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return a valid answer of the model for ``role``, with retries within its limits.

        Raises ``LanguageModelUnavailable`` (also a ``ConfigurationError`` if the user can fix it) or
        ``ResponseInvalid`` in one line with role, model and server, or ``WaitInterrupted`` after a stop.
        """
        if role not in self._models:
            raise ConfigurationError(f"{role}: no model is configured for this role")
        settings, model = self._settings[role], self._models[role]
        exchange = Exchange(prompt, schema, settings.sampling, f"{role}_sampling.max_tokens")
        start = self._clock()
        retries = Retries(f"{role}: {model.label}", settings.limits, self._sleep, self._clock)
        try:
            usable = retries.ask(partial(model.answer, exchange, settings))
        except LanguageModelError as error:
            spent = f"{counted(exchange.requests, 'request')} in {self._clock() - start:.0f} s"
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
        """Request the name of the first model from the servers of roles without a configured model.

        Raises ``LanguageModelUnavailable`` in one line if a server does not list any.
        """
        for role, model in self._models.items():
            try:
                model.find_name()
            except RequestFailed as error:
                raise model.refusal(error, f"{role}: {model.label}") from error.__cause__
            except LanguageModelError as error:
                raise type(error)(f"{role}: {model.label}: {error}") from error.__cause__

    def try_out(self, role: Role) -> None:
        """Make sure that the model that plays ``role`` can be used; wait for one that is down, as for an answer.

        Raises ``LanguageModelUnavailable`` as ``complete`` does.
        """
        limits, model, start = self._settings[role].limits, self._models[role], self._clock()
        retries = Retries(f"{role}: {model.label}", limits, self._sleep, self._clock)
        try:
            retries.ask(partial(model.try_out, limits))
        except LanguageModelError as error:
            spent = f"{self._clock() - start:.0f} s"
            raise _explained(error, role, model, spent) from error.__cause__

    def describe(self) -> str:
        """Return each distinct model and its server, in the order of the roles, without a request."""
        return ", ".join(dict.fromkeys(model.label for model in self._models.values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for model in self._models.values():
            model.close()


class Retries:
    """Retries one completion within its limits, and reports long waits.

    A model that is down or rate-limited is retried for ``limits.patience``. An unusable answer is requested again up
    to ``limits.attempts`` times within ``limits.total``, without the time in which the model is down. Pauses grow
    exponentially with full jitter, or follow the server's ``Retry-After``. A pause that would end too late is not
    begun. There is no pause after an answer that does not fit its schema, nor after the first two truncated ones.
    """

    def __init__(self, label: str, limits: Limits, sleep: Callable[[float], None], clock: Callable[[], float]) -> None:
        self._label = label
        self._limits = limits
        self._sleep = sleep
        self._clock = clock
        self._deadline = clock() + limits.total
        self._down_since: float | None = None
        self._unusable = self._broken_off = self._pauses = 0
        self._say_from = _SAID_FROM

    def ask(self, answer: Callable[[float], Result]) -> Result:
        """Call ``answer`` with its deadline until it returns one, or raise its last error."""
        retrying = Retrying(
            retry=retry_if_exception(_may_pass),
            wait=self._pause,
            stop=self._is_over,
            before_sleep=self._say,
            sleep=lambda seconds: self._sleep(seconds) if seconds else None,
            reraise=True,
        )
        for attempt in retrying:
            with attempt:
                down_for = self._down_for()
                try:
                    result = answer(self._deadline + down_for)
                except RequestFailed:
                    self._down_since = self._clock() if self._down_since is None else self._down_since
                    raise
                except ResponseInvalid:
                    self._unusable += 1
                    self._note_that_it_is_up(down_for)
                    raise
                self._note_that_it_is_up(down_for)
        return result

    def _note_that_it_is_up(self, down_for: float) -> None:
        if down_for and self._say_from > _SAID_FROM:
            _LOG.warning("%s: answers again, after %s", self._label, _spelt(down_for))
        self._deadline += down_for
        self._down_since = None
        self._say_from = _SAID_FROM

    def _down_for(self) -> float:
        return 0.0 if self._down_since is None else self._clock() - self._down_since

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        broke_off = isinstance(error, AnswerIncomplete | AnswerCutOff)
        self._broken_off += broke_off
        if isinstance(error, AnswerUnfit) or (broke_off and self._broken_off <= _AT_ONCE):
            return 0.0
        self._pauses += 1
        asked_for = error.retry_after if isinstance(error, RequestFailed) else None
        return asked_for or wait_random(0.0, 2.0 ** min(self._pauses - 1, _DOUBLINGS))(state)

    def _is_over(self, state: RetryCallState) -> bool:
        if self._down_since is not None:
            is_late = self._down_since >= self._deadline
            return is_late or self._down_for() + state.upcoming_sleep >= self._limits.patience
        return self._unusable >= self._limits.attempts or self._clock() + state.upcoming_sleep >= self._deadline

    def _say(self, state: RetryCallState) -> None:
        """Report the retry. If the model is down, report that after a while and each time the wait has doubled."""
        problem = state.outcome.exception() if state.outcome else None
        if self._down_since is None:
            _LOG.info("asked again, %d of %d: %s", self._unusable + 1, self._limits.attempts, problem)
        else:
            _LOG.info("down for %s of %s: %s", _spelt(self._down_for()), _spelt(self._limits.patience), problem)
        waited = self._down_for() + state.upcoming_sleep
        if self._down_since is not None and state.outcome is not None and waited >= self._say_from:
            self._say_from = 2 * waited
            patience = _spelt(self._limits.patience)
            _LOG.warning("%s: %s; waiting for it, at most %s", self._label, state.outcome.exception(), patience)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, ResponseInvalid) or (isinstance(error, RequestFailed) and error.transient)


def _spelt(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.0f} s"


def _explained(error: LanguageModelError, role: Role, model: ServedModel, spent: str) -> LanguageModelError:
    place = f"{role}: {model.label}"
    if isinstance(error, ResponseInvalid):
        return ResponseInvalid(f"{place}: {error}; gave up after {spent}")
    if not isinstance(error, RequestFailed):
        return type(error)(f"{place}: {error}")
    if not error.transient:
        return model.refusal(error, place)
    wait = f"; the server asks to wait {error.retry_after:.0f} s" if error.retry_after else ""
    return LanguageModelUnavailable(
        f"{place}: {error}; gave up after {spent}{wait}; llm.patience sets how long to wait"
    )
