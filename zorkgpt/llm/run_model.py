"""All model calls of a run: budget, recorded answers, circuit breakers and events (ADR 31)."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.events import Event, ModelAnswered, ModelFailed, OptionsChanged, TurnPlayed
from session.files.recording import Diverged, Recording, RecordingEnded
from session.game_configuration import GameConfiguration
from session.resolved_configuration import before_changes, changes_between
from session.text import TokenCounter
from zorkgpt.llm.budget import Spending, Waits
from zorkgpt.llm.language_model import Answer, Completion, LanguageModel, Prompt, Role, TokenUsage

FAILURES_TO_OPEN = 3
TURNS_REFUSED = 20
_OVERTIME = 0.001  # seconds added to the time limit, so that rounding cannot stop the run just short of it
_LOG = logging.getLogger(__name__)

Asked = Callable[[Role, Prompt, type[BaseModel]], None]
"""Called before each model call, with the schema of its answer."""

PLAYING_ROLES = frozenset({"agent", "critic", "info_ext"})
"""Roles that are called before a turn is played; all others are called after it."""


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model for every role.

    names, servers, engine: as in ``RunStarted``
    reason: for the choice, in words; "" if the user made it
    try_out: checks that each model can be used, and waits for the agent's if it is down and the argument is true;
        raises ``LanguageModelUnavailable``
    """

    model: LanguageModel
    names: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    engine: str = ""
    reason: str = ""
    waits: Waits = field(default_factory=Waits)
    try_out: Callable[[bool], None] = lambda _waits: None


@dataclass(frozen=True, slots=True)
class RepeatedCall:
    """A model call in a repetition of a run, with the recorded call at the same position.

    turn: the turn that the call belongs to, or that was being learned from; 0 before an episode's first turn
    schema: of the answer
    """

    episode: int
    turn: int
    role: Role
    prompt: Prompt
    recorded: ModelAnswered | ModelFailed
    schema: type[BaseModel] = field(default=BaseModel, compare=False, repr=False)

    @property
    def is_as_recorded(self) -> bool:
        """Whether role and prompt are those of the recorded call."""
        return (self.recorded.role, self.recorded.prompt_sha256) == (self.role, prompt_sha256(self.prompt))


class RunModel:
    """Calls the models of a run within its budget. Recorded answers come first, and every call becomes an event.

    After ``FAILURES_TO_OPEN`` consecutive failures, a role's model is not called for ``TURNS_REFUSED`` turns. The
    agent is exempt, since a run cannot be played without it.

    tokens: the token counter, which learns from the server's counts

    begun_with: the values of all options before the changes in the journal
    chosen: the models; ``None`` for a replay
    answers_any: any prompt is answered with the next recorded answer of its role
    """

    def __init__(
        self,
        configuration: GameConfiguration,
        begun_with: Mapping[str, Any],
        chosen: ChosenModel | None,
        recording: Recording,
        asked: Asked,
        *,
        answers_any: bool = False,
    ) -> None:
        self.tokens = TokenCounter()
        self.spending = Spending(
            configuration, before_changes(configuration, GameConfiguration.model_validate(begun_with))
        )
        self._configuration = configuration
        self._chosen = chosen
        self._recording = recording
        self._asked = asked
        self._answers_any = answers_any
        self._failures: Counter[str] = Counter()  # consecutive ones of each role but the agent
        self._open_until: dict[str, int] = {}  # the turn of the run, from 0, before which a role is not called
        self._turns = 0
        self._compared: GameConfiguration | None = None
        self._warned: set[str] = set()
        recording.count_with(self.count)

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return the recorded answer to the prompt, or else the model's.

        Raises ``LanguageModelUnavailable``, ``ResponseInvalid``, ``BudgetSpent`` or ``WaitInterrupted``. A replay
        raises ``Diverged`` if the prompt differs from the recorded one and ``RecordingEnded`` after the last one.
        """
        self._require_closed(role)
        while isinstance(change := self._recording.next_event, OptionsChanged):
            self._recording.emit(change)
        if self._chosen is None:
            self._asked(role, prompt, schema)
        if repeated := self._repeat(role, prompt, schema):
            return repeated
        if self._chosen is None:
            if self._recording.is_repeating:
                raise Diverged(self._recording.difference(f"{role} is asked {prompt_sha256(prompt)}:\n{prompt.user}"))
            raise RecordingEnded("the recording ends here")
        self.require_budget()
        self.take_changes()
        self._asked(role, prompt, schema)
        waits, start = self._chosen.waits, time.monotonic()
        begun = waits.clock()
        limit = self.spending.configuration.budgets.max_time
        waits.until = math.inf if limit is None else begun + limit - self.spending.seconds + _OVERTIME
        try:
            completion = self._chosen.model.complete(role, prompt, schema)
        except BudgetSpent:
            self.spending.count_wait(waits.clock() - begun)
            self.require_budget()
            raise
        except LanguageModelError as error:
            self._recording.emit(failed(role, prompt, error, time.monotonic() - start))
            raise
        self._recording.emit(answered(role, prompt, completion))
        return completion

    @property
    def in_force(self) -> GameConfiguration:
        """The configuration with all changes recorded or repeated so far."""
        return self.spending.in_force

    def take_changes(self) -> None:
        """Repeat recorded option changes, or record the current ones. Raises ``RecordingEnded`` or ``StoreError``."""
        while self._recording.get(OptionsChanged, self._changes):
            pass

    def count(self, event: Event) -> None:
        """Update spending, the token counter and the role's circuit breaker from an event."""
        self.spending.count(event)
        if isinstance(event, TurnPlayed):
            self._turns += 1
        elif isinstance(event, ModelAnswered):
            self.tokens.learn(event.prompt_characters, event.question_tokens)
            self._failures[event.role] = 0
        elif isinstance(event, ModelFailed) and event.role != "agent":
            self._failures[event.role] += 1
            if self._failures[event.role] >= FAILURES_TO_OPEN:
                self._open_until[event.role] = self._turns + TURNS_REFUSED
            if self._failures[event.role] == FAILURES_TO_OPEN and not self._recording.is_repeating:
                _LOG.warning(
                    "the %s model failed %d times in a row; it is now called once in %d turns until it answers",
                    event.role,
                    FAILURES_TO_OPEN,
                    TURNS_REFUSED,
                )

    def _require_closed(self, role: Role) -> None:
        if not self.in_force.agent.uses_models:
            raise LanguageModelUnavailable(f"{role}: no model is configured")
        turns_left = self._open_until.get(role, 0) - self._turns
        if turns_left > 0:
            raise LanguageModelUnavailable(
                f"{role}: {self._failures[role]} failures in a row; not called for {turns_left} turns"
            )

    def _repeat(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer] | None:
        """Return the recorded answer if the next recorded event is one to this prompt, or raise the recorded failure.

        A resumed run calls the agent's model again after a recorded failure of it, since it cannot go on without it.
        """
        recorded = self._recording.next_event
        if not isinstance(recorded, ModelAnswered | ModelFailed):
            return None
        if recorded.role != role or not (self._answers_any or recorded.prompt_sha256 == prompt_sha256(prompt)):
            return None
        if isinstance(recorded, ModelFailed) and role == "agent" and self._chosen is not None:
            return None
        self._recording.emit(recorded)
        usage = TokenUsage(recorded.prompt_tokens, recorded.completion_tokens, recorded.cached_tokens)
        if isinstance(recorded, ModelFailed):
            failure = ResponseInvalid if recorded.failure == "invalid" else LanguageModelUnavailable
            raise failure(recorded.error).after(recorded.model, usage, recorded.requests, recorded.unusable)
        return Completion(
            value=schema.model_validate(recorded.answer),
            reasoning=recorded.reasoning,
            text=json.dumps(recorded.answer),  # in ASCII: an answer may contain half a surrogate pair
            model=recorded.model,
            usage=usage,
            seconds=recorded.seconds,
            requests=recorded.requests,
            question_tokens=recorded.question_tokens,
            unusable=recorded.unusable,
        )

    def require_budget(self) -> None:
        """Warn of what the budget cannot count, and raise ``BudgetSpent`` if a limit is reached."""
        for line in self.spending.unseen():
            if line not in self._warned:
                self._warned.add(line)
                _LOG.warning("%s", line)
        for limit in self.spending.reached():
            raise BudgetSpent(limit.words)

    def _changes(self) -> OptionsChanged | None:
        """Return the options that differ from the configuration in force; ``None`` if none do."""
        if self._chosen is None or self._compared is self.in_force:
            return None
        changes = changes_between(self.in_force, self._configuration)
        self._compared = self.in_force
        chosen = self._chosen
        return OptionsChanged(changes, chosen.names, chosen.servers, chosen.engine) if changes else None


def answered(role: Role, prompt: Prompt, completion: Completion[Any]) -> ModelAnswered:
    """Return the event of an answered call."""
    answer = completion.value.model_dump(mode="json")
    return ModelAnswered(
        role=role,
        prompt_sha256=prompt_sha256(prompt),
        answer=answer,
        reasoning=completion.reasoning,
        model=completion.model,
        prompt_tokens=completion.usage.prompt,
        cached_tokens=completion.usage.cached,
        completion_tokens=completion.usage.completion,
        requests=completion.requests,
        seconds=round(completion.seconds, 3),
        question_tokens=completion.question_tokens,
        prompt_characters=prompt.length,
        text=_beyond(answer, completion),
        unusable=completion.unusable,
    )


def failed(role: Role, prompt: Prompt, error: LanguageModelError, seconds: float) -> ModelFailed:
    """Return the event of a call that gave no answer."""
    return ModelFailed(
        role=role,
        prompt_sha256=prompt_sha256(prompt),
        error=str(error),
        failure="invalid" if isinstance(error, ResponseInvalid) else "unavailable",
        seconds=round(seconds, 3),
        model=error.model,
        prompt_tokens=error.usage.prompt,
        cached_tokens=error.usage.cached,
        completion_tokens=error.usage.completion,
        requests=error.requests,
        unusable=error.unusable,
    )


def _beyond(answer: dict[str, object], completion: Completion[Any]) -> str:
    """Return the text of the answer without its reasoning, "" if it is the JSON of ``answer`` and nothing else."""
    try:
        if json.loads(completion.text) == answer:
            return ""
    except (ValueError, RecursionError):
        pass
    return completion.text.replace(completion.reasoning, "…", 1) if completion.reasoning else completion.text


def prompt_sha256(prompt: Prompt) -> str:
    """Return the SHA-256 of a prompt as 64 hex digits."""
    return hashlib.sha256(f"{prompt.system}\x00{prompt.user}".encode("utf-8", "surrogatepass")).hexdigest()
