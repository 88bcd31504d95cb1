"""Language models behind OpenAI-compatible servers, with retries."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import takewhile
from threading import Event as Flag
from typing import Any, TypeVar

from typing_extensions import Self

from session.errors import ConfigurationError, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.game_configuration import LanguageModelOptions, RoleOptions
from session.text import counted
from zorkgpt.llm.language_model import ROLES, Answer, Completion, Prompt, Role
from zorkgpt.llm.openai.answers import AnswerIncomplete
from zorkgpt.llm.openai.faults import AnswerCutOff, RequestFailed
from zorkgpt.llm.openai.model_server import ModelServer
from zorkgpt.llm.openai.served_model import AnswerUnfit, Exchange, ServedModel

Result = TypeVar("Result")

_LOG = logging.getLogger(__name__)
_DOUBLINGS = 6  # of the longest possible pause, from one second to a minute
_AT_ONCE = 2  # answers of one completion that break off and are asked for again without a pause
_MOST_MARKS = 3  # of a user prompt: Anthropic's models allow four in a request, one of which marks the instructions
_REPORTED_FROM = 5.0  # seconds of waiting for a model that is down


class OpenAIModel:
    """Each role's model on its server. Roles with the same URL and key share the connections.

    What a server rejects is remembered for the life of this object.

    sleep, clock: seconds, monotonic
    """

    def __init__(
        self,
        settings: Mapping[Role, RoleOptions],
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        stop: Flag | None = None,
    ) -> None:
        self._settings = dict(settings)
        self._sleep = sleep
        self._clock = clock
        self._models: dict[Role, ServedModel] = {}
        self._marked: dict[Role, tuple[str, tuple[int, ...]]] = {}
        keys = {role: each.api_key.get_secret_value() for role, each in settings.items() if each.api_key}
        server = cache(partial(ModelServer, clock=clock, other_keys=tuple(keys.values()), stop=stop))
        served = cache(partial(ServedModel, clock=clock))
        for role in (role for role in ROLES if role in settings):
            place = settings[role]
            try:
                self._models[role] = served(server(place.base_url, keys.get(role)), place.model)
            except ConfigurationError as error:
                raise ConfigurationError(f"{role}: {error}") from None

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return a valid answer of the model for ``role``, with retries within its limits.

        Raises ``LanguageModelUnavailable`` (also a ``ConfigurationError`` if the user can fix it) or
        ``ResponseInvalid`` in one line with role, model and server, or ``WaitInterrupted`` after a stop.
        """
        if role not in self._models:
            raise ConfigurationError(f"{role}: no model is configured for this role")
        settings = self._settings[role]
        marks = self._stable_parts(role, prompt) if settings.marks_cache else None
        exchange = Exchange(prompt, schema, settings.sampling, f"{role}_sampling.max_tokens", marks)
        start = self._clock()
        completion = self._retry(role, partial(self._models[role].answer, exchange, settings), exchange)
        return replace(completion, seconds=self._clock() - start)

    def find_names(self) -> dict[Role, str]:
        """Return the name of each role's model; without a configured model, its server's first one is requested.

        Raises ``LanguageModelUnavailable`` in one line if a server does not list any.
        """
        names = {}
        for role, model in self._models.items():
            try:
                names[role] = model.find_name()
            except LanguageModelError as error:
                raise _explained(error, role, model) from error.__cause__
        return names

    def try_out(self, roles: Collection[Role], waits: bool) -> None:
        """Make sure that each distinct model of the roles can be used, with one short request to its server.

        A request has the fields that options add, if there are any.

        waits: the agent's model is waited for if it is down, as for an answer; no other one needs to be up

        An embedded model is not tried. Raises ``LanguageModelUnavailable`` as ``complete`` does.
        """
        tried: dict[ServedModel, list[str]] = {}
        for role in sorted(roles, key=lambda role: not self._settings[role].asked_for):
            model, settings = self._models[role], self._settings[role]
            fields = json.dumps([settings.extra_body[name] for name in settings.asked_for])
            before = tried.setdefault(model, [])
            if settings.engine == "embedded" or fields in before or (before and not settings.asked_for):
                continue
            before.append(fields)
            if waits and model is self._models.get("agent") and "agent" in roles:
                self._retry(role, partial(model.try_out, settings))
                continue
            try:
                model.try_out(settings, self._clock() + settings.limits.timeout)
            except LanguageModelError as error:
                if not (isinstance(error, RequestFailed) and error.transient):
                    raise _explained(error, role, model) from error.__cause__
                _LOG.warning("%s: %s: %s; it is tried again when it is needed", role, model.label, error)

    def names(self) -> tuple[str, ...]:
        """Return the distinct models in the order of the roles, without a request."""
        return tuple(dict.fromkeys(model.name for model in self._models.values()))

    def servers(self) -> tuple[str, ...]:
        """Return the URLs of the distinct servers in the order of the roles."""
        return tuple(dict.fromkeys(model.server.address for model in self._models.values()))

    def _stable_parts(self, role: Role, prompt: Prompt) -> tuple[int, ...]:
        """Return the ends, in characters, of the beginnings that the prompt shares with other prompts of the role.

        A server finds only what ended at a mark in an earlier request. Therefore earlier marks are kept, and a new one
        follows the part in which the prompt began to differ from the previous one: most parts grow at their end. None
        of them is blank, because servers refuse that.
        """
        user, (before, marks) = prompt.user, self._marked.get(role, ("", ()))
        lines = zip(user.splitlines(keepends=True), before.splitlines(keepends=True), strict=False)
        same = sum(len(line) for line, _ in takewhile(lambda pair: pair[0] == pair[1], lines))
        marks = tuple(mark for mark in marks if mark <= same)
        end = next((start for start in prompt.starts if start > same), max(prompt.starts, default=0))
        if user[max(marks, default=0) : end].strip():
            marks = (*marks, end)[-_MOST_MARKS:]
        self._marked[role] = user, marks
        return marks

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for model in self._models.values():
            model.server.close()

    def _retry(self, role: Role, request: Callable[[float], Result], exchange: Exchange[Any] | None = None) -> Result:
        """Return the result of ``request``, which takes a deadline, or raise its last error in one line."""
        model, start = self._models[role], self._clock()
        retries = Retries(f"{role}: {model.label}", self._settings[role].limits, self._sleep, self._clock)
        try:
            return retries.ask(request)
        except LanguageModelError as error:
            spent = f"{self._clock() - start:.0f} s"
            if exchange is not None:
                spent = f"{counted(exchange.requests, 'request')} in {spent}"
            explained = _explained(error, role, model, spent, limit=retries.limit)
            if exchange is None:
                raise explained from error.__cause__
            explained.after(exchange.model, exchange.usage, exchange.requests, exchange.unusable)
            raise explained from error.__cause__


class Retries:
    """Retries one completion within its limits, and reports long waits.

    A model that is down or rate-limited is retried for ``limits.patience``. An unusable answer is requested again up
    to ``limits.max_attempts`` times within ``limits.total_time``, without the time in which the model is down. Pauses
    grow exponentially with full jitter, or follow the server's ``Retry-After``. A pause that would end too late is
    left out. There is no pause after an answer that does not fit its schema, nor after the first two truncated ones.
    """

    def __init__(
        self, label: str, limits: LanguageModelOptions, sleep: Callable[[float], None], clock: Callable[[], float]
    ) -> None:
        self._label = label
        self._limits = limits
        self._sleep = sleep
        self._clock = clock
        self._deadline = clock() + limits.total_time
        self._down_since: float | None = None
        self._unusable = self._broken_off = self._pauses = 0
        self._report_from = _REPORTED_FROM

    def ask(self, request: Callable[[float], Result]) -> Result:
        """Call ``request`` with its deadline until it returns a result, or raise its last error."""
        while True:
            down_for = self._down_for()
            problem: LanguageModelError
            try:
                result = request(self._deadline + down_for)
            except RequestFailed as error:
                if not error.transient:
                    raise
                problem = error
                self._down_since = self._clock() if self._down_since is None else self._down_since
            except ResponseInvalid as error:
                problem = error
                self._unusable += 1
                self._note_that_it_is_up(down_for)
            else:
                self._note_that_it_is_up(down_for)
                return result
            pause = self._pause_after(problem)
            if self._is_over(pause):
                raise problem
            self._report(problem, pause)
            if pause:
                self._sleep(pause)

    @property
    def limit(self) -> str:
        """The option that limits how long the model is waited for now."""
        is_late = self._down_since is not None and self._down_since >= self._deadline
        return "llm.total_time" if is_late else "llm.patience"

    def _down_for(self) -> float:
        return 0.0 if self._down_since is None else self._clock() - self._down_since

    def _note_that_it_is_up(self, down_for: float) -> None:
        if down_for and self._report_from > _REPORTED_FROM:
            _LOG.warning("%s: answers again, after %s", self._label, _spelt(down_for))
        self._deadline += down_for
        self._down_since = None
        self._report_from = _REPORTED_FROM

    def _pause_after(self, problem: LanguageModelError) -> float:
        broke_off = isinstance(problem, AnswerIncomplete | AnswerCutOff)
        self._broken_off += broke_off
        if isinstance(problem, AnswerUnfit) or (broke_off and self._broken_off <= _AT_ONCE):
            return 0.0
        self._pauses += 1
        asked_for = problem.retry_after if isinstance(problem, RequestFailed) else None
        return asked_for or random.uniform(0.0, 2.0 ** min(self._pauses - 1, _DOUBLINGS))  # noqa: S311  no secret

    def _is_over(self, pause: float) -> bool:
        if self._down_since is not None:
            return self.limit == "llm.total_time" or self._down_for() + pause >= self._limits.patience
        return self._unusable >= self._limits.max_attempts or self._clock() + pause >= self._deadline

    def _report(self, problem: LanguageModelError, pause: float) -> None:
        """Report the retry. If the model is down, report that after a while and each time the wait has doubled."""
        if self._down_since is None:
            _LOG.info("asked again, %d of %d: %s", self._unusable + 1, self._limits.max_attempts, problem)
            return
        patience = _spelt(self._limits.patience)
        _LOG.info("down for %s of %s: %s", _spelt(self._down_for()), patience, problem)
        waited = self._down_for() + pause
        if waited >= self._report_from:
            self._report_from = 2 * waited
            _LOG.warning("%s: %s; waiting for it, at most %s", self._label, problem, patience)


def _spelt(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.0f} s"


def _explained(
    error: LanguageModelError, role: Role, model: ServedModel, spent: str = "", limit: str = ""
) -> LanguageModelError:
    """Return the error in one line with role, model and server.

    spent: the requests and the time of all attempts; "" if there was only one attempt
    limit: the option by which there are no more of them
    """
    place = f"{role}: {model.label}"
    gave_up = f"{place}: {error}; gave up after {spent}" if spent else f"{place}: {error}"
    if isinstance(error, ResponseInvalid):
        return ResponseInvalid(gave_up)
    if not isinstance(error, RequestFailed):
        return type(error)(f"{place}: {error}")
    if not (error.transient and spent):
        return model.refusal(error, place)
    wait = f"; the server asks to wait {error.retry_after:.0f} s" if error.retry_after else ""
    return LanguageModelUnavailable(f"{gave_up}{wait}; {limit} sets how long to wait")
