"""One model on one server, spoken to in the dialect that it has turned out to understand."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING

from session.errors import LanguageModelUnavailable
from zorkgpt.llm.openai.dialect import Dialect
from zorkgpt.llm.openai.faults import RequestFailed, ServerRefuses
from zorkgpt.llm.openai.model_server import BASE_URL_MEND

if TYPE_CHECKING:
    from collections.abc import Callable

    from zorkgpt.llm.language_model import Answer
    from zorkgpt.llm.openai.chat_chunks import Reply
    from zorkgpt.llm.openai.exchange import Exchange, Reading
    from zorkgpt.llm.openai.model_server import ModelServer
    from zorkgpt.llm.openai.settings import RoleSettings

_LOG = logging.getLogger(__name__)
_NAMES_SHOWN = 8
_LISTING_SECONDS = 10.0
_KEY_MEND = "set llm.api_key, or OPENAI_API_KEY in the environment"


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
        """The model and where it is, fit to be shown; asks no server."""
        return f"{self._name or 'the first model'} at {self._server.address}"

    def settle(self) -> str:
        """The model's name; from now on the server's first where none was given."""
        self._name = self._name or self._first_listed()
        return self._name

    def answer(self, exchange: Exchange[Answer], settings: RoleSettings, deadline: float) -> Reading[Answer]:
        """A usable answer, asked for again at once where another question can mend it.

        Raises ``RequestFailed``, ``ServerRefuses`` or ``ResponseInvalid``.
        """
        while True:
            reply = self._reply(exchange, settings, deadline)
            exchange.count(reply)
            reading = exchange.read(reply)
            if reading is not None:
                return reading
            if exchange.schema_ignored:
                self._dialect.schema_in_prompt = True

    def refusal(self, failure: RequestFailed, place: str) -> LanguageModelUnavailable:
        """The failure in one line that begins with ``place``, with the mend where there is one."""
        if failure.status == HTTPStatus.UNAUTHORIZED:
            what = "the key is refused" if self._server.has_key else "the server wants a key"
            return ServerRefuses(f"{place}: 401: {what}; {_KEY_MEND}")
        if failure.status == HTTPStatus.FORBIDDEN:
            return ServerRefuses(f"{place}: {failure}; the key may not use this model")
        if failure.status == HTTPStatus.NOT_FOUND:
            return ServerRefuses(f"{place}: 404: {self._not_found()}")
        return LanguageModelUnavailable(f"{place}: {failure}")

    def close(self) -> None:
        """The connections of its server are closed."""
        self._server.close()

    def _reply(self, exchange: Exchange[Answer], settings: RoleSettings, deadline: float) -> Reply:
        while True:
            fields = self._dialect.fields(
                exchange.sampling, exchange.schema, settings.extra_body, compact=settings.compact
            )
            name = self.settle()
            exchange.requests += 1
            try:
                return self._server.ask(
                    name,
                    exchange.messages(schema_in_prompt=self._dialect.schema_in_prompt),
                    fields,
                    stall=settings.limits.stall,
                    deadline=min(deadline, self._clock() + settings.limits.request),
                )
            except RequestFailed as failure:
                refused = self._dialect.learn(failure, fields)
                if refused is None:
                    raise
                self._warn(refused, failure)

    def _warn(self, refused: str, failure: RequestFailed) -> None:
        """One field may be refused in several forms; one warning says enough."""
        if refused not in self._warned_of:
            self._warned_of.add(refused)
            _LOG.warning("%s refuses %s as sent, so it is changed or left out: %s", self.label, refused, failure)

    def _first_listed(self) -> str:
        try:
            names = self._server.model_names(_LISTING_SECONDS)
        except RequestFailed as failure:
            if failure.status != HTTPStatus.NOT_FOUND:
                raise
            names = []
        if not names:
            raise ServerRefuses("the server lists no models, so the role's model has to be named")
        return names[0]

    def _not_found(self) -> str:
        try:
            names = self._server.model_names(_LISTING_SECONDS)
        except RequestFailed:
            names = []
        if not names:
            return f"nothing is served there; {BASE_URL_MEND}"
        more = ", ..." if len(names) > _NAMES_SHOWN else ""
        return f"the server has no such model; it has: {', '.join(names[:_NAMES_SHOWN])}{more}"
