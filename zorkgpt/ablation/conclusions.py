"""The conclusions of an ablation in plain words, and its figures as they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zorkgpt.ablation.comparison import ALPHA, Comparison
from zorkgpt.ablation.measures import DECISIVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zorkgpt.ablation.comparison import ArmScore


def conclusions(comparisons: Iterable[Comparison]) -> Iterator[str]:
    """Yield a conclusion for each arm but the first, drawn from the score alone; the other measures only describe."""
    for each in comparisons:
        if each.measure == DECISIVE:
            yield f"{each.story}, {each.first} against {each.other}: {_verdict(each)}."


def unit(found: Comparison | ArmScore) -> str:
    """Return what the figures of a score are in."""
    return "% of the maximum" if found.is_share else "points"


def number(value: float | None, *, sign: bool = False) -> str:
    """Return a figure as it is shown; a dash where there is none."""
    if value is None:
        return "-"
    digits = 0 if float(value).is_integer() else 1 if abs(value) >= 1 else 3
    return f"{value:{'+' if sign else ''},.{digits}f}"


def interval(found: Comparison | ArmScore) -> str:
    """Return the interval of a score or of a difference as it is shown; the latter's ends have signs."""
    if found.low is None:
        return "-"
    sign = isinstance(found, Comparison)
    return f"{number(found.low, sign=sign)} to {number(found.high, sign=sign)}"


def _verdict(found: Comparison) -> str:
    if found.difference is None:
        return f"nothing can be said, for {found.why_not}"
    if found.pairs == 1:
        return f"{number(found.difference, sign=True)} {unit(found)} in the one pair; one pair shows nothing"
    points = f"{number(found.difference, sign=True)} {unit(found)} in {found.pairs} pairs"
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
