"""Adds up what the models of a run were asked, by role, and what that took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import SecretStr, ValidationError

from session.events import ModelAnswered, ModelFailed, OptionsChanged
from session.game_configuration import GameConfiguration
from session.resolved_configuration import changed
from session.values import ROLES
from zorkgpt.llm.budget import cost_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from session.configuration.option_groups import PriceOptions
    from zorkgpt.report.played_run import ModelCall, PlayedRun

NO_PRICES: Mapping[str, PriceOptions] = {}
"""No prices beside those of the run's own configuration."""


@dataclass(frozen=True, slots=True)
class RoleUsage:
    """The calls of one role.

    calls, failed: of all calls, and of those that gave no answer
    prompt_tokens, cached_tokens, completion_tokens: of all calls, as the server counted them
    seconds: wall time of all calls
    dollars: of the calls whose price is known; ``None`` where that is none of them
    unpriced: how many calls that were answered, usably or not, have no known price
    """

    role: str
    calls: int
    failed: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    seconds: float
    dollars: float | None
    unpriced: int


def usage_by_role(run: PlayedRun, prices: Mapping[str, PriceOptions] = NO_PRICES) -> tuple[RoleUsage, ...]:
    """Return the usage of every role that was asked, in the order of ``ROLES``; ``prices`` stand above the run's."""
    by_role: dict[str, list[PricedCall]] = {role: [] for role in ROLES}
    for priced in priced_calls(run, prices):
        by_role.setdefault(priced.call.role, []).append(priced)
    return tuple(_usage(role, calls) for role, calls in by_role.items() if calls)


class PricedCall(NamedTuple):
    """A model call and its dollars, ``None`` where these are not known."""

    call: ModelCall
    dollars: float | None

    @property
    def is_paid(self) -> bool:
        """Whether a model answered, usably or not."""
        call = self.call
        return isinstance(call, ModelAnswered) or bool(call.prompt_tokens or call.completion_tokens)


def priced_calls(run: PlayedRun, prices: Mapping[str, PriceOptions] = NO_PRICES) -> Iterator[PricedCall]:
    """Yield every model call of the run, in order; ``prices`` stand above the run's."""
    configuration = _configuration(run.manifest.configuration, prices)
    for event in run.events:
        if isinstance(event, OptionsChanged) and configuration is not None:
            configuration = _with_key(changed(configuration, event.options))
        elif isinstance(event, ModelAnswered | ModelFailed):
            yield PricedCall(event, None if configuration is None else cost_of(event, configuration))


def _usage(role: str, priced: Sequence[PricedCall]) -> RoleUsage:
    calls = [each.call for each in priced]
    costs = [each.dollars for each in priced if each.is_paid]
    known = [cost for cost in costs if cost is not None]
    return RoleUsage(
        role=role,
        calls=len(calls),
        failed=sum(isinstance(call, ModelFailed) for call in calls),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        cached_tokens=sum(call.cached_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
        seconds=round(sum(call.seconds for call in calls), 3),
        dollars=sum(known) if known else None,
        unpriced=len(costs) - len(known),
    )


def _configuration(options: dict[str, Any], prices: Mapping[str, PriceOptions]) -> GameConfiguration | None:
    """Return the configuration of a manifest, with these prices; ``None`` where it is of another version."""
    try:
        then = GameConfiguration.model_validate(options)
    except ValidationError:
        return None
    return _with_key(then.model_copy(update={"prices": {**then.prices, **prices}}))


def _with_key(configuration: GameConfiguration) -> GameConfiguration:
    """Return the configuration with a word for the key, which a run does not keep, where there must have been one.

    Only with a key can a model be named that is no file.
    """
    key = SecretStr("left out") if configuration.agent_model else None
    return configuration.model_copy(update={"llm": configuration.llm.model_copy(update={"api_key": key})})
