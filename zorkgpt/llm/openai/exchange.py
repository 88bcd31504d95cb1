"""The conversation about one answer: the question, the replies so far, and what is asked next."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

from session.configuration.option_groups import Sampling
from session.errors import ResponseInvalid
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
    """A whole answer came, or as much as its limit of tokens allowed, but it does not fit: it is asked for at once."""


@dataclass(frozen=True, slots=True)
class UsableAnswer(Generic[Answer]):
    """An answer that fits its schema, the thoughts that led to it, the raw text and the model that wrote it.

    question_tokens: of the prompt as it was asked; 0 where it was not counted, or was asked with a rejected answer
    """

    value: Answer
    reasoning: str
    text: str
    model: str
    question_tokens: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """An answer that did not fit, and why."""

    answer: str
    problems: str


@dataclass(slots=True)
class Exchange(Generic[Answer]):
    """The questions and replies that one completion takes.

    option: the name of the one that limits the tokens of an answer
    rejected: the answer that the next question asks to repair; there is one repair at most
    repaired: there was a repair
    schema_ignored: the server did not hold the repaired answer to the schema
    usage, requests: summed over all replies, failed requests counted too
    model: who wrote the latest reply, "" before the first
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
        """Return the prompt as messages; a rejected answer follows, with what is wrong with it."""
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
        """Add what the reply has cost, usable or not."""
        usage, self.model = reply.usage, reply.model
        self.usage = TokenUsage(
            self.usage.prompt + usage.prompt,
            self.usage.completion + usage.completion,
            self.usage.cached + usage.cached,
        )

    def draw_anew(self) -> None:
        """Take the next seed: the same one would bring the same answer."""
        if self.sampling.seed is not None:
            self.sampling = self.sampling.model_copy(update={"seed": self.sampling.seed + 1})

    def read(self, reply: ChatReply) -> UsableAnswer[Answer]:
        """Return the answer in ``reply``; raise ``ResponseInvalid`` for an unusable one, and change the next question.

        Every new question has another seed. After an answer that was cut it allows twice the tokens, once; the first
        answer that does not fit is shown to the model with what is wrong, in the one question that follows it.
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
            raise AnswerUnfit(
                f"the answer does not fit what was asked for: {problem}; it begins {start!r}"
            ) from problem
        reasoning = joined([reply.reasoning, split.reasoning])
        question_tokens = 0 if was_repair else reply.usage.prompt
        return UsableAnswer(value, reasoning, reply.text, reply.model, question_tokens)

    def _cut(self) -> AnswerUnfit:
        limit = self.sampling.max_tokens
        if limit is None:
            return AnswerUnfit(f"the answer is cut at the server's own limit of tokens; set {self.option}")
        if self.enlarged:
            return AnswerUnfit(f"the answer is still cut at {limit} tokens; raise {self.option}")
        self.enlarged = True
        self.sampling = self.sampling.model_copy(update={"max_tokens": 2 * limit})
        return AnswerUnfit(f"the answer is cut at {limit} tokens; raise {self.option}")


def _sendable(text: str) -> str:
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
