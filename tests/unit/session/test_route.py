"""A route states points only if both scores are known."""

from __future__ import annotations

import pytest

from session.route import Goal, Route, RouteStep, Waypoint
from session.values import Observation


def route(*scores: int | None) -> Route:
    """Return a route with the score at its start and after each of its commands."""
    steps = tuple(RouteStep(f"command {number}", Waypoint(score=score)) for number, score in enumerate(scores[1:]))
    return Route(1, Goal("score", 10), Waypoint(score=scores[0]), steps, episode=1)


@pytest.mark.parametrize(
    ("scores", "done", "gain"),
    [
        ((0, 5, 10), 0, 10),
        ((None, 30), 0, 0),
        ((20, None), 0, 0),
        ((0, 5, None), 0, 5),
        ((0, None, 25), 1, 25),
        ((None, None), 0, 0),
    ],
)
def test_an_unknown_score_is_neither_zero_nor_a_loss(scores: tuple[int | None, ...], done: int, gain: int) -> None:
    assert route(*scores).gain(done) == gain


def test_an_unknown_score_is_no_deviation() -> None:
    before = Observation("Before.")
    assert Waypoint(score=5).deviation(before, Observation("After.", score=None), (), ()) == ""
    assert Waypoint(score=5).deviation(before, Observation("After.", score=6), (), ())
