"""The line at a run's end: what was learnt, and what it brought."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from managers.routes.document import Learnt, RouteBook
from session.events import EpisodeStarted, Event, TurnPlayed
from session.game_configuration import GameConfiguration
from session.route import Goal, KnownRoute, RouteStep, Waypoint
from session.values import Location, Observation, Proposal, TurnRecord, Verdict
from zorkgpt.llm.budget import Spending
from zorkgpt.report.figures import Gains

YARD = Observation("A yard.", Location(1, "Yard"), score=0)
HALL = Observation("A hall.", Location(2, "Hall"), score=20)
ROUTE = KnownRoute(0, Goal("score", 20), Waypoint(1, "Yard", 0), (RouteStep("north", Waypoint(2, "Hall", 20)),), 2)
BOOK = Learnt((ROUTE,)).apply_to(RouteBook())


def episode(
    number: int, score: int | None, most: int | None = None, *, follows: int | None = None, walks_to: int | None = None
) -> Iterator[Event]:
    yield EpisodeStarted(number, 1, YARD)
    if follows is not None or walks_to is not None:
        proposal, verdict = Proposal("north", follow=follows, go_to=walks_to), Verdict(accepted=True, source="route")
        yield TurnPlayed(TurnRecord(number, 1, YARD, (proposal,), (verdict,), HALL), 0.1)
    seen = replace(HALL, score=score, max_score=most)
    yield TurnPlayed(TurnRecord(number, 2, HALL, (Proposal("look"),), (Verdict(accepted=True),), seen), 0.1)


def line(*episodes: Iterable[Event], book: RouteBook = BOOK, memories: int = 0, tokens: int = 0) -> str:
    gains = Gains()
    for events in episodes:
        for event in events:
            gains.see(event)
    return gains.line(2, book, memories, Spending(GameConfiguration(), dollars=tokens / 1000, tokens=tokens))


def test_the_points_on_a_route_are_told_with_the_episode_that_it_is_of() -> None:
    told = line(episode(1, 5, 50), episode(2, 20, 50), episode(3, 25, 50, follows=1), memories=1, tokens=4000)
    assert told == (
        "Learnt so far: 2 locations, 1 route, 1 memory. Episode 1: 5 of 50 points; episode 3: 25, of which 20 by a "
        "route of episode 2. Cost: 4,000 tokens, $4.0000."
    )


def test_a_route_that_is_known_no_more_has_no_episode() -> None:
    told = line(episode(1, 1), episode(2, 20, follows=1), book=RouteBook(), memories=2)
    assert told == (
        "Learnt so far: 2 locations, 0 routes, 2 memories. Episode 1: 1 point; episode 2: 20, of which 20 by a route."
    )


def test_only_points_on_a_route_are_a_routes_and_what_is_repeated_after_a_resumption_counts_once() -> None:
    followed = list(episode(2, 20, follows=1))
    assert line(episode(1, 5), followed, followed[1:]).endswith("episode 2: 20, of which 20 by a route of episode 2.")
    assert line(episode(1, 5), episode(2, 20, walks_to=2)).endswith("Episode 1: 5 points; episode 2: 20.")
    assert line(episode(1, 5), episode(2, 0)).endswith("Episode 1: 5 points; episode 2: 0.")
    assert line(episode(1, 5, 350)).endswith("0 memories. Episode 1: 5 of 350 points.")


def test_a_story_without_a_score_has_none_and_where_nothing_was_seen_nothing_is_told() -> None:
    gains = Gains()
    assert gains.line(14, BOOK, 0, Spending(GameConfiguration())) == ""
    unscored = Observation("A yard.", Location(1, "Yard"))
    gains.see(TurnPlayed(TurnRecord(1, 1, unscored, (Proposal("look"),), (Verdict(accepted=True),), unscored), 0.1))
    assert gains.line(14, BOOK, 0, Spending(GameConfiguration())) == "Learnt so far: 14 locations, 1 route, 0 memories."
