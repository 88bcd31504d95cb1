"""The line at a run's end: what was learnt, and what it brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from managers.routes.document import Learnt, RouteBook
from session.events import EpisodeEnded, EpisodeStarted, TurnPlayed
from session.route import Goal, KnownRoute, RouteStep, Waypoint
from session.values import Location, Observation, Proposal, TurnRecord, Verdict
from zorkgpt.report.gains import Gains

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.events import Event

YARD = Observation("A yard.", Location(1, "Yard"), score=0)
HALL = Observation("A hall.", Location(2, "Hall"), score=20)
ROUTE = KnownRoute(0, Goal("score", 20), Waypoint(1, "Yard", 0), (RouteStep("north", Waypoint(2, "Hall", 20)),), 2)
BOOK = Learnt((ROUTE,)).apply_to(RouteBook())


def episode(
    number: int, score: int | None, *, follows: int | None = None, walks_to: int | None = None
) -> Iterator[Event]:
    yield EpisodeStarted(number, 1, YARD)
    if follows is not None or walks_to is not None:
        proposal, verdict = Proposal("north", follow=follows, go_to=walks_to), Verdict(accepted=True, source="route")
        yield TurnPlayed(TurnRecord(number, 1, YARD, (proposal,), (verdict,), HALL), 0.1)
    yield EpisodeEnded(number, "turn_limit", 1, score, score, None, 2, 0.1)


def line(*episodes: Iterator[Event], book: RouteBook = BOOK) -> str:
    gains = Gains()
    for events in episodes:
        for event in events:
            gains.see(event)
    return gains.line(book)


def test_the_points_on_a_route_are_told_with_the_episode_that_it_is_of() -> None:
    assert line(episode(1, 5), episode(2, 20), episode(3, 25, follows=1)) == (
        "Learnt: 1 location, 1 route. Episode 1: 5 points; episode 3: 25, of which 20 by a route of episode 2."
    )


def test_a_route_that_is_known_no_more_has_no_episode() -> None:
    told = line(episode(1, 1), episode(2, 20, follows=1), book=RouteBook())
    assert told == "Learnt: 1 location, 0 routes. Episode 1: 1 point; episode 2: 20, of which 20 by a route."


def test_points_on_a_walk_to_a_location_are_no_routes() -> None:
    assert line(episode(1, 5), episode(2, 20, walks_to=2)).endswith("Episode 1: 5 points; episode 2: 20.")


def test_without_a_route_the_scores_stand_alone() -> None:
    assert line(episode(1, 5), episode(2, 0), book=BOOK).endswith("Episode 1: 5 points; episode 2: 0.")


def test_one_episode_and_a_story_without_a_score_tell_nothing() -> None:
    assert line(episode(1, 5)) == ""
    assert line(episode(1, None), episode(2, None)) == ""
