"""Intervals and tests by resampling, compared with cases of known results."""

from __future__ import annotations

from math import sqrt
from random import Random
from statistics import fmean, pvariance

import numpy as np
import pytest
from scipy import stats

from zorkgpt.ablation.comparison import bootstrap_interval, permutation_p


def drawn(random: Random, *, stories: int, pairs: int, between: float, within: float) -> list[list[float]]:
    """Differences around 0: a mean for each story, and pairs around it; the spreads are standard deviations."""
    means = [random.gauss(0, between) for _ in range(stories)]
    return [[random.gauss(each, within) for _ in range(pairs)] for each in means]


def test_of_one_story_it_is_the_ordinary_bootstrap() -> None:
    values = [10.0, 12, 8, 9, 11, 14, 7, 10]
    ordinary = stats.bootstrap(
        (values,), np.mean, n_resamples=9999, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert bootstrap_interval([values]) == pytest.approx((ordinary.low, ordinary.high), abs=0.15)


def test_two_stories_without_a_spread_of_their_own_are_as_far_apart_as_the_interval_is_wide() -> None:
    """A resample has both stories, or the same one twice: a mean of 1, 2 or 3, each end once in four times."""
    assert bootstrap_interval([[1, 1, 1, 1], [3, 3, 3, 3]]) == (1, 3)
    assert bootstrap_interval([[5, 5], [5, 5, 5]]) == (5, 5)


def test_each_story_counts_as_much_as_any_other_however_many_pairs_it_has() -> None:
    """Five stories of 100 pairs without a difference do not drown five of one pair that differ by 10."""
    low, high = bootstrap_interval([*[[0.0] * 100] * 5, *[[10.0]] * 5])
    assert (low, high) == (2, 8)  # of ten stories drawn, two to eight differ


def test_its_width_is_that_of_the_spread_between_stories_and_within_them() -> None:
    stories = drawn(Random(3), stories=12, pairs=10, between=3, within=5)
    between = pvariance([fmean(each) for each in stories])
    within = fmean([pvariance(each) / len(each) for each in stories])
    low, high = bootstrap_interval(stories)
    assert high - low == pytest.approx(2 * 1.96 * sqrt((between + within) / len(stories)), rel=0.04)


@pytest.mark.slow
def test_it_holds_the_truth_about_as_often_as_it_says() -> None:
    """95 % of percentile intervals should; with ten stories a few less do."""
    random = Random(4)
    intervals = [bootstrap_interval(drawn(random, stories=10, pairs=4, between=2, within=4)) for _ in range(100)]
    assert 84 <= sum(low <= 0 <= high for low, high in intervals) <= 99


def test_signs_are_permuted_over_all_stories_exactly_and_in_the_permutation_too_a_story_counts_once() -> None:
    """Of 2**7 signs of pairs, the six small ones of a story weigh as much together as the one of the other."""
    assert permutation_p([[1, 1, 1], [2, 2, 2]]) == 2 / 2**6
    assert permutation_p([[1, -1], [0]]) == 1
    assert permutation_p([[1.0] * 6, [1.0]]) == 2 / 2**7
    assert permutation_p([[1.0] * 6, [-1.0]]) == 1
