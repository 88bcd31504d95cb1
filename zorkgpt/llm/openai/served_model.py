"""One model on one server: the conversation about an answer, and what the server refuses."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Generic

from session.errors import LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.game_configuration import LanguageModelOptions, Sampling
from zorkgpt.llm.language_model import Answer, Completion, Prompt, TokenUsage
from zorkgpt.llm.openai.answers import (
    AnswerIncomplete,
    ChatReply,
    SchemaIgnored,
    joined,
    read_answer,
    split_reasoning,
)
from zorkgpt.llm.openai.faults import RequestFailed, ServerRefuses
from zorkgpt.llm.openai.model_server import BASE_URL_MEND, ModelServer
from zorkgpt.llm.openai.schemas import REFUSALS, Dialect, RoleSettings, schema_instruction

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_LOG = logging.getLogger(__name__)
TRIAL: Final[list[ChatCompletionMessageParam]] = [{"role": "user", "content": "Reply with OK."}]
_TRIAL_LENGTH = 1000  # characters of the reply that are read: enough for an error
_NAMES_SHOWN = 8
_KEY_MEND = "set llm.api_key, or OPENAI_API_KEY in the environment"
_SHOWN = 120
_SHOWN_AGAIN = 4000
_SURROGATE = re.compile("[\ud800-\udfff]")


class AnswerUnfit(ResponseInvalid):
    """The answer does not fit, complete or cut at its token limit; the next request needs no pause."""


@dataclass(slots=True)
class Exchange(Generic[Answer]):
    """The requests and replies of one completion.

    option: the name of the option that limits the tokens of an answer
    repair: the messages of the next request that ask for an answer to be repaired; there is at most one repair
    schema_ignored: the server did not enforce the schema on the answer that needed repair
    usage, requests: sums over all replies, including failed requests
    model: the model of the latest reply, "" before the first
    """

    prompt: Prompt
    schema: type[Answer]
    sampling: Sampling
    option: str
    repair: list[ChatCompletionMessageParam] = field(default_factory=list)
    usage: TokenUsage = field(default_factory=TokenUsage)
    requests: int = 0
    model: str = ""
    enlarged: bool = False
    repaired: bool = False
    schema_ignored: bool = False

    def messages(self, *, schema_in_prompt: bool) -> list[ChatCompletionMessageParam]:
        """Return the messages of the next request."""
        user = f"{self.prompt.user}\n\n{schema_instruction(self.schema)}" if schema_in_prompt else self.prompt.user
        return [
            {"role": "system", "content": _sendable(self.prompt.system)},
            {"role": "user", "content": _sendable(user)},
            *self.repair,
        ]

    def draw_anew(self) -> None:
        """Use the next seed, since the same seed would give the same answer."""
        if self.sampling.seed is not None:
            self.sampling = self.sampling.model_copy(update={"seed": self.sampling.seed + 1})

    def read(self, reply: ChatReply) -> Completion[Answer]:
        """Return the answer in ``reply``. Raises ``ResponseInvalid`` if it is unusable, and changes the next request.

        - Every new request has another seed.
        - After an answer that was cut, the next request allows twice the tokens, once.
        - After the first answer that does not fit, the next request contains it with its problems.
        """
        was_repair, self.repair = bool(self.repair), []
        self.model = reply.model
        self.usage = TokenUsage(
            self.usage.prompt + reply.usage.prompt,
            self.usage.completion + reply.usage.completion,
            self.usage.cached + reply.usage.cached,
        )
        split = split_reasoning(reply.text)
        try:
            value = read_answer(split, self.schema)
        except ResponseInvalid as problem:
            self.draw_anew()
            if reply.cut:
                raise AnswerUnfit(self._enlarge()) from problem
            if isinstance(problem, AnswerIncomplete):
                raise
            if not self.repaired:
                self.repaired = True
                self.schema_ignored = isinstance(problem, SchemaIgnored)
                objection = f"This answer cannot be used: {problem}\n{schema_instruction(self.schema)}"
                self.repair = [
                    {"role": "assistant", "content": _sendable((split.answer or split.unclosed)[:_SHOWN_AGAIN])},
                    {"role": "user", "content": _sendable(objection)},
                ]
            start = split.answer[:_SHOWN]
            raise AnswerUnfit(f"the answer does not fit its schema: {problem}; it begins with {start!r}") from problem
        return Completion(
            value=value,
            reasoning=joined([reply.reasoning, split.reasoning]),
            text=reply.text,
            model=reply.model,
            usage=self.usage,
            seconds=0.0,
            requests=self.requests,
            question_tokens=0 if was_repair else reply.usage.prompt,
        )

    def _enlarge(self) -> str:
        """Double the token limit, once, and return what is wrong with the present one."""
        limit = self.sampling.max_tokens
        if limit is None:
            return f"the answer is cut at the server's own token limit; set {self.option}"
        if self.enlarged:
            return f"the answer is still cut at {limit} tokens; raise {self.option}"
        self.enlarged = True
        self.sampling = self.sampling.model_copy(update={"max_tokens": 2 * limit})
        return f"the answer is cut at {limit} tokens; raise {self.option}"


class ServedModel:
    """A model by its name, or the first one that its server lists."""

    def __init__(self, server: ModelServer, name: str | None, clock: Callable[[], float]) -> None:
        self.server = server
        self._name = name
        self._clock = clock
        self._dialect = Dialect()
        self._warned_of: set[str] = set()

    @property
    def label(self) -> str:
        """Return the model and its URL for display, without a request."""
        return f"{self._name or 'the first model'} at {self.server.address}"

    def find_name(self) -> str:
        """Return the model's name. If none is configured, the server's first model is requested once."""
        if not self._name:
            try:
                names = self.server.model_names()
            except RequestFailed as failure:
                if failure.status != HTTPStatus.NOT_FOUND:
                    raise
                names = []
            if not names:
                raise ServerRefuses("the server lists no models, so the role's model has to be named")
            self._name = names[0]
        return self._name

    def answer(self, exchange: Exchange[Answer], settings: RoleSettings, deadline: float) -> Completion[Answer]:
        """Send one request and return the answer if it is usable.

        Raises ``RequestFailed``, ``ServerRefuses`` or ``ResponseInvalid``.
        """
        is_plain = not exchange.repair and not self._dialect.schema_in_prompt
        while True:
            fields = self._dialect.fields(exchange.sampling, exchange.schema, settings)
            name = self.find_name()
            exchange.requests += 1
            try:
                reply = self.server.ask(
                    name,
                    exchange.messages(schema_in_prompt=self._dialect.schema_in_prompt),
                    fields,
                    longest=settings.limits.max_answer_length,
                    stall=settings.limits.stall_timeout,
                    deadline=min(deadline, self._clock() + settings.limits.timeout),
                )
                break
            except ResponseInvalid:
                exchange.draw_anew()
                raise
            except RequestFailed as failure:
                refused = self._dialect.learn(failure, fields)
                if refused is None:
                    raise
                if refused not in self._warned_of:
                    self._warned_of.add(refused)
                    _LOG.warning(
                        "%s refuses %s as sent, so it is changed or left out: %s", self.label, refused, failure
                    )
        completion = exchange.read(reply)
        self._dialect.learn_from_answer(is_plain=is_plain, needed_words=exchange.schema_ignored)
        return completion

    def try_out(self, limits: LanguageModelOptions, deadline: float) -> None:
        """Send a short request and read only the beginning of the reply, usable or not.

        Raises ``RequestFailed`` or ``ServerRefuses`` for a wrong address, key or name, a spent quota, and a server that
        is down.
        """
        try:
            self.server.ask(
                self.find_name(),
                TRIAL,
                {"stream": True},
                longest=_TRIAL_LENGTH,
                stall=limits.stall_timeout,
                deadline=min(deadline, self._clock() + limits.timeout),
            )
        except ResponseInvalid as problem:
            _LOG.info("%s: the reply to the trial request: %s", self.label, problem)
        except RequestFailed as failure:
            if failure.status not in REFUSALS:  # a refused form of request is changed when the run needs an answer
                raise

    def refusal(self, failure: RequestFailed, place: str) -> LanguageModelUnavailable:
        """Return the failure as an error in one line that begins with ``place`` and explains how to fix it."""
        if failure.status == HTTPStatus.UNAUTHORIZED:
            what = "the key is refused" if self.server.has_key else "the server requires a key"
            return ServerRefuses(f"{place}: 401: {what}; {_KEY_MEND}")
        if failure.status == HTTPStatus.FORBIDDEN:
            return ServerRefuses(f"{place}: {failure}; the key may not use this model")
        if failure.status == HTTPStatus.NOT_FOUND:
            try:
                names = self.server.model_names()
            except LanguageModelError:
                names = []
            if not names:
                return ServerRefuses(f"{place}: 404: nothing is served there; {BASE_URL_MEND}")
            listed = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
            return ServerRefuses(f"{place}: 404: the server has no such model; it has: {listed}")
        return LanguageModelUnavailable(f"{place}: {failure}")


def _sendable(text: str) -> str:
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
