"""What a run has used up, and a language model that is not asked once that is enough."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from session.errors import BudgetSpent
from session.events import ModelAnswered, ModelFailed, TurnPlayed
from session.game_configuration import GameConfiguration
from zorkgpt.llm.prices import cost_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.events import Event
    from zorkgpt.llm.language_model import Answer, Completion, LanguageModel, Prompt, Role

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that is reached.

    option: of the command line
    allowed, spent: US dollars, tokens or seconds
    words: the same for a person, in one line
    """

    option: str
    allowed: float
    spent: float
    words: str

    def raised(self) -> tuple[str, str]:
        """The option and its value, with the limit doubled until something can be spent again."""
        higher = self.allowed
        while higher <= self.spent:
            higher *= 2
        return f"--{self.option}", f"{higher:.15g}"


@dataclass(slots=True)
class Spending:
    """The sum of a run's events, so that one read back from a journal goes on where the run stopped.

    dollars: of the calls whose price is known
    tokens: of prompts, cached or not, and of answers, those that could not be used included
    unpriced, uncounted: calls by model whose price, or whose tokens, nobody knows
    """

    configuration: GameConfiguration
    dollars: float = 0.0
    tokens: int = 0
    unpriced: Counter[str] = field(default_factory=Counter)
    uncounted: Counter[str] = field(default_factory=Counter)
    _turns_seconds: float = 0.0
    _calls_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of play: of each turn, or of the model calls since the turn before it where these took longer."""
        return self._turns_seconds + self._calls_seconds

    def reached(self) -> list[Limit]:
        """The limits of the configuration's ``budgets`` that are reached."""
        limits = self.configuration.budgets
        found = []
        if limits.max_cost is not None and self.dollars >= limits.max_cost:
            words = f"max-cost ${limits.max_cost:g} reached: ${self.dollars:.4f} spent"
            found.append(Limit("max-cost", limits.max_cost, self.dollars, words))
        if limits.max_tokens is not None and self.tokens >= limits.max_tokens:
            words = f"max-tokens {limits.max_tokens} reached: {self.tokens} spent"
            found.append(Limit("max-tokens", limits.max_tokens, self.tokens, words))
        if limits.max_time is not None and self.seconds >= limits.max_time:
            words = f"max-time {limits.max_time:g} s reached: {self.seconds:.1f} s played"
            found.append(Limit("max-time", limits.max_time, self.seconds, words))
        return found

    def count(self, event: Event) -> None:
        """The event is part of the sum; most kinds add nothing to it."""
        if isinstance(event, ModelAnswered | ModelFailed):
            self._calls_seconds += event.seconds
            if isinstance(event, ModelAnswered) or event.prompt_tokens or event.completion_tokens:
                self._count_tokens(event)
        if isinstance(event, TurnPlayed):
            self._turns_seconds += max(event.seconds, self._calls_seconds)
            self._calls_seconds = 0.0

    def _count_tokens(self, call: ModelAnswered | ModelFailed) -> None:
        tokens = call.prompt_tokens + call.completion_tokens
        self.tokens += tokens
        if not tokens:
            self.uncounted[call.model] += 1
        dollars = cost_of(call, self.configuration)
        if dollars is None:
            self.unpriced[call.model] += 1
        else:
            self.dollars += dollars


class BudgetedModel:
    """Passes calls on to ``inner`` until ``spending`` has reached a limit of its configuration's ``budgets``.

    Somebody has to tell ``spending`` of every event. A model whose calls a limit cannot see is warned of, once.
    """

    def __init__(self, inner: LanguageModel, spending: Spending) -> None:
        self._inner = inner
        self._spending = spending
        self._limits = spending.configuration.budgets
        self._warned: set[str] = set()

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """The answer of the inner model. Raises ``BudgetSpent``, which names the limit, without asking it."""
        for line in self._unseen():
            if line not in self._warned:
                self._warned.add(line)
                _LOG.warning("%s", line)
        for limit in self._spending.reached():
            raise BudgetSpent(limit.words)
        return self._inner.complete(role, prompt, schema)

    def describe(self) -> str:
        """What the inner model says of itself."""
        return self._inner.describe()

    def close(self) -> None:
        """The inner model is closed."""
        self._inner.close()

    def _unseen(self) -> Iterator[str]:
        if self._limits.max_cost is not None:
            for model in self._spending.unpriced:
                yield f"max-cost does not see the calls to {model!r}: their price is not known; prices can give it"
        if self._limits.max_tokens is not None:
            for model in self._spending.uncounted:
                yield f"max-tokens does not see the calls to {model!r}: its server does not count tokens"
