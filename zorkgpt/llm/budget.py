"""A run's spending in dollars, tokens and seconds, the limits of its budget, and its pauses between model requests.

Prices come from the configuration or from the list bundled with ``genai-prices``; nothing is fetched.
"""

from __future__ import annotations

import json
import math
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from threading import Event as Flag

from genai_prices import Usage, calc_price

from session.errors import BudgetSpent, ConfigurationError, WaitInterrupted
from session.events import Event, ModelAnswered, ModelFailed, OptionsChanged, Proposed, TurnPlayed
from session.game_configuration import OPENAI_BASE_URL, GameConfiguration
from session.resolved_configuration import changed
from session.text import counted
from zorkgpt.llm.language_model import Role

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of a run's budget that was reached.

    option: its name on the command line, without the dashes
    allowed, spent: US dollars, tokens or seconds
    words: the limit and the amount spent, in one line
    """

    option: str
    allowed: float
    spent: float
    words: str

    def raised(self) -> tuple[str, str]:
        """Return the option and a value to continue with: the limit, doubled until it is at least twice ``spent``."""
        higher = self.allowed
        while higher < 2 * self.spent:
            higher *= 2
        return f"--{self.option}", f"{higher:.15g}"


@dataclass(slots=True)
class Spending:
    """The amounts that a run has spent so far, summed from its events, so that a resumed run continues the sums.

    begun_with: the configuration before all recorded changes; ``configuration`` by default
    in_force: the configuration at the latest counted event; it determines the price of a call
    dollars: the cost of the calls that have a known price
    tokens: of all prompts (cached or not) and all answers (usable or not)
    unpriced, uncounted: the number of calls with no known price, or no token count, by model
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
        """The seconds of play: for each turn its duration or that of its model calls, whichever is longer."""
        return self._turns_seconds + self._calls_seconds

    @property
    def words(self) -> list[str]:
        """The tokens and the dollars that are known, each with the number of calls that it is without."""
        tokens = ("count", f"{self.tokens:,} tokens" if self.tokens else "", self.uncounted.total())
        dollars = ("price", f"${self.dollars:.4f}" if self.dollars else "", self.unpriced.total())
        return [
            f"{known} and {counted(without, 'call')} of unknown {what}" if without else known
            for what, known, without in (tokens, dollars)
            if known
        ]

    def reached(self) -> list[Limit]:
        """Return the limits in the configuration's ``budgets`` that the run has reached."""
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
        """Add the cost that the event records; most kinds of events have none."""
        if isinstance(event, ModelAnswered | ModelFailed | Proposed):
            self._calls_seconds += event.seconds
        if isinstance(event, ModelAnswered | ModelFailed):
            self._count_call(event)
        if isinstance(event, OptionsChanged):
            self.in_force = changed(self.in_force, event.options)
        if isinstance(event, TurnPlayed):
            self._turns_seconds += max(event.seconds, self._calls_seconds)
            self._calls_seconds = 0.0

    def _count_call(self, call: ModelAnswered | ModelFailed) -> None:
        tokens = call.prompt_tokens + call.completion_tokens
        if isinstance(call, ModelFailed) and not tokens:
            return
        self.tokens += tokens
        if not tokens:
            self.uncounted[call.model] += 1
        dollars = cost_of(call, self.in_force)
        if dollars is None:
            self.unpriced[call.model] += 1
        else:
            self.dollars += dollars

    def count_wait(self, seconds: float) -> None:
        """Add the duration of a model call that has no event because the run had to stop during it."""
        self._calls_seconds += seconds

    def unseen(self) -> Iterator[str]:
        """Yield a warning for each limit and each model whose calls it cannot count because price or tokens are
        unknown.
        """
        limits = self.configuration.budgets
        if limits.max_cost is not None:
            for model in self.unpriced:
                yield f"max-cost does not count the calls to {model!r}: their price is not known; set it in prices"
        if limits.max_tokens is not None:
            for model in self.uncounted:
                yield f"max-tokens does not count the calls to {model!r}: its server does not report token counts"


def cost_of(call: ModelAnswered | ModelFailed, configuration: GameConfiguration) -> float | None:
    """Return the cost of a call in dollars, or ``None`` if it is not known.

    The user's own prices come first, by the model name that the server returned, then by the configured name; then the
    list of ``genai-prices``, by the same names and the server's base URL, because another server may offer the same
    model free. The embedded model costs nothing. A call without a token count has no known cost.
    """
    role = configuration.role(call.role)
    own = configuration.prices.get(call.model) or configuration.prices.get(role.model or "")
    if own is None and role.engine == "embedded":
        return 0.0
    if not call.prompt_tokens and not call.completion_tokens:
        return None
    cached = min(call.cached_tokens, call.prompt_tokens)
    if own is not None:
        cached_price = own.input if own.cached is None else own.cached
        dollars = (
            (call.prompt_tokens - cached) * own.input + cached * cached_price + call.completion_tokens * own.output
        )
        return dollars / _MILLION
    for name in dict.fromkeys((call.model, role.model or call.model)):
        try:
            usage = Usage(
                input_tokens=call.prompt_tokens, cache_read_tokens=cached, output_tokens=call.completion_tokens
            )
            return float(calc_price(usage, name, provider_api_url=role.base_url or OPENAI_BASE_URL).total_price)
        except (LookupError, ValueError):  # unknown model, or an impossible count
            continue
    return None


def require_prices(configuration: GameConfiguration, models: Mapping[Role, str]) -> None:
    """Raise ``ConfigurationError`` if a budget in dollars cannot count the calls to one of the models.

    models: the name of each role's model
    """
    if configuration.budgets.max_cost is None:
        return
    for role, model in models.items():
        call = ModelFailed(role, "", "", "unavailable", 0.0, model, prompt_tokens=1, completion_tokens=1)
        if cost_of(call, configuration) is None:
            prices = json.dumps({model: {"input": 0.5, "output": 2.0}})
            raise ConfigurationError(
                f"max-cost needs the price of {model!r} ({role}), which is not known; set the option prices, in "
                f"dollars per million tokens: --set {shlex.quote(f'prices={prices}')}"
            )


@dataclass(slots=True)
class Waits:
    """Pauses between requests that end early if the run is stopped or its time is used up.

    stop: set to stop the run
    until: the time of ``clock`` (seconds, monotonic) at which the run's time is used up
    """

    stop: Flag = field(default_factory=Flag)
    clock: Callable[[], float] = time.monotonic
    until: float = math.inf

    def sleep(self, seconds: float) -> None:
        """Sleep. Raises ``WaitInterrupted`` or ``BudgetSpent`` as soon as the run has to stop."""
        now = self.clock()
        if self.stop.wait(max(0.0, min(seconds, self.until - now))):
            raise WaitInterrupted("interrupted while waiting to retry")
        if now + seconds >= self.until:
            raise BudgetSpent("the time of the run was used up while waiting to retry")
