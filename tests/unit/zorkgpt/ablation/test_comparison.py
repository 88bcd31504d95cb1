"""What differences show and what they do not; warnings are errors here too."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.small_ablation import measured_pairs, measured_run
from zorkgpt.ablation.comparison import (
    LEAST_PAIRS,
    NO_DIFFERENCE,
    NO_PAIR,
    NO_SPREAD,
    ONE_PAIR,
    Comparison,
    arm_scores,
    compare,
    compare_all,
    pairs_needed,
)
from zorkgpt.ablation.measures import RunMeasures
from zorkgpt.ablation.results import conclusions


def compared(*differences: float, detect: float | None = None) -> Comparison:
    return compare({"dyeworks": differences}, measure="score", first="full", other="no-memory", detect=detect)


def said(found: Comparison) -> str:
    (words,) = conclusions([found])
    return words


def test_eight_pairs_that_differ_alike_show_a_difference() -> None:
    found = compared(10, 12, 8, 9, 11, 14, 7, 10)
    assert found.difference == 10.125
    assert found.low is not None
    assert found.high is not None
    assert 7 < found.low < found.difference < found.high < 14
    assert found.p == 2 / 2**8
    assert found.is_shown
    assert "more than chance explains" in said(found)


def test_pairs_that_differ_to_and_fro_show_none_and_say_how_many_would() -> None:
    found = compared(1, 2, -3, 0, 0, 4)
    assert not found.is_shown
    assert "no difference is shown" in said(found)
    assert f"takes about {found.pairs_needed} pairs" in said(found)


@pytest.mark.parametrize(
    ("differences", "p", "few"),
    [((5, 10, 5, 10), 0.125, "with so few pairs that differ "), ((0, 0, 0, 0, 0, 5, 6, 5), 0.25, "")],
    ids=["four pairs", "eight, of which three differ"],
)
def test_too_few_pairs_that_differ_cannot_show_anything_and_this_is_said(
    differences: tuple[float, ...], p: float, few: str
) -> None:
    found = compared(*differences)
    assert found.p == found.least_p == p
    assert not found.is_shown
    assert f"{few}p is never below {p}" in said(found)


def test_eight_pairs_that_all_differ_by_the_same_show_it() -> None:
    found = compared(*[5] * 8)
    assert (found.low, found.high, found.why_not) == (5, 5, NO_SPREAD)
    assert found.is_shown
    assert not compared(*[5] * 4).is_shown


def test_no_fewer_pairs_are_recommended_than_can_show_anything() -> None:
    found = compared(10, 11, 9, detect=50)
    assert (found.pairs_needed, found.pairs_to_detect) == (LEAST_PAIRS, LEAST_PAIRS)
    assert compared(*range(10, 10 + LEAST_PAIRS)).is_shown
    assert not compared(*range(10, 9 + LEAST_PAIRS)).is_shown


@pytest.mark.parametrize(
    ("differences", "reason", "words"),
    [
        ((), NO_PAIR, "nothing can be said"),
        ((3,), ONE_PAIR, "one pair shows nothing"),
        ((0, 0, 0), NO_DIFFERENCE, "no difference in any of 3 pairs"),
    ],
)
def test_what_cannot_be_computed_is_none_with_the_reason(
    differences: tuple[float, ...], reason: str, words: str
) -> None:
    found = compared(*differences)
    assert (found.low, found.high, found.pairs_needed, found.why_not) == (None, None, None, reason)
    assert words in said(found)


@given(st.lists(st.integers(-20, 20), max_size=9))
def test_any_differences_are_compared_without_a_warning_and_always_alike(differences: list[int]) -> None:
    found = compared(*differences, detect=5)
    assert found == compared(*differences, detect=5)
    assert found.p is None or 0 < found.p <= 1
    if found.low is not None and found.high is not None and found.difference is not None:
        assert found.low <= found.difference <= found.high


def test_pairs_needed_are_those_of_the_paired_t_test() -> None:
    """A difference of half a standard deviation takes 34 pairs, of a whole one 10 (Cohen's tables)."""
    assert pairs_needed(0.5, 1) == 34
    assert pairs_needed(-1, 1) == 10
    assert pairs_needed(1e-6, 1) is None


def test_with_so_many_pairs_four_differences_in_five_are_seen() -> None:
    draw = Random(1)
    pairs = pairs_needed(1, 1.5)
    assert pairs is not None
    seen = sum(compared(*(draw.gauss(1, 1.5) for _ in range(pairs))).is_shown for _ in range(100))
    assert 70 <= seen <= 92


def of_score(measured: list[RunMeasures]) -> dict[str, Comparison]:
    return {each.story: each for each in compare_all(measured, detect=5) if each.measure == "score"}


def test_each_story_is_compared_by_itself_and_then_all_together_in_shares_of_their_maxima() -> None:
    found = of_score(
        [*measured_pairs("dyeworks", [1, 2, 3], most=10), *measured_pairs("mill", [10, 20, 30, 40], most=100)]
    )
    assert list(found) == ["dyeworks", "mill", "all 2 stories"]
    together = found["all 2 stories"]
    assert [found[story].difference for story in found] == [2, 25, pytest.approx((20 + 25) / 2)]
    assert (together.pairs, together.pairs_needed, together.pairs_to_detect) == (7, None, None)
    assert "all 2 stories, full against no-memory: +22.5 % of the maximum in 7 pairs" in said(together)
    assert "dyeworks, full against no-memory: +2 points in 3 pairs" in said(found["dyeworks"])


def test_a_story_whose_maximum_is_not_known_is_left_out_of_what_is_said_of_all() -> None:
    stories = (
        measured_pairs("dyeworks", [1, 2]),
        measured_pairs("mill", [3, 4]),
        measured_pairs("weir", [5, 6], most=None),
    )
    found = of_score([each for story in stories for each in story])
    assert found["weir"].difference == 5.5
    assert found["2 of 3 stories"].difference == pytest.approx(25)


def test_what_is_no_score_is_compared_over_all_stories_as_it_is() -> None:
    measured = [*measured_pairs("dyeworks", [1, 2]), *measured_pairs("mill", [1, 2], most=None)]
    (calls,) = (each for each in compare_all(measured, None) if each.measure == "calls" and "stories" in each.story)
    assert (calls.story, calls.pairs, calls.difference, calls.is_share) == ("all 2 stories", 4, 0, False)


def test_runs_of_different_stories_are_never_a_pair() -> None:
    measured = [measured_run("dyeworks", "full", 1, 9), measured_run("mill", "no-memory", 1, 1)]
    assert all(each.pairs == 0 for each in compare_all(measured, None))


def test_an_arm_alone_is_scored_with_the_interval_of_its_measured_pairs() -> None:
    measured = [each for each in measured_pairs("dyeworks", [1, 2, 3]) if each.arm == "full"]
    assert list(compare_all(measured, None)) == []
    score = next(arm_scores(measured))
    assert (score.story, score.arm, score.runs, score.score) == ("dyeworks", "full", 3, 3)
    assert score.low is not None
    assert score.high is not None
    assert 2 <= score.low < 3 < score.high <= 4


@pytest.mark.parametrize(("points", "runs"), [(4, 1), (None, 0)])
def test_one_run_alone_is_scored_without_an_interval_and_one_without_points_not_at_all(
    points: float | None, runs: int
) -> None:
    score = next(arm_scores([replace(measured_run("dyeworks", "full", 1, 0), score=points)]))
    assert (score.runs, score.score, score.low, score.high) == (runs, points, None, None)
