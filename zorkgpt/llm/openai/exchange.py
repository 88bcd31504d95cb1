"""The conversation about one answer: the prompt, the replies so far, and the next request."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

from session.errors import ResponseInvalid
from session.game_configuration import Sampling
from zorkgpt.llm.language_model import Answer, Prompt, TokenUsage
from zorkgpt.llm.openai.answers import (
    AnswerIncomplete,
    SchemaIgnored,
    joined,
    read_answer,
    split_reasoning,
)
from zorkgpt.llm.openai.chat_chunks import ChatReply
from zorkgpt.llm.openai.schemas import schema_instruction

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_SHOWN = 120
_SHOWN_AGAIN = 4000
_SURROGATE = re.compile("[\ud800-\udfff]")


class AnswerUnfit(ResponseInvalid):
    """The answer does not fit, complete or cut at its token limit; the next request needs no pause."""


@dataclass(frozen=True, slots=True)
class UsableAnswer(Generic[Answer]):
    """An answer that fits its schema, with its reasoning, its raw text and the name of the model.

    question_tokens: tokens of the original prompt; 0 if not counted, or if the request contained a rejected answer
    """

    value: Answer
    reasoning: str
    text: str
    model: str
    question_tokens: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """An answer that did not fit, and the reason."""

    answer: str
    problems: str


@dataclass(slots=True)
class Exchange(Generic[Answer]):
    """The requests and replies of one completion.

    option: the name of the option that limits the tokens of an answer
    rejected: the answer that the model must repair in the next request; there is at most one repair
    enlarged: the token limit was doubled
    repaired: a repair was requested
    schema_ignored: the server did not enforce the schema on the answer that needed repair
    usage, requests: sums over all replies, including failed requests
    model: the model of the latest reply, "" before the first
    """

    prompt: Prompt
    schema: type[Answer]
    sampling: Sampling
    option: str = "max_tokens"
    rejected: Rejected | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)
    requests: int = 0
    model: str = ""
    enlarged: bool = False
    repaired: bool = False
    schema_ignored: bool = False

    def messages(self, *, schema_in_prompt: bool) -> list[ChatCompletionMessageParam]:
        """Return the prompt as messages, followed by the rejected answer and its problems, if there is one."""
        instruction = schema_instruction(self.schema)
        user = f"{self.prompt.user}\n\n{instruction}" if schema_in_prompt else self.prompt.user
        messages: list[ChatCompletionMessageParam] = [
            {"role": "system", "content": _sendable(self.prompt.system)},
            {"role": "user", "content": _sendable(user)},
        ]
        if self.rejected is not None:
            objection = f"This answer cannot be used: {self.rejected.problems}\n{instruction}"
            messages += [
                {"role": "assistant", "content": _sendable(self.rejected.answer)},
                {"role": "user", "content": _sendable(objection)},
            ]
        return messages

    def count(self, reply: ChatReply) -> None:
        """Add the tokens of the reply, usable or not."""
        usage, self.model = reply.usage, reply.model
        self.usage = TokenUsage(
            self.usage.prompt + usage.prompt,
            self.usage.completion + usage.completion,
            self.usage.cached + usage.cached,
        )

    def draw_anew(self) -> None:
        """Use the next seed, since the same seed would give the same answer."""
        if self.sampling.seed is not None:
            self.sampling = self.sampling.model_copy(update={"seed": self.sampling.seed + 1})

    def read(self, reply: ChatReply) -> UsableAnswer[Answer]:
        """Return the answer in ``reply``. Raises ``ResponseInvalid`` if it is unusable, and changes the next request.

        - Every new request has another seed.
        - After an answer that was cut, the next request allows twice the tokens, once.
        - After the first answer that does not fit, the next request contains it with its problems.
        """
        was_repair, self.rejected = self.rejected is not None, None
        split = split_reasoning(reply.text)
        try:
            value = read_answer(split, self.schema)
        except ResponseInvalid as problem:
            self.draw_anew()
            if reply.cut:
                raise self._cut() from problem
            if isinstance(problem, AnswerIncomplete):
                raise
            if not self.repaired:
                self.repaired = True
                self.schema_ignored = isinstance(problem, SchemaIgnored)
                self.rejected = Rejected((split.answer or split.unclosed)[:_SHOWN_AGAIN], str(problem))
            start = split.answer[:_SHOWN]
            raise AnswerUnfit(f"the answer does not fit its schema: {problem}; it begins with {start!r}") from problem
        reasoning = joined([reply.reasoning, split.reasoning])
        question_tokens = 0 if was_repair else reply.usage.prompt
        return UsableAnswer(value, reasoning, reply.text, reply.model, question_tokens)

    def _cut(self) -> AnswerUnfit:
        limit = self.sampling.max_tokens
        if limit is None:
            return AnswerUnfit(f"the answer is cut at the server's own token limit; set {self.option}")
        if self.enlarged:
            return AnswerUnfit(f"the answer is still cut at {limit} tokens; raise {self.option}")
        self.enlarged = True
        self.sampling = self.sampling.model_copy(update={"max_tokens": 2 * limit})
        return AnswerUnfit(f"the answer is cut at {limit} tokens; raise {self.option}")


def _sendable(text: str) -> str:
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
