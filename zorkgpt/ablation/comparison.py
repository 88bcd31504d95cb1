"""How much two arms differ, how sure that is, and how many pairs it takes to see it.

SciPy does the statistics: bootstrap intervals, permutation tests (exact for few pairs) and the power of the paired
t-test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from zorkgpt.ablation.measures import MEASURES, TURNS_TO_BEST, turns_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from zorkgpt.ablation.measures import RunMeasures

CONFIDENCE = 0.95
ALPHA = 0.05
POWER = 0.8
RESAMPLES = 9999
LEAST_PAIRS = 6  # with fewer no p is below ALPHA
MOST_PAIRS = 100_000
SEED = 1

NO_PAIR = "in no pair is it known for both"
ONE_PAIR = "one pair has no spread"
NO_DIFFERENCE = "no pair differs"
NO_SPREAD = "every pair differs by the same"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How arm ``first`` differs from arm ``other`` in one measure; ``None`` stands for what cannot be computed.

    pairs: the pairs in which both values are known
    difference: the mean of ``first`` minus ``other``, pair by pair
    low, high: its bootstrap interval (percentiles, 95 %); with few pairs, or where all differ alike, it is too narrow
    p: how often signs drawn at random give a mean as far from zero, on either side
    least_p: the least that ``p`` can be with so many pairs that differ
    pairs_needed: pairs with which a true difference of the size found is seen four times in five, at 5 %
    pairs_to_detect: the same for a difference of the size asked for
    why_not: why something is ``None``, "" where nothing is
    """

    measure: str
    first: str
    other: str
    pairs: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    least_p: float | None = None
    pairs_needed: int | None = None
    pairs_to_detect: int | None = None
    why_not: str = ""

    @property
    def is_shown(self) -> bool:
        """Tell whether there is a difference: the interval excludes zero and ``p`` is below 5 %."""
        if self.low is None or self.high is None or self.p is None:
            return False
        return not self.low <= 0 <= self.high and self.p < ALPHA


def compare_all(runs: Sequence[RunMeasures], detect: float | None) -> Iterator[Comparison]:
    """Compare every arm with the first one, in every measure.

    detect: a difference in points of score for which the number of pairs is asked
    """
    arms: dict[str, dict[int, RunMeasures]] = {}
    for run in runs:
        arms.setdefault(run.arm, {})[run.pair] = run
    first, *others = arms
    for other in others:
        for measure in MEASURES:
            differences = _differences(arms[first], arms[other], measure)
            size = detect if "score" in measure else None
            yield compare(differences, measure=measure, first=first, other=other, detect=size)


def compare(
    differences: Sequence[float], *, measure: str, first: str, other: str, detect: float | None = None
) -> Comparison:
    """Return the statistics of these differences, one a pair; the same differences always give the same."""
    pairs = len(differences)
    if pairs == 0:
        return Comparison(measure, first, other, pairs, why_not=NO_PAIR)
    if pairs == 1:
        return Comparison(measure, first, other, pairs, difference=differences[0], why_not=ONE_PAIR)
    found, spread = mean(differences), stdev(differences)
    p = _permutation_p(differences)
    least_p = min(1.0, 2.0 ** (1 - sum(difference != 0 for difference in differences)))
    if not any(differences):
        return Comparison(measure, first, other, pairs, found, p=p, least_p=least_p, why_not=NO_DIFFERENCE)
    if spread == 0:
        return Comparison(measure, first, other, pairs, found, found, found, p, least_p, why_not=NO_SPREAD)
    low, high = _interval(differences)
    return Comparison(
        measure=measure,
        first=first,
        other=other,
        pairs=pairs,
        difference=found,
        low=low,
        high=high,
        p=p,
        least_p=least_p,
        pairs_needed=pairs_needed(found, spread) if found else None,
        pairs_to_detect=pairs_needed(detect, spread) if detect else None,
        why_not="" if found else "there is no difference to be seen",
    )


def pairs_needed(difference: float, spread: float) -> int | None:
    """Return how many pairs a paired t-test at 5 % takes to see ``difference`` four times in five.

    spread: standard deviation of the differences, above zero; an estimate from few pairs is itself unsure
    At least ``LEAST_PAIRS``; ``None`` for more than 100,000.
    """
    size = abs(difference) / spread
    normal = float(stats.norm.ppf(1 - ALPHA / 2) + stats.norm.ppf(POWER)) / size
    pairs = max(LEAST_PAIRS, math.ceil(normal**2))
    if pairs > MOST_PAIRS:
        return None
    while _power(size, pairs) < POWER:
        pairs += 1
    return pairs


def _power(size: float, pairs: int) -> float:
    """Return how often a paired t-test sees a difference of ``size`` standard deviations; the far tail is left out."""
    critical = stats.t.ppf(1 - ALPHA / 2, pairs - 1)
    return float(stats.nct.sf(critical, pairs - 1, size * math.sqrt(pairs)))


def _interval(differences: Sequence[float]) -> tuple[float, float]:
    result = stats.bootstrap(
        (np.asarray(differences, dtype=float),),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def _permutation_p(differences: Sequence[float]) -> float:
    """Return the p of a permutation test, exact for up to 13 pairs: these have no more than ``RESAMPLES`` signs."""
    result = stats.permutation_test(
        (np.asarray(differences, dtype=float),),
        np.mean,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    return float(result.pvalue)


def _differences(first: Mapping[int, RunMeasures], other: Mapping[int, RunMeasures], measure: str) -> list[float]:
    """Return the differences pair by pair, rounded so that equal differences of means are equal."""
    both = [_values(first[pair], other[pair], measure) for pair in sorted(first.keys() & other.keys())]
    return [round(one - two, 9) for one, two in both if one is not None and two is not None]


def _values(one: RunMeasures, two: RunMeasures, measure: str) -> tuple[float | None, float | None]:
    """Return the two values to compare; turns to the best score are those to the lower best, which both reached."""
    if measure != TURNS_TO_BEST:
        return MEASURES[measure](one), MEASURES[measure](two)
    common = None if one.best_score is None or two.best_score is None else min(one.best_score, two.best_score)
    return turns_to(common, one.episodes), turns_to(common, two.episodes)
