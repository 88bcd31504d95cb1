"""A language model that tells an event of every call, and one that repeats the calls of such events."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from session.errors import LanguageModelError, LanguageModelUnavailable
from session.events import Event, ModelAnswered, ModelFailed
from session.files.recording import Diverged, Recording, RecordingEnded
from session.token_counter import TokenCounter
from zorkgpt.llm.language_model import Completion, LanguageModel, Prompt, Role, TokenUsage

if TYPE_CHECKING:
    from zorkgpt.llm.language_model import Answer


def prompt_sha256(prompt: Prompt) -> str:
    """Return the SHA-256 of a prompt as 64 hex digits."""
    return hashlib.sha256(f"{prompt.system}\x00{prompt.user}".encode("utf-8", "surrogatepass")).hexdigest()


Asked = Callable[[Role, Prompt], None]
"""Is told what a model is being asked."""


PLAYING_ROLES = frozenset({"agent", "critic", "info_ext"})
"""Asked before a turn is played; all others are asked about it afterwards."""


@dataclass(frozen=True, slots=True)
class RepeatedCall:
    """A call as a repetition of a run makes it, and the recorded call in its place.

    turn: the one that the call was for, or that was learnt from; 0 before an episode's first turn
    """

    episode: int
    turn: int
    role: Role
    prompt: Prompt
    recorded: ModelAnswered | ModelFailed

    @property
    def is_as_recorded(self) -> bool:
        """Whether the same role was asked exactly this."""
        return (self.recorded.role, self.recorded.prompt_sha256) == (self.role, prompt_sha256(self.prompt))


def unwatched(_role: Role, _prompt: Prompt) -> None:
    """Make nothing of what a model is being asked."""


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """Passes calls on to ``inner`` and gives ``emit`` an event for each one, answered or failed.

    tokens: learns from the server's own count of each prompt
    asked: told of each call before it is made
    """

    inner: LanguageModel
    emit: Callable[[Event], None]
    tokens: TokenCounter
    asked: Asked = unwatched

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return the inner model's answer, after its event was emitted."""
        digest = prompt_sha256(prompt)
        self.asked(role, prompt)
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


@dataclass(frozen=True, slots=True)
class AnnouncedModel:
    """Passes calls on to ``inner``, and calls ``announce`` before each."""

    inner: LanguageModel
    announce: Callable[[], None]

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return the inner model's answer."""
        self.announce()
        return self.inner.complete(role, prompt, schema)


@dataclass(frozen=True, slots=True)
class ReplayedModel:
    """Answers from ``recording`` as long as the prompts are the recorded ones, then from ``live``.

    A recorded failure is repeated, except the agent's where there is a live model: that model is asked again.
    """

    recording: Recording
    live: LanguageModel | None = None

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return the recorded answer as a ``schema``, or the live model's.

        Without a live model it raises ``Diverged`` for a prompt that is not the recorded one, and ``RecordingEnded``
        after the last one.
        """
        recorded = self.recording.answer(role, prompt_sha256(prompt)) if self.recording.next_line else None
        if isinstance(recorded, ModelAnswered):
            return _completion(recorded, schema)
        if recorded is not None and (role != "agent" or self.live is None):
            raise _failure(recorded)
        if self.live is not None:
            return self.live.complete(role, prompt, schema)
        if self.recording.is_over:
            raise RecordingEnded("the recording ends here")
        raise Diverged(self.recording.difference(f"{role} is asked {prompt_sha256(prompt)}:\n{prompt.user}"))


def _failure(recorded: ModelFailed) -> LanguageModelUnavailable:
    failure = LanguageModelUnavailable(recorded.error)
    failure.model, failure.usage = recorded.model, _usage(recorded)
    return failure


def _usage(recorded: ModelAnswered | ModelFailed) -> TokenUsage:
    return TokenUsage(recorded.prompt_tokens, recorded.completion_tokens, recorded.cached_tokens)


def _completion(recorded: ModelAnswered, schema: type[Answer]) -> Completion[Answer]:
    value = schema.model_validate(recorded.answer)
    return Completion(
        value=value,
        reasoning=recorded.reasoning,
        text=json.dumps(recorded.answer),  # in ASCII: an answer may hold half a surrogate pair
        model=recorded.model,
        usage=_usage(recorded),
        seconds=recorded.seconds,
        requests=recorded.requests,
        question_tokens=recorded.question_tokens,
    )
