"""What a run has spent in dollars, tokens and time, the limits of its budget, and how long it waits for a model.

Prices come from the configuration or from the list that ``genai-prices`` ships; nothing is fetched.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass, field
from threading import Event as Flag
from typing import cast

from genai_prices import Usage, calc_price

from session.configuration.option_groups import PriceOptions
from session.errors import BudgetSpent, WaitInterrupted
from session.events import Event, ModelAnswered, ModelFailed, OptionsChanged, TurnPlayed
from session.game_configuration import GameConfiguration
from session.resolved_configuration import changed
from zorkgpt.llm.language_model import Role
from zorkgpt.llm.stand_ins import PERSON

_OPENAI = "https://api.openai.com/v1"
_MILLION = 1_000_000
_OVERTIME = 0.001  # seconds by which a limit in time is passed, so that rounding does not leave it just unreached


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of a run's budget that was reached.

    option: its name on the command line, without the dashes
    allowed, spent: US dollars, tokens or seconds
    words: what was reached and what was spent, in one line
    """

    option: str
    allowed: float
    spent: float
    words: str

    def raised(self) -> tuple[str, str]:
        """Return the option and a value for it that lets the run go on: the limit, doubled as often as it takes."""
        higher = self.allowed
        while higher <= self.spent:
            higher *= 2
        return f"--{self.option}", f"{higher:.15g}"


@dataclass(slots=True)
class Spending:
    """What a run has spent so far, summed from its events, so that a resumed run counts on from its journal.

    begun_with: the configuration before all changes that events tell of; unless given, ``configuration``
    in_force: the configuration at the event that was counted last, by which calls are priced
    dollars: for the calls whose price is known
    tokens: of prompts, cached or not, and of answers, usable or not
    unpriced, uncounted: by model, how many calls had no known price, or no count of tokens
    """

    configuration: GameConfiguration
    begun_with: InitVar[GameConfiguration | None] = None
    in_force: GameConfiguration = field(init=False)
    dollars: float = 0.0
    tokens: int = 0
    unpriced: Counter[str] = field(default_factory=Counter)
    uncounted: Counter[str] = field(default_factory=Counter)
    _turns_seconds: float = 0.0
    _calls_seconds: float = 0.0

    def __post_init__(self, begun_with: GameConfiguration | None) -> None:
        """Begin with the prices of ``begun_with``."""
        self.in_force = begun_with or self.configuration

    @property
    def seconds(self) -> float:
        """Return the seconds of play: for each turn its own, or those of its model calls where these are more."""
        return self._turns_seconds + self._calls_seconds

    def reached(self) -> list[Limit]:
        """Return the limits of the configuration's ``budgets`` that are reached."""
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
        """Add what the event says was spent; most kinds of events add nothing."""
        if isinstance(event, ModelAnswered | ModelFailed):
            self._calls_seconds += event.seconds
            is_models = isinstance(event, ModelAnswered) and event.model != PERSON
            if is_models or event.prompt_tokens or event.completion_tokens:
                tokens = event.prompt_tokens + event.completion_tokens
                self.tokens += tokens
                if not tokens:
                    self.uncounted[event.model] += 1
                dollars = cost_of(event, self.in_force)
                if dollars is None:
                    self.unpriced[event.model] += 1
                else:
                    self.dollars += dollars
        if isinstance(event, OptionsChanged):
            self.in_force = changed(self.in_force, event.options)
        if isinstance(event, TurnPlayed):
            self._turns_seconds += max(event.seconds, self._calls_seconds)
            self._calls_seconds = 0.0

    def count_wait(self, seconds: float) -> None:
        """Add a model call that no event tells of: it was waited for until the run had to stop."""
        self._calls_seconds += seconds

    def unseen(self) -> Iterator[str]:
        """Yield a warning for each limit that does not apply to a model, whose price or tokens are not known."""
        limits = self.configuration.budgets
        if limits.max_cost is not None:
            for model in self.unpriced:
                yield f"max-cost does not see the calls to {model!r}: their price is not known; prices can give it"
        if limits.max_tokens is not None:
            for model in self.uncounted:
                yield f"max-tokens does not see the calls to {model!r}: its server does not count tokens"


def cost_of(call: ModelAnswered | ModelFailed, configuration: GameConfiguration) -> float | None:
    """Return the dollars that a call cost, or ``None`` where that is not known.

    The user's own price is looked up first, by the model's name as the server gives it, then as it is configured; then
    the list that ``genai-prices`` ships, by the server's address, since a model of the same name may cost nothing
    elsewhere. The embedded model is free, and so is a person. The cost of a call whose tokens were not counted is not
    known.
    """
    if call.model == PERSON:
        return 0.0
    role = configuration.role(cast("Role", call.role))
    own = configuration.prices.get(call.model) or configuration.prices.get(role.model or "")
    if own is None and role.engine == "embedded":
        return 0.0
    if not call.prompt_tokens and not call.completion_tokens:
        return None
    return _by_own(own, call) if own else _by_list(call, role.base_url or _OPENAI)


def _by_own(price: PriceOptions, call: ModelAnswered | ModelFailed) -> float:
    cached = min(call.cached_tokens, call.prompt_tokens)
    cached_price = price.input if price.cached is None else price.cached
    dollars = (
        (call.prompt_tokens - cached) * price.input + cached * cached_price + call.completion_tokens * price.output
    )
    return dollars / _MILLION


def _by_list(call: ModelAnswered | ModelFailed, base_url: str) -> float | None:
    try:
        usage = Usage(
            input_tokens=call.prompt_tokens,
            cache_read_tokens=min(call.cached_tokens, call.prompt_tokens),
            output_tokens=call.completion_tokens,
        )
        return float(calc_price(usage, call.model, provider_api_url=base_url).total_price)
    except (LookupError, ValueError):  # no such model there, or a count that makes no sense
        return None


@dataclass(slots=True)
class Waits:
    """Sleeps until it is time to ask again, the run is stopped, or its time is used up.

    stop: set when the run is to stop
    until: when the time of the run is used up, by ``clock`` (seconds, monotonic)
    """

    stop: Flag = field(default_factory=Flag)
    clock: Callable[[], float] = time.monotonic
    until: float = math.inf

    def sleep(self, seconds: float) -> None:
        """Sleep, or raise ``WaitInterrupted`` or ``BudgetSpent`` as soon as the run has to stop."""
        now = self.clock()
        if self.stop.wait(max(0.0, min(seconds, self.until - now))):
            raise WaitInterrupted("interrupted while waiting to ask again")
        if now + seconds >= self.until:
            raise BudgetSpent("the time of the run is used up while waiting to ask again")
