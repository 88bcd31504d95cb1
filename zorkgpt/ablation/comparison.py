"""How much two arms differ, how sure that is, and how many pairs it takes to see it.

Each of several stories counts as much as any other, and scores are shares of the story's maximum. An interval draws
stories before it draws their values (a hierarchical bootstrap), so few stories give a wide one. SciPy permutes the
signs, and has the power of the paired t-test.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import mean, stdev
from typing import NamedTuple

import numpy as np
from scipy import stats

from zorkgpt.ablation.measures import MEASURES, SCORES, TURNS_TO_BEST, RunMeasures, share, turns_to

CONFIDENCE = 0.95
RESAMPLES = 9999
SEED = 1


def bootstrap_interval(stories: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the interval (percentiles, 95 %) of the mean of the stories' means; each story has values.

    A resample draws as many stories as there are, and of each story drawn as many values as it has. One story gives the
    ordinary bootstrap.
    """
    draw = np.random.default_rng(SEED)
    values = [np.asarray(story, dtype=float) for story in stories]
    total = np.zeros(RESAMPLES)
    for _ in values:
        means = np.stack([draw.choice(story, (RESAMPLES, len(story))).mean(axis=1) for story in values])
        total += means[draw.integers(len(values), size=RESAMPLES), np.arange(RESAMPLES)]
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(total / len(values), [tail, 100 - tail])
    return float(low), float(high)


def permutation_p(stories: Sequence[Sequence[float]]) -> float:
    """Return how often signs drawn at random give a mean of the stories' means as far from zero, on either side.

    Exact for up to 13 values in all: these have no more than ``RESAMPLES`` signs.
    """
    size = sum(map(len, stories))
    weighted = [value * size / (len(stories) * len(story)) for story in stories for value in story]
    result = stats.permutation_test(
        (np.asarray(weighted, dtype=float),),
        np.mean,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    return float(result.pvalue)


ALPHA = 0.05
POWER = 0.8
LEAST_PAIRS = 6  # with fewer no p is below ALPHA
LEAST_FOR_INTERVAL = 5  # pairs that differ, or runs; a bootstrap of fewer draws too narrow an interval
MOST_PAIRS = 100_000

NO_PAIR = "no pair has both values"
ONE_PAIR = "one pair has no spread"
NO_DIFFERENCE = "no pair differs"
FEW_DIFFER = f"fewer than {LEAST_FOR_INTERVAL} pairs differ"
NO_SPREAD = "every pair differs by the same"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference between arm ``first`` and arm ``other`` in one measure; values that cannot be computed are
    ``None``.

    story: the story whose runs are compared; a description if there are several
    is_share: the difference is in percent of each story's maximum, not in points
    pairs: the pairs in which both values are known
    difference: the mean of ``first`` minus ``other`` over the pairs; for several stories the mean of their means
    low, high: its bootstrap interval (percentiles, 95 %); ``None`` for fewer than five pairs that differ
    p: how often randomly drawn signs give a mean as far from zero, on either side
    least_p: the smallest possible ``p`` for this number of pairs that differ
    pairs_needed: pairs with which a true difference of the observed size is detected with 80 % power at 5 %; of one
        story in which at least five pairs differ
    pairs_to_detect: the same for the requested difference
    why_not: why something is ``None``, or ""
    """

    story: str
    measure: str
    is_share: bool
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
    def is_equal(self) -> bool:
        """Whether no pair differs."""
        return self.difference == 0 and self.least_p == 1

    @property
    def is_shown(self) -> bool:
        """Whether a difference is shown: the interval excludes zero and ``p`` is below 5 %."""
        if self.low is None or self.high is None or self.p is None:
            return False
        return not self.low <= 0 <= self.high and self.p < ALPHA


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """The values of both runs of a pair in one measure, and their difference, ``None`` if it is unknown."""

    story: str
    pair: int
    first: float | None
    other: float | None
    difference: float | None


@dataclass(frozen=True, slots=True)
class ArmScore:
    """The mean score of an arm's runs, with its bootstrap interval (95 %); ``None`` if unknown.

    story, is_share: as in a ``Comparison``
    runs: the number of runs with a known score; fewer than five have no interval
    """

    story: str
    measure: str
    is_share: bool
    arm: str
    runs: int
    score: float | None = None
    low: float | None = None
    high: float | None = None


def compare_all(runs: Sequence[RunMeasures], detect: float | None) -> Iterator[Comparison]:
    """Compare every arm with the first one in every measure, for each story and then for all stories if there are
    several.

    detect: a difference in points of score, for the number of pairs that would detect it
    """
    for first, other, measure, pairs in _compared(runs):
        differences = {
            story: [pair.difference for pair in of_story if pair.difference is not None]
            for story, of_story in pairs.items()
        }
        sought = detect if measure in SCORES else None
        yield compare(differences, measure=measure, first=first, other=other, detect=sought)


def compared_pairs(runs: Sequence[RunMeasures]) -> list[list[ComparedPair]]:
    """Return the pairs of each comparison of :func:`compare_all`, in its order."""
    return [[pair for of_story in each.pairs.values() for pair in of_story] for each in _compared(runs)]


def arm_scores(runs: Sequence[RunMeasures]) -> Iterator[ArmScore]:
    """Yield what every arm scored: story by story, then over all stories if there are more."""
    arms = dict.fromkeys(run.arm for run in runs)
    for pool, arm, measure in product(_pools(runs), arms, SCORES):
        is_share = len(pool) > 1
        known: dict[str, list[float]] = {}
        for story, of_story in pool.items():
            values = (share(run, measure) if is_share else MEASURES[measure](run) for run in of_story if run.arm == arm)
            known[story] = [value for value in values if value is not None]
        groups = [values for values in known.values() if values]
        found = ArmScore(_stories_name(known), measure, is_share, arm, sum(map(len, groups)))
        if groups:
            found = replace(found, score=mean(map(mean, groups)))
        if found.runs >= LEAST_FOR_INTERVAL:
            low, high = bootstrap_interval(groups)
            found = replace(found, low=low, high=high)
        yield found


def compare(
    stories: Mapping[str, Sequence[float]], *, measure: str, first: str, other: str, detect: float | None = None
) -> Comparison:
    """Return the statistics of these differences, one a pair, by story; the same differences always give the same."""
    groups = [differences for differences in stories.values() if differences]
    every = [difference for differences in groups for difference in differences]
    is_share = len(stories) > 1 and measure in SCORES
    named = Comparison(_stories_name(stories), measure, is_share, first, other, len(every))
    if not every:
        return replace(named, why_not=NO_PAIR)
    if len(every) == 1:
        return replace(named, difference=every[0], why_not=ONE_PAIR)
    found, spread = mean(map(mean, groups)), stdev(every)
    differing = sum(difference != 0 for difference in every)
    least_p = min(1.0, 2.0 ** (1 - differing))
    tested = replace(named, difference=found, p=permutation_p(groups), least_p=least_p)
    if not differing:
        return replace(tested, why_not=NO_DIFFERENCE)
    if differing >= LEAST_FOR_INTERVAL:
        low, high = bootstrap_interval(groups) if spread else (found, found)
        tested = replace(tested, low=low, high=high)
    if spread == 0:
        return replace(tested, why_not=NO_SPREAD)
    is_spread_known = len(stories) == 1 and differing >= LEAST_FOR_INTERVAL
    return replace(
        tested,
        pairs_needed=pairs_needed(found, spread) if found and is_spread_known else None,
        pairs_to_detect=pairs_needed(detect, spread) if detect and is_spread_known else None,
        why_not=FEW_DIFFER if differing < LEAST_FOR_INTERVAL else "" if found else "no difference was found",
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
    # The power is that of one tail: the far one adds nothing that matters.
    while stats.nct.sf(stats.t.ppf(1 - ALPHA / 2, pairs - 1), pairs - 1, size * math.sqrt(pairs)) < POWER:
        pairs += 1
    return pairs


Pool = dict[str, list[RunMeasures]]
"""The runs that are compared with each other, by story."""


class _Compared(NamedTuple):
    """Two arms in one measure; ``pairs``: by story."""

    first: str
    other: str
    measure: str
    pairs: dict[str, list[ComparedPair]]


def _compared(runs: Sequence[RunMeasures]) -> Iterator[_Compared]:
    """Yield every arm with the first one in every measure: story by story, then over all stories if there are more."""
    first, *others = dict.fromkeys(run.arm for run in runs)
    for pool, other, measure in product(_pools(runs), others, MEASURES):
        is_share = len(pool) > 1 and measure in SCORES
        pairs = {
            story: list(_pairs(of_story, first, other, measure, is_share=is_share)) for story, of_story in pool.items()
        }
        yield _Compared(first, other, measure, pairs)


def _pools(runs: Iterable[RunMeasures]) -> list[Pool]:
    """Return the runs of each story, then those of all together if there are several stories."""
    together: Pool = {}
    for run in runs:
        together.setdefault(run.story, []).append(run)
    alone: list[Pool] = [{story: of_story} for story, of_story in together.items()]
    return [*alone, together] if len(alone) > 1 else alone


def _stories_name(stories: Mapping[str, Sequence[float]]) -> str:
    """Return the story's name, or the number of stories with results."""
    if len(stories) == 1:
        return next(iter(stories))
    found = sum(map(bool, stories.values()))
    return f"{'all' if found == len(stories) else f'{found} of'} {len(stories)} stories"


def _pairs(
    runs: Iterable[RunMeasures], first: str, other: str, measure: str, *, is_share: bool
) -> Iterator[ComparedPair]:
    """Yield the runs of the two arms from the same seeds; all are of one story.

    Differences are rounded, so that equal differences of means are equal. Turns to the best score are those to the
    lower best of both, which both reached.
    """
    of_arms: dict[str, dict[int, RunMeasures]] = {first: {}, other: {}}
    for run in runs:
        if run.arm in of_arms:
            of_arms[run.arm][run.pair] = run
    for pair in sorted(of_arms[first].keys() & of_arms[other].keys()):
        both = of_arms[first][pair], of_arms[other][pair]
        if measure == TURNS_TO_BEST:
            best = [run.best_score for run in both if run.best_score is not None]
            lower = min(best) if len(best) == len(both) else None
            values: list[float | None] = [turns_to(lower, run.episodes) for run in both]
        else:
            values = [share(run, measure) if is_share else MEASURES[measure](run) for run in both]
        one, two = values
        difference = None if one is None or two is None else round(one - two, 9)
        yield ComparedPair(both[0].story, pair, one, two, difference)
