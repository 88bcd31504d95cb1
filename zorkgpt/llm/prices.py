"""What a model call costs, in US dollars; nothing is fetched to find out."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from genai_prices import Usage, calc_price

if TYPE_CHECKING:
    from session.configuration.option_groups import PriceOptions
    from session.events import ModelAnswered, ModelFailed
    from session.game_configuration import GameConfiguration
    from session.values import Role

_OPENAI = "https://api.openai.com/v1"
_MILLION = 1_000_000


def cost_of(call: ModelAnswered | ModelFailed, configuration: GameConfiguration) -> float | None:
    """Dollars for one call of a run with this configuration; ``None`` where nobody can know.

    The user's own price comes first, by the model's name as the server gives it, then as it is configured; then the
    list that ``genai-prices`` ships, by the server's address: a model of the same name elsewhere may cost nothing.
    The embedded model costs nothing. A call whose tokens were not counted costs nobody knows what.
    """
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
