"""The conclusions of an ablation in plain words, and its figures as they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zorkgpt.ablation.comparison import ALPHA
from zorkgpt.ablation.measures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zorkgpt.ablation.comparison import Comparison


def conclusions(comparisons: Iterable[Comparison]) -> Iterator[str]:
    """Yield a conclusion for each arm but the first, drawn from the score alone; the other measures only describe."""
    decisive = next(iter(MEASURES))
    for comparison in comparisons:
        if comparison.measure == decisive:
            yield f"{comparison.first} against {comparison.other}: {_verdict(comparison)}."


def number(value: float | None, *, sign: bool = False) -> str:
    """Return a figure as it is shown; a dash where there is none."""
    if value is None:
        return "-"
    digits = 0 if float(value).is_integer() else 1 if abs(value) >= 1 else 3
    return f"{value:{'+' if sign else ''},.{digits}f}"


def interval(comparison: Comparison) -> str:
    """Return the interval of a difference as it is shown."""
    if comparison.low is None:
        return "-"
    return f"{number(comparison.low, sign=True)} to {number(comparison.high, sign=True)}"


def _verdict(found: Comparison) -> str:
    if found.difference is None:
        return f"nothing can be said, for {found.why_not}"
    if found.pairs == 1:
        return f"{number(found.difference, sign=True)} points in the one pair; one pair shows nothing"
    points = f"{number(found.difference, sign=True)} points in {found.pairs} pairs"
    if found.low is None and not found.difference:
        return f"no difference in any of {found.pairs} pairs"
    p = f"p {number(found.p)}"
    if found.is_shown:
        return f"{points} ({interval(found)}, {p}): more than chance explains"
    return f"{points} ({interval(found)}, {p}): no difference is shown{_too_few(found)}{_needed(found)}"


def _too_few(found: Comparison) -> str:
    if found.least_p is not None and found.least_p >= ALPHA:
        return f"; with so few pairs that differ p is never below {number(found.least_p)}, so none could be"
    return ""


def _needed(found: Comparison) -> str:
    if found.pairs_needed is None:
        return ""
    return f"; one of this size takes about {found.pairs_needed:,} pairs to see"
