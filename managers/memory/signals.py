"""What speaks for one tier of memory or another, before a model has said anything (seed 1, Context Signals)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from managers.memory.outcome import SUBSTANTIAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from managers.memory.outcome import ActionOutcome
    from session.memory import Persistence

_PLACING = re.compile(r"\b(?:drop|put|place|insert|leave)\b", re.IGNORECASE)


def signals_of(outcome: ActionOutcome) -> Iterator[tuple[str, Persistence]]:
    """Each sign in words, and the tier that it makes likely."""
    if outcome.first_visit and (outcome.is_substantial or len(outcome.arrival_text) > SUBSTANTIAL):
        yield "Long response on first visit suggests room description", "core"
    if outcome.inventory_changed and not outcome.moved:
        yield "Inventory changed without movement suggests item manipulation", "ephemeral"
    if (outcome.score_change or 0) > 0:
        yield "Score increase suggests game mechanic discovered", "permanent"
    if outcome.seems_failed and not outcome.moved:
        yield "Failed action suggests game constraint learned", "permanent"
    if _PLACING.search(outcome.action):
        yield "Placement action detected", "ephemeral"
    if outcome.died:
        yield "Death suggests a danger", "permanent"


def likely_tiers(outcome: ActionOutcome) -> list[Persistence]:
    """The tiers that a memory of what the command did may have by these signs, each once, the least persistent first.

    Both but core where nothing speaks for one of the two.
    """
    found = {tier for _, tier in signals_of(outcome)} - {"core"}
    tiers: list[Persistence] = ["ephemeral", "permanent"]
    return [tier for tier in tiers if tier in found] or tiers
