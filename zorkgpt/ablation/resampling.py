"""Intervals and tests by resampling, for values that come from several stories.

Each story counts as much as any other, however many values it has. An interval draws stories before it draws their
values (a hierarchical bootstrap), so few stories give a wide one. SciPy permutes the signs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

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
