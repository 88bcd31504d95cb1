"""One model on one server: its name, the fields of a request that it understands, and its replies."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, JsonValue

from session.errors import LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.game_configuration import Sampling
from zorkgpt.llm.language_model import Answer
from zorkgpt.llm.openai.exchange import Exchange, UsableAnswer
from zorkgpt.llm.openai.faults import RequestFailed, ServerRefuses
from zorkgpt.llm.openai.model_server import BASE_URL_MEND, ModelServer
from zorkgpt.llm.openai.schemas import Limits, RoleSettings, response_format

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_LOG = logging.getLogger(__name__)
TRIAL: Final[list[ChatCompletionMessageParam]] = [{"role": "user", "content": "Reply with OK."}]
_TRIAL_LENGTH = 1000  # characters of the reply that are read: enough for an error
_NAMES_SHOWN = 8
_SIGNS_OF_NO_SCHEMA = 2
_KEY_MEND = "set llm.api_key, or OPENAI_API_KEY in the environment"
_SAMPLING = frozenset(Sampling.model_fields)  # a role's own sampling may hold more, which is not for servers
_REFUSALS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.NOT_IMPLEMENTED})
_HINTS = {
    # The stream first: an answer that is held to its schema is worth more than one that streams.
    "stream": re.compile(r"\bstream(?:ing|ed)?\b", re.IGNORECASE),
    "response_format": re.compile(r"schema|grammar|structured", re.IGNORECASE),
}
_TOO_LONG = re.compile(r"context[ _-]?(?:length|size|window)", re.IGNORECASE)


class ServedModel:
    """A model by its name, or the first one that its server lists."""

    def __init__(self, server: ModelServer, name: str | None, clock: Callable[[], float]) -> None:
        self._server = server
        self._name = name
        self._clock = clock
        self._dialect = Dialect()
        self._warned_of: set[str] = set()

    @property
    def label(self) -> str:
        """Return the model and its URL for display, without a request."""
        return f"{self._name or 'the first model'} at {self._server.address}"

    def find_name(self) -> str:
        """Return the model's name. If none is configured, the server's first model is requested once."""
        self._name = self._name or self._first_listed()
        return self._name

    def answer(self, exchange: Exchange[Answer], settings: RoleSettings, deadline: float) -> UsableAnswer[Answer]:
        """Send one request and return the answer if it is usable.

        Raises ``RequestFailed``, ``ServerRefuses`` or ``ResponseInvalid``.
        """
        is_plain = exchange.rejected is None and not self._dialect.schema_in_prompt
        while True:
            fields = self._dialect.fields(
                exchange.sampling, exchange.schema, settings.extra_body, compact=settings.compact
            )
            name = self.find_name()
            exchange.requests += 1
            try:
                reply = self._server.ask(
                    name,
                    exchange.messages(schema_in_prompt=self._dialect.schema_in_prompt),
                    fields,
                    longest=settings.limits.answer_length,
                    stall=settings.limits.stall,
                    deadline=min(deadline, self._clock() + settings.limits.request),
                )
                break
            except ResponseInvalid:
                exchange.draw_anew()
                raise
            except RequestFailed as failure:
                refused = self._dialect.learn(failure, fields)
                if refused is None:
                    raise
                self._warn(refused, failure)
        exchange.count(reply)
        usable = exchange.read(reply)
        self._dialect.learn_from_answer(is_plain=is_plain, needed_words=exchange.schema_ignored)
        return usable

    def try_out(self, limits: Limits, deadline: float) -> None:
        """Send a short request and read only the beginning of the reply, usable or not.

        Raises ``RequestFailed`` or ``ServerRefuses`` for a wrong address, key or name, a spent quota, and a server that
        is down.
        """
        try:
            self._server.ask(
                self.find_name(),
                TRIAL,
                {"stream": True},
                longest=_TRIAL_LENGTH,
                stall=limits.stall,
                deadline=min(deadline, self._clock() + limits.request),
            )
        except ResponseInvalid as problem:
            _LOG.info("%s: the reply to the trial request: %s", self.label, problem)
        except RequestFailed as failure:
            if failure.status not in _REFUSALS:  # a refused form of request is changed when the run needs an answer
                raise

    def refusal(self, failure: RequestFailed, place: str) -> LanguageModelUnavailable:
        """Return the failure as an error in one line that begins with ``place`` and explains how to fix it."""
        if failure.status == HTTPStatus.UNAUTHORIZED:
            what = "the key is refused" if self._server.has_key else "the server requires a key"
            return ServerRefuses(f"{place}: 401: {what}; {_KEY_MEND}")
        if failure.status == HTTPStatus.FORBIDDEN:
            return ServerRefuses(f"{place}: {failure}; the key may not use this model")
        if failure.status == HTTPStatus.NOT_FOUND:
            return ServerRefuses(f"{place}: 404: {self._not_found()}")
        return LanguageModelUnavailable(f"{place}: {failure}")

    def close(self) -> None:
        """Close the connections of its server."""
        self._server.close()

    def _warn(self, refused: str, failure: RequestFailed) -> None:
        """Warn of a refused field once, though it may be refused in several forms."""
        if refused not in self._warned_of:
            self._warned_of.add(refused)
            _LOG.warning("%s refuses %s as sent, so it is changed or left out: %s", self.label, refused, failure)

    def _first_listed(self) -> str:
        try:
            names = self._server.model_names()
        except RequestFailed as failure:
            if failure.status != HTTPStatus.NOT_FOUND:
                raise
            names = []
        if not names:
            raise ServerRefuses("the server lists no models, so the role's model has to be named")
        return names[0]

    def _not_found(self) -> str:
        try:
            names = self._server.model_names()
        except LanguageModelError:
            names = []
        if not names:
            return f"nothing is served there; {BASE_URL_MEND}"
        more = ", ..." if len(names) > _NAMES_SHOWN else ""
        return f"the server has no such model; it has: {', '.join(names[:_NAMES_SHOWN])}{more}"


class Dialect:
    """The fields that a model understands: all that we could send, less what its server has refused.

    schema_in_prompt: the server does not hold the model to a schema, so the prompt has to name it
    """

    def __init__(self) -> None:
        self.schema_in_prompt = False
        self._is_held = False
        self._words_helped = 0
        self._formats = [True, False]  # with constraints, then without
        self._refused: set[str] = set()
        self._max_tokens = "max_tokens"

    def fields(
        self, sampling: Sampling, schema: type[BaseModel], extra: Mapping[str, JsonValue], *, compact: bool = False
    ) -> dict[str, JsonValue]:
        """Return the fields of a request beside model and messages, as this model takes them.

        compact: as in ``RoleSettings``
        """
        fields: dict[str, JsonValue] = {"stream_options": {"include_usage": True}, "stream": True, **extra}
        fields.update(sampling.model_dump(include=set(_SAMPLING), exclude_none=True))
        if "max_tokens" in fields:
            fields[self._max_tokens] = fields.pop("max_tokens")
        if self._formats:
            fields["response_format"] = response_format(schema, constraints=self._formats[0], compact=compact)
        return {name: value for name, value in fields.items() if name not in self._refused}

    def learn_from_answer(self, *, is_plain: bool, needed_words: bool) -> None:
        """Learn from a usable answer whether the server constrains answers to their schema.

        One invalid answer proves nothing. The server counts as unable if answers were valid only after a repair
        prompt with the schema, twice, and never without one.

        is_plain: the prompt did not include the schema
        needed_words: an answer had to be repaired that no server with constrained answers would have returned
        """
        self._is_held |= is_plain
        self._words_helped += needed_words and not is_plain
        self.schema_in_prompt |= not self._is_held and self._words_helped >= _SIGNS_OF_NO_SCHEMA

    def learn(self, failure: RequestFailed, sent: Mapping[str, JsonValue]) -> str | None:
        """Return the field of ``sent`` that the server refused, if any, and leave it out or reword it from now on."""
        if failure.status not in _REFUSALS or _TOO_LONG.search(str(failure)):
            return None
        name = _blamed(failure, sent)
        if name is None:
            return None
        if name == "response_format":
            del self._formats[0]
            self.schema_in_prompt |= not self._formats
        elif name == "max_tokens":
            self._max_tokens = "max_completion_tokens"
        elif name == "stream":
            self._refused |= {"stream", "stream_options"}
        else:
            self._refused.add(name)
        return name


def _blamed(failure: RequestFailed, sent: Mapping[str, JsonValue]) -> str | None:
    if failure.parameter in sent:
        return failure.parameter
    words = str(failure)
    named = (name for name in sent if re.search(rf"\b{re.escape(name)}\b", words))
    hinted = (name for name, hint in _HINTS.items() if name in sent and hint.search(words))
    unnamed = ("stream",) if failure.status == HTTPStatus.NOT_IMPLEMENTED and "stream" in sent else ()
    return next(chain(named, hinted, unnamed), None)
