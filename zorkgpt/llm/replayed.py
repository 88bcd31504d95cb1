"""A language model that gives recorded answers again, and asks another where the recording has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from session.errors import LanguageModelUnavailable
from session.events import ModelAnswered, ModelFailed
from session.files.recording import Diverged, Recording, RecordingEnded
from zorkgpt.llm.language_model import Completion, LanguageModel, TokenUsage
from zorkgpt.llm.recorded import prompt_sha256

if TYPE_CHECKING:
    from zorkgpt.llm.language_model import Answer, Prompt, Role


@dataclass(frozen=True, slots=True)
class ReplayedModel:
    """Answers from ``recording`` as long as the prompts are the recorded ones, else from ``live``.

    A recorded failure is repeated, except the agent's where there is a live model: that one is asked again.
    Without a live model another prompt raises ``Diverged``, and one after the end ``RecordingEnded``.
    """

    recording: Recording
    live: LanguageModel | None = None

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """The recorded answer as a ``schema``, or the live model's."""
        recorded = self.recording.answer(role, prompt_sha256(prompt))
        if isinstance(recorded, ModelAnswered):
            return _completion(recorded, schema)
        if self.live is None:
            raise self._unanswered(role, prompt, recorded)
        if recorded is not None and role != "agent":
            raise _failure(recorded)
        return self.live.complete(role, prompt, schema)

    def describe(self) -> str:
        """What the live model says of itself."""
        return self.live.describe() if self.live else "recorded answers"

    def close(self) -> None:
        """The live model is closed."""
        if self.live:
            self.live.close()

    def _unanswered(self, role: Role, prompt: Prompt, failure: ModelFailed | None) -> Exception:
        if failure is not None:
            return _failure(failure)
        if self.recording.is_over:
            return RecordingEnded("the recording ends here")
        return Diverged(self.recording.difference(f"{role} is asked {prompt_sha256(prompt)}:\n{prompt.user}"))


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
        text=value.model_dump_json(),
        model=recorded.model,
        usage=_usage(recorded),
        seconds=recorded.seconds,
        requests=recorded.requests,
        question_tokens=recorded.question_tokens,
    )
