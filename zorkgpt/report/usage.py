"""Adds up what the models of a run were asked, by role, and what that took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from session.events import ModelAnswered, ModelFailed
from session.game_configuration import GameConfiguration
from session.values import ROLES
from zorkgpt.llm.budget import cost_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    configuration = _configuration(run.manifest.configuration, prices)
    by_role: dict[str, list[ModelCall]] = {role: [] for role in ROLES}
    for event in run.events:
        if isinstance(event, ModelAnswered | ModelFailed):
            by_role.setdefault(event.role, []).append(event)
    return tuple(_usage(role, calls, configuration) for role, calls in by_role.items() if calls)


def _usage(role: str, calls: Sequence[ModelCall], configuration: GameConfiguration | None) -> RoleUsage:
    paid = [call for call in calls if isinstance(call, ModelAnswered) or call.prompt_tokens or call.completion_tokens]
    costs = [None if configuration is None else cost_of(call, configuration) for call in paid]
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
    """Return the configuration of a manifest, with these prices; ``None`` where it is of another version.

    A manifest holds no keys, but only with a key can a model be named that is no file; so a word stands in for it.
    """
    key = "left out" if options.get("agent_model") else None
    try:
        then = GameConfiguration.model_validate({**options, "llm": {**options.get("llm", {}), "api_key": key}})
    except ValidationError:
        return None
    return then.model_copy(update={"prices": {**then.prices, **prices}})
