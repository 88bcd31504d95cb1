"""Options that every command that plays has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

MaxCost = Annotated[float | None, typer.Option(help="US dollars after which the run pauses.")]
MaxTokens = Annotated[int | None, typer.Option(help="Tokens after which the run pauses.")]
MaxTime = Annotated[str | None, typer.Option(help="Seconds after which the run pauses; also 90m, 2h.", metavar="TIME")]


def budgets(max_cost: float | None, max_tokens: int | None, max_time: str | None) -> Mapping[str, object]:
    """The budgets by the names of their options; ``None`` for one that was not given."""
    return {"budgets.max_cost": max_cost, "budgets.max_tokens": max_tokens, "budgets.max_time": max_time}
