"""A route states points only if both scores are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from session.route import Goal, Loss, Route, RouteStep, Waypoint, touched_in
from session.values import GameObject, Location, Observation


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


@pytest.mark.parametrize(("scores", "loss"), [((0, 5, 2), Loss(-3, "command 1", 1)), ((0, 5, 5), None)])
def test_a_route_that_is_cut_after_its_points_says_that_its_rest_loses_some(
    scores: tuple[int, ...], loss: Loss | None
) -> None:
    cut = route(*scores).to_last_point(0)
    assert (cut.commands, cut.loss) == (("command 0",), loss)


def test_a_loss_after_the_end_of_a_route_is_counted_from_its_last_point() -> None:
    longer = replace(route(0, 5, 5, 5), loss=Loss(-3, "down", 1))
    assert longer.to_last_point(0).loss == Loss(-3, "down", 3)


def test_an_unknown_score_is_no_deviation() -> None:
    before = Observation("Before.")
    assert Waypoint(score=5).deviation(before, Observation("After.", score=None), (), ()) == ""
    assert Waypoint(score=5).deviation(before, Observation("After.", score=6), (), ())


def test_what_a_route_has_changed_in_its_place_and_this_game_has_not_is_not_done() -> None:
    here = Waypoint(2, "Hall", carried=())
    changes = {"open box": "b", "wait": "c", "take gem": "d", "push bell": "", "pull rope": "e", "up": "f"}
    steps = [RouteStep(command, replace(here, mark=mark)) for command, mark in changes.items()]
    steps[2:] = [replace(step, leads_to=replace(step.leads_to, carried=(7,))) for step in steps[2:]]
    steps[-1] = replace(steps[-1], leads_to=replace(steps[-1].leads_to, location_id=3))
    route = Route(1, Goal("room", 3), replace(here, mark="a"), tuple(steps), episode=1)
    assert route.not_done(len(steps), []) == [(2, "open box")]
    assert route.not_done(len(steps), [(2, "open box")]) == []
    assert route.not_done(0, []) == []


def test_a_command_that_brings_a_thing_along_is_not_only_a_move() -> None:
    for command, named in (("push cart east", [(1, "push cart east")]), ("east", [])):
        step = RouteStep(command, Waypoint(2, "Yard", carried=(), seen=(9,), mark="b"))
        start = Waypoint(1, "Hall", carried=(), seen=(9,), mark="a")
        assert Route(1, Goal("room", 2), start, (step,), episode=1).not_done(1, []) == named


def test_a_thing_that_goes_along_is_moved_if_the_command_names_it() -> None:
    sky, cart = (GameObject(20, "blue sky", 1), GameObject(21, "hay cart", 1))
    yard = Observation("", Location(1, "Yard"), (), (sky, cart))
    hall = Observation("", Location(2, "Hall"), (), (replace(sky, parent=2), replace(cart, parent=2)))
    assert touched_in([yard, hall], ["push cart east"]) == {21}
    assert touched_in([yard, hall]) == frozenset()
