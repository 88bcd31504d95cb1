"""What runs came to, and what their differences show; warnings are errors here too."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, pvariance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from session.errors import StoreError
from session.events import Event, RunEnded
from session.files.journal import JOURNAL_FILE
from session.values import Observation
from tests.fixtures.run_events import answered
from tests.fixtures.small_ablation import measured_pairs, measured_run
from tests.unit.zorkgpt.report.dye_runs import ended, played, started, turn, write_run
from zorkgpt.ablation.comparison import (
    FEW_DIFFER,
    LEAST_PAIRS,
    NO_DIFFERENCE,
    NO_PAIR,
    NO_SPREAD,
    ONE_PAIR,
    Comparison,
    arm_scores,
    bootstrap_interval,
    compare,
    compare_all,
    pairs_needed,
    permutation_p,
)
from zorkgpt.ablation.measures import SCORES, RunMeasures, finished_run, measure, share, turns_to
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
    assert "unlikely to be chance" in said(found)


def test_pairs_that_differ_to_and_fro_show_none_and_say_how_many_would() -> None:
    found = compared(1, 2, -3, 0, 0, 4, -2)
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
    few = compared(10, 11, 9, 12, 0, detect=50)
    assert (few.pairs_needed, few.pairs_to_detect) == (None, None), "the spread of four differences is not known"
    assert few.why_not == FEW_DIFFER
    assert "pairs to see" not in said(few)
    found = compared(10, 11, 9, 12, 10, detect=50)
    assert (found.pairs_needed, found.pairs_to_detect) == (LEAST_PAIRS, LEAST_PAIRS)
    assert compared(*range(10, 10 + LEAST_PAIRS)).is_shown
    assert not compared(*range(10, 9 + LEAST_PAIRS)).is_shown


@pytest.mark.parametrize(
    ("differences", "reason", "words"),
    [
        ((), NO_PAIR, "nothing can be said"),
        ((3,), ONE_PAIR, "one pair shows nothing"),
        ((1, 2, 0, 4), FEW_DIFFER, "no difference is shown"),
        ((0, 0, 0), NO_DIFFERENCE, "the same score in each of 3 pairs"),
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
    measured = [each for each in measured_pairs("dyeworks", [1, 2, 3, 4, 5]) if each.arm == "full"]
    assert list(compare_all(measured, None)) == []
    score = next(arm_scores(measured))
    assert (score.story, score.arm, score.runs, score.score) == ("dyeworks", "full", 5, 4)
    assert score.low is not None
    assert score.high is not None
    assert 2 < score.low < 4 < score.high < 6


def test_fewer_than_five_pairs_that_differ_have_no_interval() -> None:
    assert compared(1, 2, 3, 4).low is None
    assert compared(2, 2, 2, 2).low is None
    assert compared(1, 2, 3, 4, 5).low is not None
    assert compared(0, 0, 0, 0, 5, 6, 5, 5).low is None, "as no p of four pairs that differ is below 0.125"
    four = [each for each in measured_pairs("dyeworks", [1, 2, 3, 4]) if each.arm == "full"]
    assert next(arm_scores(four)).low is None
    assert "the same score" not in said(compared(1, -1, 2, -2))


def test_the_last_three_of_two_episodes_are_unknown(tmp_path: Path) -> None:
    assert measured(tmp_path, *scoring(1, 2)).last_three is None


@pytest.mark.parametrize(("points", "runs"), [(4, 1), (None, 0)])
def test_one_run_alone_is_scored_without_an_interval_and_one_without_points_not_at_all(
    points: float | None, runs: int
) -> None:
    score = next(arm_scores([replace(measured_run("dyeworks", "full", 1, 0), score=points)]))
    assert (score.runs, score.score, score.low, score.high) == (runs, points, None, None)


def scoring(*scores: int) -> list[Event]:
    """An episode of as many turns, with the score after each."""
    record = turn(1, "wait", score=scores[0])
    records = [record]
    for number, score in enumerate(scores[1:], start=2):
        record = turn(number, "wait", record.after, score=score)
        records.append(record)
    return [started(), *(played(each) for each in records), ended(), RunEnded(1)]


def measured(workdir: Path, *events: Event, arm: str = "full") -> RunMeasures:
    return measure(write_run(workdir / arm, events), "dyeworks", arm, 1)


def test_what_is_learned_after_a_turn_takes_time_too(tmp_path: Path) -> None:
    calls = [
        answered(role=role, seconds=seconds) for role, seconds in (("agent", 1.0), ("memory", 4.0), ("analysis", 8))
    ]
    run = measured(tmp_path, started(), *calls, played(turn(1, "wait"), seconds=1.5), ended(), RunEnded(1))
    assert run.seconds == 13.5


def test_a_run_with_an_episode_without_a_known_score_has_no_mean(tmp_path: Path) -> None:
    fog = Observation("Fog.")
    blind: list[Event] = [started(2, fog), played(turn(1, "wait", fog, episode=2)), ended(2)]
    run = measured(tmp_path, *scoring(5)[:-1], *blind, *blind, RunEnded(2))
    assert (run.score, run.last_three, run.last_score, run.best_score) == (None, None, None, 5)


def test_where_no_location_is_known_the_number_of_rooms_is_not(tmp_path: Path) -> None:
    fog = Observation("Fog.", score=0)
    assert measured(tmp_path, started(1, fog), played(turn(1, "wait", fog)), ended(), RunEnded(1)).rooms is None
    assert measured(tmp_path, *scoring(1), arm="other").rooms == 1


@pytest.mark.parametrize("line", [1, 2])
def test_a_journal_that_somebody_changed_is_not_measured(tmp_path: Path, line: int) -> None:
    folder = write_run(tmp_path, scoring(0, 5))
    journal = folder / JOURNAL_FILE
    lines = journal.read_bytes().split(b"\n")
    lines[line] = lines[line].replace(b'"event":', b'"event" :')
    journal.write_bytes(b"\n".join(lines))
    assert finished_run(tmp_path) == folder
    with pytest.raises(StoreError, match=rf"journal.jsonl:{line + 1}: .* plays it again"):
        measure(folder, "dyeworks", "full", 1)


def test_who_goes_on_to_a_higher_score_is_not_slower_for_it(tmp_path: Path) -> None:
    runs = [
        measured(tmp_path, *scoring(0, 5, 5, 5, 10), arm="full"),
        measured(tmp_path, *scoring(0, 0, 0, 5), arm="other"),
    ]
    assert [run.turns_to_best for run in runs] == [5, 4]
    (found,) = (each for each in compare_all(runs, None) if each.measure == "turns to best")
    assert found.difference == 2 - 4


def test_a_score_that_was_never_won_takes_no_turns(tmp_path: Path) -> None:
    run = measured(tmp_path, *scoring(0, 0))
    assert (run.turns_to_best, turns_to(5, run.episodes), turns_to(None, run.episodes)) == (None, None, None)


def test_scores_are_told_in_shares_of_what_the_story_holds_where_that_is_known(tmp_path: Path) -> None:
    run = measured(tmp_path, *scoring(0, 5))
    assert (run.score, run.max_score) == (5, 50)
    assert [share(run, measure) for measure in SCORES] == [10, None, 10, 10]
    assert share(replace(run, max_score=None), "score") is None


def test_a_storys_own_word_stands_above_the_users(tmp_path: Path) -> None:
    folder = write_run(tmp_path, scoring(0, 5))
    assert measure(folder, "dyeworks", "full", 1, max_score=7).max_score == 50


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


def test_signs_are_permuted_over_all_stories_exactly_and_in_the_permutation_too_a_story_counts_once() -> None:
    """Of 2**7 signs of pairs, the six small ones of a story weigh as much together as the one of the other."""
    assert permutation_p([[1, 1, 1], [2, 2, 2]]) == 2 / 2**6
    assert permutation_p([[1, -1], [0]]) == 1
    assert permutation_p([[1.0] * 6, [1.0]]) == 2 / 2**7
    assert permutation_p([[1.0] * 6, [-1.0]]) == 1
