"""A language model whose every call is told as an event."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from session.errors import LanguageModelError
from session.events import Event, ModelAnswered, ModelFailed
from session.token_counter import TokenCounter
from zorkgpt.llm.language_model import LanguageModel

if TYPE_CHECKING:
    from zorkgpt.llm.language_model import Answer, Completion, Prompt, Role


def prompt_sha256(prompt: Prompt) -> str:
    """64 hex digits that are equal for equal prompts."""
    return hashlib.sha256(f"{prompt.system}\x00{prompt.user}".encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """Passes calls on to ``inner`` and tells ``emit`` of each: answered or failed.

    tokens: learns from the server's own count of each prompt
    """

    inner: LanguageModel
    emit: Callable[[Event], None]
    tokens: TokenCounter

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """The answer of the inner model, once the event is told."""
        digest = prompt_sha256(prompt)
        start = time.monotonic()
        try:
            completion = self.inner.complete(role, prompt, schema)
        except LanguageModelError as error:
            seconds, usage = round(time.monotonic() - start, 3), error.usage
            counts = usage.prompt, usage.cached, usage.completion
            self.emit(ModelFailed(role, digest, str(error), seconds, error.model, *counts))
            raise
        self.tokens.learn(len(prompt.system) + len(prompt.user), completion.question_tokens)
        self.emit(
            ModelAnswered(
                role=role,
                prompt_sha256=digest,
                answer=completion.value.model_dump(mode="json"),
                reasoning=completion.reasoning,
                model=completion.model,
                prompt_tokens=completion.usage.prompt,
                cached_tokens=completion.usage.cached,
                completion_tokens=completion.usage.completion,
                requests=completion.requests,
                seconds=round(completion.seconds, 3),
                question_tokens=completion.question_tokens,
            )
        )
        return completion

    def describe(self) -> str:
        """What the inner model says of itself."""
        return self.inner.describe()

    def close(self) -> None:
        """The inner model is closed."""
        self.inner.close()
