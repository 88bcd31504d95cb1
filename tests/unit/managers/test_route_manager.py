"""What routes are offered at a moment, and how people are shown them."""

from __future__ import annotations

import re
from cProfile import Profile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import structlog

from managers.course_manager import CourseManager
from managers.map_manager import MapManager
from managers.route_manager import RouteManager, open_routes
from managers.routes.document import RouteBook, doubts_of, route_line
from managers.routes.trail import digests_of
from managers.transcripts.document import Game
from managers.transcripts.game_text import PlayedTurn
from session.commands import Vocabulary
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.route import Goal, Proof, Route, RouteStep, Waypoint
from session.values import GameObject, Location, Observation, Proposal, TurnRecord, Verdict
from tests.fixtures.dye_works import section_text
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.navigation import local_view, paths_from

YARD = Observation("A yard.", Location(1, "Yard"), (), (), score=0)
HALL = Observation("A hall.", Location(2, "Hall"), (), (), score=0)
LOFT = Observation("A loft.", Location(3, "Loft"), (), (), score=5)


def route_to(score: int, *commands: str) -> Route:
    """A route that leads through the hall to a score."""
    passed, end = Waypoint.of(HALL), replace(Waypoint.of(LOFT), score=score)
    ends = [*[passed] * (len(commands) - 1), end]
    pairs = enumerate(zip(commands, ends, strict=True))
    steps = tuple(RouteStep(command, point, 0 < number < len(ends) - 1) for number, (command, point) in pairs)
    return Route(0, Goal("score", score), Waypoint.of(YARD), steps, 1)


def learn_routes(folder: Path, *routes: Route, rooms: tuple[int, ...] = ()) -> None:
    open_routes(folder).apply(lambda book: book.with_episode(RouteBook(routes=routes), rooms))


def manager_in(folder: Path, *routes: Route) -> RouteManager:
    learn_routes(folder, *routes)
    return with_map(folder, GameState())


@pytest.fixture
def manager(tmp_path: Path) -> RouteManager:
    return manager_in(tmp_path)


def courses_of(manager: RouteManager) -> CourseManager:
    """What leads along the routes of this manager."""
    return CourseManager(structlog.get_logger(), manager.config, manager.game_state, manager._map, routes=manager)


def lead(courses: CourseManager, before: Observation, after: Observation) -> None:
    """One turn, with the next command of the course."""
    proposal = courses.next_proposal
    assert proposal is not None
    assert courses._routes is not None
    state = courses.game_state
    verdict = Verdict(accepted=True, source="route")
    record = TurnRecord(state.episode, state.turn_count + 1, before, (proposal,), (verdict,), after)
    state.record(record)
    courses.learn(record)
    courses._routes.learn(record)


def play(manager: RouteManager, before: Observation, after: Observation, action: str) -> None:
    """One turn that is not part of a course."""
    proposal, verdict = Proposal(action), Verdict(accepted=True)
    state = manager.game_state
    record = TurnRecord(state.episode, state.turn_count + 1, before, (proposal,), (verdict,), after)
    state.record(record)
    manager.learn(record)


def play_on(manager: RouteManager, here: Observation, *way: tuple[str, Observation]) -> None:
    """Turns that are not part of a course: each command, and what is seen after it."""
    for action, after in way:
        play(manager, here, after, action)
        here = after


def after_game(folder: Path, start: Observation, *way: tuple[str, Observation]) -> RouteManager:
    """A manager that begins the episode after one with this way."""
    manager = manager_in(folder)
    play_on(manager, start, *way)
    manager.end("left")
    manager.reset(GameState(episode=2))
    return manager


def with_map(
    folder: Path, state: GameState, *ways: tuple[int, str, int], vocabulary: Vocabulary | None = None, **options: object
) -> RouteManager:
    """A manager that knows these ways between the rooms of these numbers."""
    config = GameConfiguration.model_validate({"zork_game_workdir": folder, **options})
    log = structlog.get_logger()
    game_map = MapManager(log, config, state)
    for from_id, command, to_id in ways:
        game_map.game_map.add_connection(from_id, command, to_id)
    return RouteManager(log, config, state, game_map, vocabulary=vocabulary or Vocabulary(0, frozenset()))


def test_a_badly_trusted_route_is_not_the_best_one_though_it_wins_more(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(5, "up"), route_to(9, "north"))
    assert [(each.number, each.is_listed) for each in manager.offers(YARD)] == [(2, True), (1, False)]
    key = manager.book.routes[1].key
    for number in (1, 2):
        manager._store.apply(lambda book: book.with_try(key, stopped_at=1))
        assert manager.book.routes[1].followed == number
    assert [(each.number, each.is_listed) for each in manager.offers(YARD)] == [(1, True), (2, False)]
    without_points = followed(tmp_path / "cellar", [])._routes
    assert without_points is not None
    assert [offer.is_listed for offer in without_points.offers(YARD)] == [False]


def test_a_small_model_is_shown_no_routes_beside_those_of_its_list(tmp_path: Path) -> None:
    after_game(tmp_path, YARD, ("north", replace(HALL, score=5)))
    state = GameState(episode=2, opening=YARD.text, latest=YARD)
    manager = with_map(tmp_path, state, assist=["valid-actions"], agent={"reasoning_length": 0})
    assert manager.offers(YARD)
    assert manager.section(YARD) is None


def test_a_route_is_listed_until_one_was_followed_in_this_game(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(5, "north", "up"), route_to(9, "north", "climb"))
    play(manager, YARD, HALL, "north")
    assert [(each.number, each.is_listed) for each in manager.offers(HALL)] == [(2, True), (1, False)]
    courses = courses_of(manager)
    assert courses.set_out(Proposal("wait", follow=2), HALL) == ""
    lead(courses, HALL, LOFT)
    assert not any(each.is_listed for each in manager.offers(HALL))
    manager.reset(GameState())
    assert [each.is_listed for each in manager.offers(YARD)] == [True, False]


def test_what_a_command_does_is_known_by_other_words_for_its_things(tmp_path: Path) -> None:
    ways = {"take coin": (7,), "take box": (8,)}
    states = [Waypoint.of(YARD), *(replace(Waypoint.of(YARD), carried=things) for things in ways.values())]
    steps = tuple(map(RouteStep, ways, states[1:]))
    learn_routes(tmp_path, Route(0, Goal("thing", 8), states[0], steps, 1))
    words = Vocabulary(9, frozenset(), objects={"coin": (7,), "penny": (7, 9), "box": (8,)})
    manager = with_map(tmp_path, GameState(), vocabulary=words)
    for command, gained in (("take coin", [(7,)]), ("take penny", [(7,)]), ("drop penny", []), ("take bag", [])):
        assert [effect.gained for effect in manager.effects_of(command, 1)] == gained
    assert not list(manager.effects_of("take penny", 2))


@pytest.mark.parametrize("unknown", [{"carried": None}, {"location_id": None}], ids=["belongings", "place"])
def test_what_a_command_did_is_unknown_if_the_moment_before_or_after_it_is(tmp_path: Path, unknown: Any) -> None:
    there = replace(Waypoint.of(YARD), carried=(7,))
    unclear = replace(there, **unknown)
    steps = (RouteStep("take coin", unclear), RouteStep("wait", there))
    learn_routes(tmp_path, Route(0, Goal("thing", 7), Waypoint.of(YARD), steps, 1))
    manager = with_map(tmp_path, GameState())
    assert [*manager.effects_of("take coin", 1), *manager.effects_of("wait", 1)] == []


def test_what_a_trusted_beginning_wins_counts_even_if_the_rest_is_luck(tmp_path: Path) -> None:
    """A route to 39 points that worked in 2 of 5 trials begins with one to 35 that always does."""
    safe, lucky, other = (
        replace(route_to(35, "north", "up"), proof=Proof(5, 5)),
        replace(route_to(39, "north", "up", "jump"), proof=Proof(2, 5)),
        replace(route_to(39, "south", "up", "jump"), proof=Proof(2, 5), goal=Goal("room", 3)),
    )
    lucky = replace(lucky, steps=(*safe.steps, lucky.steps[-1]))
    manager = manager_in(tmp_path, safe, lucky, other)
    assert [each.number for each in manager.offers(YARD) if each.is_listed] == [2]


def test_people_are_shown_the_routes_from_here_and_how_many_others_there_are(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(5, "up"), route_to(11, "north", "up"))
    assert manager.known().present(None)["route"] == (
        "2: +11 in 2 commands from here, ending with `up` at Hall",
        "1: +5 in 1 command from here, ending with `up`",
    )
    play(manager, YARD, HALL, "north")
    assert manager.known().present(None)["route"] == (
        "2: +11 in 1 command from here, ending with `up`",
        "1 other route",
    )
    play(manager, YARD, LOFT, "north")
    assert manager.known().present(None)["route"] == ("2 routes, none from here",)


@pytest.mark.parametrize(
    ("goal", "aim"),
    [
        (Goal("score", 11), "+11 points, ending with `up` at Hall"),
        (Goal("thing", 30, "knife"), "take knife, +11, ending with `up` at Hall"),
    ],
)
def test_people_are_shown_what_a_followed_route_is_for(tmp_path: Path, goal: Goal, aim: str) -> None:
    manager = manager_in(tmp_path, replace(route_to(11, "north", "up"), goal=goal))
    courses = courses_of(manager)
    assert courses.set_out(Proposal("wait", follow=1), YARD) == ""
    assert courses.known().present(None)["route"] == (f"Route 1: 0 of 2 commands, {aim}",)


def test_from_its_middle_a_route_promises_the_points_that_are_left(tmp_path: Path) -> None:
    hall, loft = replace(HALL, score=30), replace(LOFT, score=50)
    steps = (RouteStep("north", Waypoint.of(hall)), RouteStep("up", Waypoint.of(loft)))
    manager = manager_in(tmp_path, Route(0, Goal("score", 50), Waypoint.of(YARD), steps, 1))
    play(manager, YARD, hall, "north")
    assert manager.known().present(None)["route"] == ("1: +20 in 1 command from here, ending with `up`",)
    assert [offer.choice for offer in manager.offers(hall)] == ["follow route 1 (+20)"]
    assert "+20" in section_text(manager, hall)
    assert "+50" not in section_text(manager, hall)


def test_a_route_goes_by_what_was_done_and_not_by_the_score(tmp_path: Path) -> None:
    """Points that came on another way, or that the route has won before, change neither its rest nor its check."""
    hall, loft = replace(HALL, score=5), replace(LOFT, score=5)
    roof = Observation("A roof.", Location(4, "Roof"), (), (), score=15)
    steps = tuple(
        RouteStep(command, Waypoint.of(after)) for command, after in (("north", hall), ("up", loft), ("climb", roof))
    )
    manager = manager_in(tmp_path, Route(0, Goal("score", 15), Waypoint.of(YARD), steps, 1))
    here = replace(HALL, score=12)
    play_on(manager, YARD, ("north", hall), ("dig", replace(YARD, score=12)), ("north", here))
    assert section_text(manager, here).startswith("1: +10 in 2 turns from here")
    courses = courses_of(manager)
    assert courses.set_out(Proposal("wait", follow=1), here) == ""
    lead(courses, here, replace(LOFT, score=12))
    lead(courses, replace(LOFT, score=12), won := replace(roof, score=22))
    assert section_text(courses, won) == "Route 1 was followed to its end, in 2 commands."
    play(manager, won, again := replace(YARD, score=22), "down")
    assert section_text(manager, again) == "", "all its points are won"


def test_points_that_came_with_a_thing_elsewhere_are_not_promised_for_it_again(tmp_path: Path) -> None:
    bone = GameObject(30, "old bone", 2)
    grave, loft = replace(HALL, visible=(bone,)), replace(LOFT, inventory=(bone,), score=15)
    taken = replace(HALL, inventory=(bone,), score=5)
    route = zip(("north", "take bone", "up"), (grave, taken, loft), strict=True)
    steps = tuple(RouteStep(command, Waypoint.of(after)) for command, after in route)
    manager = manager_in(tmp_path, Route(0, Goal("score", 15), Waypoint.of(YARD), steps, 1, touched=(30,)))
    caught, here = replace(YARD, inventory=(bone,), score=5), replace(grave, score=5)
    play_on(manager, YARD, ("catch bone", caught), ("north", taken), ("drop bone", here))
    assert section_text(manager, here).startswith("1: perhaps +10 in 2 turns from here")


@pytest.mark.parametrize("goal", [Goal("score", 25), Goal("room", 4, "Roof")], ids=["for points", "to a place"])
def test_a_route_whose_last_points_or_place_were_reached_ends_with_the_points_that_are_left(
    tmp_path: Path, goal: Goal
) -> None:
    hall, loft = replace(HALL, score=5), replace(LOFT, score=15)
    roof = Observation("A roof.", Location(4, "Roof"), (), (), score=25)
    steps = tuple(
        RouteStep(command, Waypoint.of(after))
        for command, after in (("north", hall), ("up", loft), ("climb", roof), ("wait", roof), ("look", roof))
    )
    learn_routes(tmp_path, Route(0, goal, Waypoint.of(YARD), steps, 1), rooms=(4,))
    manager = with_map(tmp_path, GameState())
    key = manager.book.routes[0].key
    here = replace(HALL, score=10)
    play_on(manager, YARD, ("fly", replace(LOFT, score=0)), ("climb", replace(roof, score=10)), ("fall", here))
    assert section_text(manager, here) == "1: +10 in 1 turn from here, worked in 1 of 1 episode: 1. up (+10)"
    courses = courses_of(manager)
    assert courses.set_out(Proposal("wait", follow=1), here) == ""
    lead(courses, here, replace(LOFT, score=20))
    assert courses.next_proposal is None
    assert [(route.key, route.joined) for route in manager.book.routes] == [(key, {})], "it was a part"


def test_what_a_joined_route_held_there_and_the_player_does_not_is_named(tmp_path: Path) -> None:
    knife = GameObject(30, "gutting knife", 9)
    armed, hall, loft = (replace(each, inventory=(knife,)) for each in (YARD, HALL, LOFT))
    manager = after_game(tmp_path, YARD, ("take knife", armed), ("north", hall), ("cut cord", loft))
    assert "not held now" not in section_text(manager, YARD)
    play(manager, YARD, HALL, "north")
    assert "from here" in section_text(manager, HALL)
    assert section_text(manager, HALL).endswith("; not held now: gutting knife")


def test_what_a_joined_route_did_before_and_this_game_has_not_is_named(tmp_path: Path) -> None:
    key, locked = GameObject(30, "key", 9), GameObject(40, "door", 2, frozenset({7}))
    with_key, unlocked = replace(YARD, inventory=(key,)), (replace(locked, attributes=frozenset()),)
    at_door = replace(HALL, visible=(locked,))
    hall, is_open = replace(at_door, inventory=(key,)), replace(HALL, inventory=(key,), visible=unlocked)
    way = ("take key", with_key), ("north", hall), ("examine key", hall), ("unlock door with key", is_open)
    manager = after_game(tmp_path, YARD, *way, ("up", replace(LOFT, inventory=(key,))))
    assert "not done" not in section_text(manager, YARD)
    play(manager, YARD, at_door, "north")
    shown = section_text(manager, at_door)
    assert ": 1. up (+5); " in shown
    assert shown.endswith("; not held now: key; not done in this game: unlock door with key (L2)")
    manager.reset(GameState(episode=3))
    play_on(manager, YARD, *way)
    assert "not done" not in section_text(manager, is_open)


def test_the_last_turns_of_an_earlier_game_count_as_played_in_their_order(manager: RouteManager) -> None:
    """They led to nothing new, so that no route has them."""
    manager.game_state = GameState(opening_location=YARD.location)
    turns = (PlayedTurn(1, "North", "Hall", to_id=2), PlayedTurn(2, "wait", "Time passes."))
    manager._games = lambda: (Game(1, 0, "Yard", turns),)
    assert ((1, "north"), (2, "wait")) in manager.walked().pairs


def test_a_command_that_only_killed_counts_as_played_and_led_to_where_the_story_went_on(manager: RouteManager) -> None:
    manager.game_state = GameState(opening_location=YARD.location)
    turns = PlayedTurn(1, "Push button", "Gas.", died=True, to_id=2), PlayedTurn(2, "jump", "You fall.", died=True)
    manager._games = lambda: (Game(1, 0, "Yard", turns),)
    assert manager.walked().leads_to == {(1, "push button"): {2}, (2, "jump"): {2}}


def test_it_is_known_how_often_a_command_was_played_in_a_game_before_it_won_points(tmp_path: Path) -> None:
    manager = with_map(tmp_path, GameState(opening_location=YARD.location))
    turns = [PlayedTurn(number, "push button", "Click.", change=5 * (number == 3)) for number in (1, 2, 3, 4)]
    manager._games = lambda: (Game(1, 5, "Yard", tuple(turns)),)
    assert manager.walked().won_after == {(1, "push button"): 2}
    for number, score in enumerate((0, 5), start=1):
        after = replace(HALL, score=score, moves=number)
        record = TurnRecord(
            1, number, replace(HALL, score=0), (Proposal("pull lever"),), (Verdict(accepted=True),), after
        )
        manager.learn(record)
    assert manager.walked().won_after == {(1, "push button"): 2, (2, "pull lever"): 1}
    manager.game_state.record(record)
    assert [*manager.games_played()] == [[("pull lever", 5)], [("push button", 5 * (at == 2)) for at in range(4)]]


def test_a_move_that_led_nowhere_is_not_needed_before_the_one_that_won_points(tmp_path: Path) -> None:
    manager = with_map(tmp_path, GameState(opening_location=YARD.location))
    barred, opened = PlayedTurn(1, "north", "A dog!"), PlayedTurn(2, "north", "Hall", change=10, to_id=2)
    manager._games = lambda: (Game(1, 10, "Yard", (barred, opened)),)
    assert manager.walked().won_after == {(1, "north"): 0}
    record = TurnRecord(1, 1, HALL, (Proposal("south"),), (Verdict(accepted=True),), HALL)
    manager.learn(record)
    manager.learn(replace(record, turn=2, after=replace(YARD, score=(HALL.score or 0) + 5)))
    assert manager.walked().won_after == {(1, "north"): 0, (2, "south"): 0}


def test_of_many_commands_that_a_joined_route_did_before_the_latest_are_named_and_the_others_counted() -> None:
    commands = [f"turn dial {number}" for number in range(1, 9)]
    steps = (*(RouteStep(each, Waypoint(2, "Hall", 0, (), (), each)) for each in commands), *route_to(5, "up").steps)
    shown = Route(0, Goal("score", 5), Waypoint(2, "Hall", 0, (), (), "m"), steps, 1)
    doubts = doubts_of(shown, 8, HALL, {(2, "turn dial 8"): ()}, {})
    dials = ", ".join(f"turn dial {number} (L2)" for number in range(2, 8))
    assert doubts == f"not done in this game: 1 more, {dials}"
    assert route_line(replace(shown, doubts=doubts), 8).endswith(f"; {doubts}")


def test_points_are_offered_as_doubtful_after_what_only_this_game_did_to_a_thing_of_the_route(tmp_path: Path) -> None:
    egg, broken = GameObject(30, "egg", 3), GameObject(30, "egg", 2, frozenset({7}))
    loft = replace(LOFT, visible=(egg,), score=0)
    manager = after_game(tmp_path, YARD, ("north", HALL), ("up", loft), ("take egg", replace(LOFT, inventory=(egg,))))
    play(manager, YARD, HALL, "north")
    assert [offer.choice for offer in manager.offers(HALL) if "+5" in offer.choice] == ["follow route 3 (+5)"]
    caught, dropped = replace(HALL, inventory=(broken,)), replace(HALL, visible=(broken,))
    play_on(manager, HALL, ("shake tree", caught), ("drop egg", dropped), ("south", YARD))
    assert section_text(manager, YARD).endswith("; done in this game only: shake tree (L2), drop egg (L2)")
    assert [offer.choice for offer in manager.offers(YARD) if "+5" in offer.choice] == ["follow route 3 (perhaps +5)"]


@pytest.mark.parametrize("ticks", [False, True])
def test_a_property_that_changes_by_itself_is_no_effect_of_a_command(tmp_path: Path, *, ticks: bool) -> None:
    hall, loft = ([replace(each, score=0, world_hash=str(at * ticks)) for at in range(6)] for each in (HALL, LOFT))
    way = ("north", hall[1]), ("examine lamp", hall[2]), ("push wall", hall[3]), ("up", loft[4])
    manager = after_game(tmp_path, YARD, *way, ("take gem", replace(loft[5], score=5)))
    assert section_text(manager, YARD).endswith("; only text: 2, 3")
    play_on(manager, YARD, *way[:2], ("up", loft[3]))
    assert ": +5 in 1 turn from here" in section_text(manager, loft[3]), "not: not done in this game: push wall"


@pytest.mark.parametrize("is_set", [False, True])
def test_points_are_doubtful_if_a_property_of_a_thing_was_set_on_the_route_only(
    tmp_path: Path, *, is_set: bool
) -> None:
    cold, warm = (replace(HALL, world_hash=each) for each in ("cold", "warm"))
    loft = replace(LOFT, score=0, world_hash="warm")
    way = ("north", cold), ("set dial to warm", warm), ("up", loft)
    manager = after_game(tmp_path, YARD, *way, ("take gem", replace(loft, score=5)))
    assert "only text" not in section_text(manager, YARD)
    now = loft if is_set else replace(loft, world_hash="cold")
    play_on(manager, YARD, ("north", cold), *way[1:2] * is_set, ("up", now))
    assert (": perhaps +5 in 1 turn" in section_text(manager, now)) == (not is_set)
    assert section_text(manager, now).endswith("; not done in this game: set dial to warm (L2)") == (not is_set)


@pytest.mark.parametrize("score", [0, 5])
def test_a_doubtful_route_is_shown_only_if_it_wins_points(tmp_path: Path, score: int) -> None:
    knife = GameObject(30, "gutting knife", 9)
    armed, hall, loft = (replace(each, inventory=(knife,)) for each in (YARD, HALL, replace(LOFT, score=score)))
    manager = after_game(tmp_path, YARD, ("take knife", armed), ("north", hall), ("cut cord", loft))
    assert "cut cord" in section_text(manager, YARD)
    section = manager.section(YARD)
    assert section is not None
    assert section.is_of_plan, "the critic judges a command, not a route"
    play(manager, YARD, HALL, "north")
    assert ("cut cord" in section_text(manager, HALL)) == (score > 0)


def test_a_thing_that_no_tree_of_objects_shows_is_not_taken_to_be_as_it_was(tmp_path: Path) -> None:
    """A window that was opened on the route was no doubt: it is at hand in two rooms, and in neither of them."""
    rope = GameObject(30, "rope", 9)
    shut, opened = (replace(HALL, attributes_hash=each) for each in ("shut", "open"))
    with_rope, ready = (replace(each, inventory=(rope,)) for each in (shut, opened))
    way = ("north", shut), ("open window", opened), ("take rope", ready), ("in", replace(LOFT, inventory=(rope,)))
    manager = after_game(tmp_path, YARD, *way)
    play_on(manager, YARD, ("north", shut), ("take rope", with_rope))
    assert ": perhaps +5 in 1 turn from here" in section_text(manager, with_rope)
    assert section_text(manager, with_rope).endswith("; not done in this game: open window (L2)")
    play(manager, with_rope, ready, "open window")
    assert ": +5 in 1 turn from here" in section_text(manager, ready)


def test_routes_are_not_offered_where_the_story_waits_for_an_answer(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(5, "north", "up"), route_to(9, "ring", "up"))
    asked = replace(HALL, awaits_answer=True)
    play_on(manager, YARD, ("north", HALL), ("ask bell", asked))
    assert manager.offers(asked) == ()
    manager.reset(GameState(episode=2))
    play(manager, YARD, asked, "north")
    assert [offer.number for offer in manager.offers(asked)] == [1], "the route led to the question, too"


def test_nothing_is_said_of_what_commands_in_another_order_change(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(6, "north", "wait", "open box", "take gem", "up", "pray"))
    assert "only text: " in section_text(manager, YARD)
    manager.config = GameConfiguration(zork_game_workdir=tmp_path, routes={"shuffled": True})
    manager.reset()
    assert "1. take gem" in section_text(manager, YARD)
    assert "only text: " not in section_text(manager, YARD)


def test_a_route_refers_to_sections_of_the_prompt_and_is_whole_without_them(tmp_path: Path) -> None:
    commands = [f"push {letter}" for letter in "abcdefgh"]
    manager = manager_in(tmp_path, route_to(5, *commands))
    whole = manager.section(YARD)
    assert whole is not None
    assert (whole.refers_to, whole.instead) == ((), None)
    manager._shown_commands = lambda: {"Plan": {"the plan": commands}, "Games": {}}
    section = manager.section(YARD)
    assert section is not None
    assert (section.refers_to, section.instead) == (("Plan",), whole)
    assert "1 to 8 as in the plan (8: +5)" in section.text
    assert "push" not in section.text


def test_a_beginning_of_a_longer_route_is_not_among_those_that_are_shown(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(5, "up", "jump"), route_to(6, "up", "jump", "in"), route_to(2, "in"))
    routes, lines = manager.shown(YARD)
    assert sorted(route.number for route, _ in routes) == sorted(lines.numbers) == [2, 3]


def test_a_plan_is_made_with_the_turns_that_the_route_to_the_most_points_takes(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(5, "in"), route_to(9, *["north"] * 7))
    manager.config = GameConfiguration(zork_game_workdir=tmp_path, max_turns_per_episode=10)
    assert manager.outlook().endswith("\nAn episode has at most 10 turns; the route to +9 takes 7.")
    assert manager_in(tmp_path / "empty").outlook() == ""
    manager.config = GameConfiguration(zork_game_workdir=tmp_path, max_turns_per_episode=5)
    assert manager.outlook().endswith("\nAn episode has at most 5 turns; the route to +9 takes 7.")
    to_gem = replace(route_to(0, "in"), goal=Goal("thing", 30, "gem"))
    assert "the route to" not in manager_in(tmp_path / "no points", to_gem).outlook()
    assert "take gem in 1 turn" in manager_in(tmp_path / "no points", to_gem).outlook()


def test_a_route_is_hidden_only_by_a_shorter_one_to_the_same_goal_with_the_same_things(tmp_path: Path) -> None:
    short, long = route_to(5, "north", "up"), route_to(5, "north", "take knife", "up")
    knife = replace(long.steps[-1], leads_to=replace(long.steps[-1].leads_to, carried=(30,)))
    richer, beginning = replace(long, steps=(*long.steps[:-1], knife)), route_to(2, "north")
    shown = section_text(manager_in(tmp_path / "richer", short, richer, beginning), YARD).splitlines()
    assert sorted(line[:2] for line in shown) == ["1:", "2:"]
    manager = manager_in(tmp_path / "poorer", short)
    book = replace(manager.book, routes=(*manager.book.routes, replace(long, number=2)))
    open_routes(tmp_path / "poorer").path.write_text(book.render())
    manager.reset()
    assert [line[:2] for line in section_text(manager, YARD).splitlines()] == ["1:"]


def test_a_route_to_a_room_is_hidden_if_a_known_way_is_as_short(tmp_path: Path) -> None:
    routes = [
        replace(route_to(0, *commands), goal=Goal("room", room, "Loft"))
        for room, commands in ((3, ("north", "up")), (4, ("north", "jump")))
    ]
    learn_routes(tmp_path, *routes, rooms=(3, 4))
    manager = with_map(tmp_path, GameState(), (1, "north", 2), (2, "north", 3))
    assert [line[:2] for line in section_text(manager, YARD).splitlines()] == ["2:"]
    assert [offer.number for offer in manager.offers(YARD)] == [1, 2]
    manager.game_state.opening_location = YARD.location
    assert re.findall(r"^Route \d+", manager.outlook(), re.MULTILINE) == ["Route 2"]


def test_a_route_is_followed_up_to_the_command_that_the_agent_names(tmp_path: Path) -> None:
    courses = courses_of(manager := manager_in(tmp_path, route_to(5, "north", "up")))
    assert "from 1" in courses.set_out(Proposal("wait", follow=1, until=0), YARD)
    assert courses.set_out(Proposal("wait", follow=1, until=1), YARD) == ""
    lead(courses, YARD, HALL)
    assert courses.next_proposal is None
    assert not courses.has_stopped
    assert section_text(courses, HALL) == "Route 1 was followed up to `north`, in 1 command."
    assert manager.book.routes[0].followed == 0


CELLAR = [Location(number, name) for number, name in ((11, "Stair"), (12, "Cellar"), (13, "Vault"), (14, "Cave"))]
LIT = [Observation(f"{place.name}\nThe lamp shows four walls.", place, (), (), score=0) for place in CELLAR]
DARK = replace(LIT[1], text="It is pitch black. You are likely to be eaten.")


def followed(
    folder: Path, seen: list[Observation], *, known: tuple[str, ...] = (), assist: str = "none"
) -> CourseManager:
    """Follow a lit route through the cellar, as far as it goes, with this observation."""
    steps = tuple(RouteStep("down", Waypoint.of(each)) for each in LIT)
    goal = Goal("room", 14, "Cave")
    said = frozenset(digest for text in known for digest in digests_of(text))
    learn_routes(folder, Route(0, goal, Waypoint.of(YARD), steps, 1), rooms=(14,))
    open_routes(folder).apply(lambda book: book.with_episode(RouteBook(tried={1: {"wait": 1}}, said=said), (14,)))
    courses = courses_of(with_map(folder, GameState(), assist=assist))
    assert courses.set_out(Proposal("wait", follow=1), YARD) == ""
    for earlier, after in pairwise([YARD, *seen]):
        lead(courses, earlier, after)
    return courses


def test_a_route_and_a_walk_stop_in_the_dark(tmp_path: Path) -> None:
    manager = followed(tmp_path / "route", [LIT[0], DARK])
    assert manager.next_proposal is None
    reason = "the story does not describe Cellar as it did then"
    assert f"stopped at `down` (2 commands played): {reason}" in section_text(manager, DARK)
    walker = with_map(tmp_path / "walk", GameState(), (11, "down", 12), (12, "down", 13))
    walker._map.game_map.add_room(12, "Cellar")
    play(walker, LIT[0], LIT[1], "down")
    courses = courses_of(walker)
    assert courses.set_out(Proposal("wait", go_to=13), LIT[0]) == ""
    lead(courses, LIT[0], DARK)
    assert courses.next_proposal is None


def test_a_walk_stops_before_a_way_that_was_only_presumed_and_tries_it_if_asked_again(tmp_path: Path) -> None:
    gate, hall, loft = (
        Observation("", Location(number, name), (), ()) for number, name in ((21, "Gate"), (22, "Hall"), (23, "Loft"))
    )
    walker = with_map(tmp_path, GameState(), (21, "north", 22), (22, "up", 23), (24, "north", 23), (23, "down", 22))
    courses = courses_of(walker)
    play(walker, gate, gate, "wait")
    to_attic = Proposal("wait", go_to=24)
    assert courses.set_out(to_attic, gate) == ""
    for before, after in pairwise((gate, hall, loft)):
        assert courses.next_proposal is not None
        lead(courses, before, after)
    assert courses.next_proposal is None, "the way from the loft to the attic was never walked"
    said = section_text(courses, loft)
    assert "`south` from L23 to L24 was never walked" in said
    assert "Not played: south." in said
    assert courses.set_out(to_attic, loft) == ""
    assert courses.next_proposal is not None
    assert courses.next_proposal.action == "south"
    walker._map.game_map.name_exits(23, ["south"])
    assert courses.set_out(to_attic, hall) == ""
    lead(courses, hall, loft)
    assert courses.next_proposal is not None, "the text of the loft names the way"


def test_a_walk_goes_around_an_exit_that_was_refused_in_this_game_or_stops_before_it(tmp_path: Path) -> None:
    gate, hall = (Observation("", Location(number, name), (), ()) for number, name in ((21, "Gate"), (22, "Hall")))
    walker = with_map(tmp_path, GameState(), (21, "north", 22), (22, "up", 23), (24, "down", 22))
    courses, graph, wish = courses_of(walker), walker._map, Proposal("wait", go_to=23)
    play(walker, hall, replace(hall, text="The trapdoor is shut."), "up")
    graph.learn(walker.game_state.turns[-1])
    assert "L23 Location #23 (1, up led nowhere last time)" in local_view(graph.game_map, 22, 1, named=(23,))
    play(walker, hall, gate, "south")
    assert courses.set_out(wish, gate) == ""
    lead(courses, gate, hall)
    assert courses.next_proposal is None
    said = section_text(courses, hall)
    assert '`up` from L22 to L23 led nowhere when it was last tried: "The trapdoor is shut."' in said
    assert "Not played: up. To try it, ask for go_to 23 again." in said
    assert courses.set_out(wish, hall) == "", "the player has read it"
    graph.game_map.add_connection(22, "west", 25)
    graph.game_map.add_connection(25, "up", 23)
    assert paths_from(graph.game_map, 22)[23].commands == ("west", "up")
    graph.reset(GameState(episode=2))
    assert paths_from(graph.game_map, 22)[23].commands == ("up",), "a new game"


def test_a_walk_on_foot_stops_before_a_way_that_was_only_walked_in_a_boat(tmp_path: Path) -> None:
    boat = GameObject(9, "boat", 22)
    yard, quay, isle = (
        Observation("", Location(number, name), (), ()) for number, name in ((21, "Yard"), (22, "Quay"), (23, "Isle"))
    )
    walker = with_map(tmp_path, GameState(), (21, "north", 22))
    courses, graph, wish = courses_of(walker), walker._map, Proposal("wait", go_to=23)
    rowing, landed = replace(quay, inside=boat), replace(isle, inside=replace(boat, parent=23))
    play(walker, rowing, landed, "east")
    graph.learn(walker.game_state.turns[-1])
    assert "east (in or on: boat) -> L23" in local_view(graph.game_map, 22, 2)
    assert "L23 Isle (2, east in or on boat)" in local_view(graph.game_map, 21, 1, named=(23,))
    assert courses.set_out(wish, rowing) == ""
    assert courses.set_out(wish, yard) == ""
    lead(courses, yard, quay)
    assert "`east` from L22 to L23 was only walked in or on: boat. Not played: east." in section_text(courses, quay)
    assert MapGraph.from_dict(graph.game_map.to_dict()).rides == {(22, "east"): "boat"}
    play(walker, quay, isle, "east")
    graph.learn(walker.game_state.turns[-1])
    assert graph.game_map.rides == {}, "it can be walked"


def test_a_walk_begins_with_a_presumed_way_since_the_map_marks_it(tmp_path: Path) -> None:
    hall = Observation("", Location(22, "Hall"), (), ())
    walker = with_map(tmp_path, GameState(), (21, "north", 22))
    courses = courses_of(walker)
    assert courses.set_out(Proposal("wait", go_to=21), hall) == ""
    assert courses.next_proposal is not None
    assert courses.next_proposal.action == "south"


def test_a_sentence_that_was_printed_about_another_thing_that_a_command_named_is_known(manager: RouteManager) -> None:
    courses = courses_of(manager)
    play(manager, YARD, replace(YARD, text="You open the wardrobe."), "open wardrobe")
    courses.learn(manager.game_state.turns[-1])

    def is_stopped_by(text: str) -> bool:
        end = Proposal("open oak door", then=("wait", "wait"))
        after = replace(YARD, text=text, state_hash="5c5c", moves=9)
        record = TurnRecord(1, 2, YARD, (end,), (Verdict(accepted=True),), after)
        courses.learn(record)
        return courses.next_proposal is None

    assert not is_stopped_by("You open the oak door.")
    assert is_stopped_by("You open the oak door with a crack.")
    assert is_stopped_by("Oak door.")


DIMS = replace(LIT[1], text=f"{LIT[1].text}\nThe lantern dims a little.")


def test_a_sentence_that_was_never_printed_interrupts_a_route_without_a_failure(tmp_path: Path) -> None:
    known = tuple(each.text for each in LIT)
    manager = followed(tmp_path / "new", [LIT[0], DIMS], known=known)
    assert manager.next_proposal is None
    assert manager.has_stopped
    assert section_text(manager, DIMS) == (
        'Route 1 was interrupted after `down` by something new: "The lantern dims a little." '
        "Not played: 3. down, 4. down."
    )
    assert manager.set_out(Proposal("wait", follow=1), DIMS) == ""
    assert followed(tmp_path / "heard", [LIT[0], DIMS], known=(*known, DIMS.text)).next_proposal is not None
    aside = replace(LIT[1], text=f"(first getting off the chair)\n{LIT[1].text}")
    assert followed(tmp_path / "aside", [LIT[0], aside], known=known).next_proposal is not None
    cannot_read = followed(tmp_path / "list", [LIT[0], DIMS], known=known, assist="valid-actions")
    assert cannot_read.next_proposal is not None


def test_what_ended_the_story_at_a_location_every_second_time_counts_as_tried_very_often(tmp_path: Path) -> None:
    manager, times = manager_in(tmp_path), []
    for episode, is_fatal in enumerate((True, False, False), start=1):
        manager.reset(GameState(episode=episode))
        play(manager, YARD, replace(HALL, score=episode), "north")
        play(manager, replace(HALL, score=episode), replace(HALL, died=is_fatal), "jump")
        manager.end("lost")
        manager.reset(GameState(episode=episode + 1))
        play(manager, YARD, replace(HALL, score=9), "north")
        times.append(manager.times_tried("jump") > 100)
    assert times == [True, True, False]


ROPE = GameObject(31, "rope")


def test_a_command_counts_with_the_turns_spent_where_it_leads_with_the_same_things(manager: RouteManager) -> None:
    with_rope, hall_with_rope = (replace(room, inventory=(ROPE,)) for room in (YARD, HALL))
    play(manager, YARD, with_rope, "take rope")
    assert manager.times_tried("take rope") == 1, "seen once with the rope, where it was taken"
    play_on(manager, with_rope, ("drop rope", YARD), ("north", HALL), ("south", YARD))
    assert manager.times_tried("north") == 1
    assert manager.times_tried("wait") == 0, "its effect is unknown"
    play(manager, YARD, with_rope, "take rope")
    assert manager.times_tried("north") == 0, "the hall was never seen with the rope"
    assert manager.times_tried("drop rope") == 2, "the yard was seen twice without it"
    play(manager, with_rope, hall_with_rope, "north")
    assert manager.times_tried("drop rope") == 2, "once there, and once in the hall without the rope"
    manager.end("turn_limit")
    manager.reset(GameState(episode=2))
    play(manager, HALL, YARD, "south")
    assert manager.times_tried("north") == 3, "chosen twice before, and the hall was seen once without the rope"


def test_a_command_that_killed_the_player_has_no_known_effect(manager: RouteManager) -> None:
    play(manager, YARD, replace(HALL, died=True), "jump")
    assert manager._trail.effects == {}


def test_a_turn_of_a_course_takes_as_long_after_many_turns_as_after_few(tmp_path: Path) -> None:
    def calls_after(turns: int) -> int:
        manager = with_map(tmp_path, GameState())
        courses = courses_of(manager)

        def step(*commands: str) -> None:
            play(manager, YARD, replace(YARD, moves=manager.game_state.turn_count), commands[0])
            record = courses.game_state.turns[-1]
            courses.learn(replace(record, proposals=(Proposal(commands[0], then=commands[1:]),)))

        for number in range(turns):
            step(f"push {number}")
        profile = Profile()
        profile.runcall(step, "kick wall", "wait")
        profile.create_stats()
        return sum(calls for calls, *_ in profile.stats.values())

    few = calls_after(20)
    assert calls_after(160) < 1.5 * few


def test_points_are_doubtful_from_a_vehicle_and_without_one_if_the_route_was_played_otherwise(tmp_path: Path) -> None:
    boat = GameObject(40, "boat", 2)
    at_sea = replace(HALL, inside=boat)
    manager = after_game(tmp_path, YARD, ("north", HALL), ("enter boat", at_sea), ("up", LOFT))
    play(manager, YARD, HALL, "north")
    assert ": +5 in 2 turns from here" in section_text(manager, HALL)
    play_on(manager, HALL, ("south", YARD), ("swim", at_sea))
    assert ": perhaps +5 in 2 turns from here" in section_text(manager, at_sea)
    assert section_text(manager, at_sea).endswith("; not tried in or on: boat")
    route, near = manager.book.routes[1], replace(HALL, visible=(boat,))
    assert doubts_of(route, 2, near, {(2, "enter boat"): ()}, {}) == "not tried outside: boat"
    assert doubts_of(route, 2, at_sea, {(2, "enter boat"): ()}, {}) == ""


def test_commands_of_the_plan_that_had_no_effect_at_their_place_are_named_with_the_turn(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(5, "north", "up"))
    courses = courses_of(manager)
    courses._planned = lambda: ("north", "look", "push bell", "up", "pull rope")
    manager.game_state.begin(YARD)
    yard, hall = (replace(each, state_hash="0000000a") for each in (YARD, HALL))
    play(manager, yard, yard, "push bell")
    play(manager, YARD, HALL, "north")
    play(manager, hall, hall, "look")
    assert "without effect" not in section_text(courses, HALL), "at another place, or to look"
    play(manager, hall, hall, "push bell")
    assert section_text(courses, HALL).endswith(
        "Of the plan's commands, without effect in this game: 3. `push bell`, turn 4."
    )
    play(manager, hall, replace(hall, state_hash="0000000b"), "push bell")
    play(manager, hall, hall, "push bell")
    assert "without effect" not in section_text(courses, HALL), "something out of sight may have changed once"


@pytest.mark.parametrize(
    ("asked", "what"), [(replace(HALL, awaits_answer=True), "an answer"), (replace(HALL, awaits_key=True), "a key")]
)
def test_the_plan_is_offered_with_a_doubt_while_the_story_waits(tmp_path: Path, asked: Observation, what: str) -> None:
    manager = manager_in(tmp_path, route_to(5, "north", "up"))
    courses = courses_of(manager)
    courses._planned = lambda: ("north", "up")
    play(manager, YARD, HALL, "north")
    assert section_text(courses, HALL) == "`follow` 0 goes on with the plan: its command 2, `up`."
    play(manager, HALL, asked, "ask bell")
    assert section_text(courses, asked).endswith(f"its command 2, `up` (the story waits for {what}).")


def test_the_plan_is_offered_with_a_doubt_while_the_location_is_not_known(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, route_to(5, "north", "up"))
    courses = courses_of(manager)
    courses._planned = lambda: ("north", "up")
    play(manager, YARD, away := replace(HALL, location=None), "north")
    assert section_text(courses, away) == "`follow` 0 goes on with the plan: its command 2, `up` (place unknown)."


def test_the_plan_is_offered_with_the_thing_that_its_command_took_away_and_the_player_does_not_carry(
    tmp_path: Path,
) -> None:
    lamp = GameObject(40, "lamp")
    laden, with_lamp = (replace(each, inventory=(lamp,)) for each in (HALL, YARD))
    manager = after_game(tmp_path, YARD, ("take lamp", with_lamp), ("north", laden), ("drop lamp", HALL))
    courses = courses_of(manager)
    courses._planned = lambda: ("north", "drop lamp")
    play(manager, YARD, HALL, "north")
    assert section_text(courses, HALL).endswith("its command 2, `drop lamp` (not carried now: lamp).")
    play(manager, HALL, laden, "dig")
    assert section_text(courses, laden).endswith("its command 2, `drop lamp`.")
