"""What routes are offered at a moment, and how people are shown them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import structlog

from managers.map_manager import MapManager
from managers.route_manager import RouteManager, open_routes
from managers.routes.document import FollowedRoute, Learnt
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.route import Goal, KnownRoute, RouteStep, Waypoint
from session.values import Location, Observation, Proposal, TurnRecord, Verdict
from zorkgpt.mapping.map_graph import MapGraph

YARD = Observation("A yard.", Location(1, "Yard"), (), (), score=0)
HALL = Observation("A hall.", Location(2, "Hall"), (), (), score=0)
LOFT = Observation("A loft.", Location(3, "Loft"), (), (), score=5)


def route_to(score: int, *commands: str) -> KnownRoute:
    """A route that leads through the hall to a score."""
    *passed, end = Waypoint.of(HALL), replace(Waypoint.of(LOFT), score=score)
    steps = tuple(map(RouteStep, commands, [*passed, end][-len(commands) :]))
    return KnownRoute(0, Goal("score", score), Waypoint.of(YARD), steps, 1)


def manager_in(folder: Path, *routes: KnownRoute) -> RouteManager:
    open_routes(folder).apply(Learnt(routes))
    return RouteManager(structlog.get_logger(), GameConfiguration(zork_game_workdir=folder), GameState())


def test_a_badly_trusted_route_is_not_the_best_one_though_it_wins_more(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(5, "up"), route_to(9, "north"))
    assert [(each.number, each.is_best) for each in manager.offers(YARD)] == [(2, True), (1, False)]
    for number in (1, 2):
        manager.stores()[0].apply(FollowedRoute(manager.book.routes[1].key, stopped_at=1))
        assert manager.book.routes[1].followed == number
    assert [(each.number, each.is_best) for each in manager.offers(YARD)] == [(1, True), (2, False)]


def test_people_are_shown_the_routes_from_here_and_how_many_others_there_are(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(5, "up"), route_to(9, "north", "up"))
    assert manager.present() == ("2: +9 in 2 commands from here", "1: +5 in 1 command from here")
    for turn, (seen, told) in enumerate(
        [
            (HALL, ("2: +9 in 1 command from here", "1 other route")),
            (LOFT, ("2 routes, none from here",)),
        ],
        start=1,
    ):
        record = TurnRecord(1, turn, YARD, (Proposal("north"),), (Verdict(accepted=True),), seen)
        manager.game_state.record(record)
        manager.learn(record)
        assert manager.present() == told


def test_from_its_middle_a_route_promises_the_points_that_are_left(tmp_path: Path) -> None:
    hall, loft = replace(HALL, score=30), replace(LOFT, score=50)
    steps = (RouteStep("north", Waypoint.of(hall)), RouteStep("up", Waypoint.of(loft)))
    manager = manager_in(tmp_path, KnownRoute(0, Goal("score", 50), Waypoint.of(YARD), steps, 1))
    record = TurnRecord(1, 1, YARD, (Proposal("north"),), (Verdict(accepted=True),), hall)
    manager.game_state.record(record)
    manager.learn(record)
    assert manager.present() == ("1: +20 in 1 command from here",)
    assert [offer.choice for offer in manager.offers(hall)] == ["follow route 1 (+20)"]
    section = manager.section(hall)
    assert section is not None
    assert "+20" in section.text
    assert "+50" not in section.text


def test_there_is_somewhere_to_walk_to_only_where_a_room_is_more_than_a_command_away(tmp_path: Path) -> None:
    graph, log, configuration = MapGraph(), structlog.get_logger(), GameConfiguration(zork_game_workdir=tmp_path)
    graph.add_connection(1, "north", 2)
    graph.add_connection(2, "north", 3)
    for here, may_travel in ((1, True), (2, False), (3, False), (None, False)):
        state = GameState(current_room_id=here)
        game_map = MapManager(log, configuration, state, graph=graph)
        assert RouteManager(log, configuration, state, game_map=game_map).may_travel is may_travel


def test_without_a_map_routes_are_kept_to_the_six_rooms_of_the_lowest_numbers(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    here, commands = YARD, ("in", "on", "up", "by", "off", "out", "away", "down")
    for turn, command in enumerate(commands, start=1):
        there = Observation("A room.", Location(turn + 1, f"Room {turn}"), (), (), score=0)
        record = TurnRecord(1, turn, here, (Proposal(command),), (Verdict(accepted=True),), there)
        manager.game_state.record(record)
        manager.learn(record)
        here = there
    manager.end("turn_limit")
    assert [route.goal.number for route in manager.book.routes if route.goal.kind == "room"] == [2, 3, 4, 5, 6, 7]
