"""The file of routes: what is kept, and that reading and writing it loses nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.turn_cost import Calls
from managers.routes.document import (
    RouteBook,
    parse_routes,
    route_aim,
    route_line,
    route_lines,
    route_record,
)
from session.errors import StoreError
from session.route import Goal, Loss, Proof, Route, RouteStep, Tries, Waypoint

FILE = Path("routes.json")
BOOK = RouteBook()
EMPTY = '{"routes": [{"number": 1, "goal": {"kind": "room", "number": 2}, "start": {}, "steps": [], "episode": 1}]}'
LETTERS = " abcdefghijklmnopqrs"
NUMBERED = [f"{number}. {letter}" for number, letter in enumerate(LETTERS)]
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def route(
    commands: Sequence[str],
    goal: Goal | None = None,
    *,
    carried: int = 0,
    points: int = 5,
    won: int = 0,
    **more: object,
) -> Route:
    """A route with a command for each letter: the second brings points, the last as many objects and all points."""
    scores = [won * bool(at) for at in range(len(commands) - 1)]
    way = [Waypoint(9, "Loft", score, ()) for score in scores]
    places = (*way, Waypoint(9, "Loft", points, tuple(range(carried))))
    steps = tuple(RouteStep(letter, place) for letter, place in zip(commands, places, strict=True))
    return Route(0, goal or Goal("score", 5), Waypoint(1, "Yard", 0, ()), steps, 1, **more)  # type: ignore[arg-type]


def book(*routes: Route, rooms: tuple[int, ...] = ()) -> RouteBook:
    return RouteBook().with_episode(RouteBook(routes=routes), rooms)


def commands_of(kept: RouteBook) -> list[str]:
    return ["".join(each.commands) for each in kept.routes]


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=5), NAMES, st.integers(1, 9)), max_size=5))
def test_what_is_written_is_read_again(made: list[tuple[str, str, int]]) -> None:
    written = book(*(route(commands, Goal("thing", number, name)) for commands, name, number in made))
    assert parse_routes(written.render(), FILE) == written


def test_every_command_has_a_line_of_its_own_and_no_field_that_is_as_usual_is_written() -> None:
    written = BOOK.with_episode(
        RouteBook(routes=(route("a"),), tried={7: {"up": 1}, 9: {"wait": 2}}, said=frozenset({"0badcafe"}))
    )
    point = '"location_id": 9, "place": "Loft", "score": 5, "carried": []'
    assert written.render() == (
        '{"version": 1, "latest": 1, "routes": [\n'
        ' {"number": 1, "goal": {"kind": "score", "number": 5}, '
        '"start": {"location_id": 1, "place": "Yard", "score": 0, "carried": []}, "episode": 1, "steps": [\n'
        f'  {{"command": "a", "leads_to": {{{point}}}}}]}}],\n'
        '"tried": {\n "7": {"up": 1},\n "9": {"wait": 2}},\n"said": ["0badcafe"]}\n'
    )
    lines = book(route("abc", spare=route("abcd").steps)).render().splitlines()
    assert [line.count('"command"') for line in lines].count(1) == 7


def test_how_points_were_lost_is_written_and_read_again() -> None:
    written = book(route("abc", loss=Loss(-3, "down", 2)))
    assert parse_routes(written.render(), FILE).routes[0].loss == Loss(-3, "down", 2)


def test_the_shortest_route_to_a_goal_is_kept_and_one_that_carries_more_in_few_commands_more() -> None:
    assert commands_of(book(route("abcd"), route("ab"), route("abe", carried=2))) == ["ab", "abe"]
    assert commands_of(book(route("abcd", carried=2), route("ab"))) == ["ab"]
    assert commands_of(book(route("a" * 10), route("b" * 15, carried=1))) == ["a" * 10, "b" * 15]
    assert commands_of(book(route("a" * 10), route("b" * 16, carried=1))) == ["a" * 10]
    assert commands_of(book(route("ab", proof=Proof(0, 5)), route("abcdefg"))) == ["abcdefg"]
    assert commands_of(book(route("abcd"), route("ac", spare=route("abc").steps))) == ["ac"]
    for points, kept in ((0, []), (1, ["a"])):
        assert commands_of(book(route("a", points=points))) == kept, "a route to a score wins points"


def test_what_was_tried_said_and_fatal_adds_up_and_is_written() -> None:
    once = RouteBook(tried={7: {"up": 1}}, said=frozenset({"0badcafe"}), fatal={"a": ("jump",)})
    tried = {7: {"up": 2, "down": 1}, 9: {"wait": 1}}
    more = RouteBook(tried=tried, fatal={"a": ("dive", "jump")}, deaths={7: {"up": 1}})
    twice = BOOK.with_episode(once).with_episode(more)
    assert twice.tried == {7: {"up": 3, "down": 1}, 9: {"wait": 1}}
    assert twice.said == frozenset({"0badcafe"})
    assert (twice.fatal, twice.deaths) == ({"a": ("jump", "dive")}, {7: {"up": 1}})
    assert twice.with_episode(more).deaths == {7: {"up": 2}}
    assert parse_routes(twice.render(), FILE) == twice


def test_the_highest_scores_the_wanted_rooms_and_the_things_found_first_are_kept() -> None:
    scores = [route("a" * number, Goal("score", number)) for number in range(1, 6)]
    rooms = [route("b" * number, Goal("room", number)) for number in range(1, 9)]
    things = [route("c" * number, Goal("thing", number)) for number in range(1, 7)]
    kept = book(*scores, *rooms, *things, rooms=(2, 3, 4, 5, 6, 7, 8))
    assert [(each.goal.kind, each.goal.number) for each in kept.routes] == [
        *(("score", number) for number in (3, 4, 5)),
        *(("room", number) for number in (2, 3, 4, 5, 6, 7)),
        *(("thing", number) for number in (1, 2, 3, 4)),
    ]


def test_a_number_is_never_given_again() -> None:
    kept = book(route("abc"), route("ab"))
    assert [each.number for each in kept.routes] == [2]
    emptied = kept.without(kept.routes[0].key)
    assert [each.number for each in emptied.with_episode(RouteBook(routes=(route("a"),))).routes] == [3]


def test_a_shortened_route_that_stops_is_taken_as_it_was_played_and_a_whole_one_counts_its_stops() -> None:
    kept = book(route("ab", spare=route("bab").steps))
    stopped = kept.with_try(kept.routes[0].key, stopped_at=2)
    assert (commands_of(stopped), stopped.routes[0].stops, stopped.routes[0].spare) == (["bab"], {}, ())
    stopped = stopped.with_try(stopped.routes[0].key, stopped_at=1)
    assert (commands_of(stopped), stopped.routes[0].stops) == (["bab"], {1: 1})


def test_a_shortened_route_that_begins_like_one_that_stopped_is_taken_as_it_was_played() -> None:
    kept = book(route("acef", spare=route("abcdef").steps))
    stopped = kept.with_try(kept.routes[0].key, stopped_at=2)
    again = stopped.with_episode(RouteBook(routes=(route("aceg", Goal("score", 6), spare=route("abcdeg").steps),)))
    assert commands_of(again) == ["abcdef", "abcdeg"]


@pytest.mark.parametrize(("start", "tries"), [(0, (1, 1, {})), (1, (0, 0, {1: Tries(1, 1)}))])
def test_a_route_that_came_to_its_end_has_worked_from_where_it_was_joined(start: int, tries: object) -> None:
    kept = book(route("ab"))
    (followed,) = kept.with_try(kept.routes[0].key, start=start).routes
    assert (followed.followed, followed.worked, followed.joined) == tries
    assert followed.stops == {}


@pytest.mark.parametrize(
    ("known", "stopped_at", "learned", "kept"),
    [
        (route("cd", spare=route("acd").steps), 1, route("ce", spare=route("ace").steps), "acd"),
        (route("ac", spare=route("abc").steps), 2, route("ac", spare=route("abc").steps), "abc"),
        (route("ac", spare=route("abbbc").steps), 2, route("ac", spare=route("abc").steps), "abc"),
    ],
    ids=["at its first command", "in its middle", "a shorter way takes over which form stopped"],
)
def test_a_shortened_form_that_stopped_is_not_learned_again(
    known: Route, stopped_at: int, learned: Route, kept: str
) -> None:
    episode = RouteBook(routes=(learned,))
    again = book(known).with_try(book(known).routes[0].key, stopped_at).with_episode(episode)
    assert commands_of(again) == [kept]
    assert again.with_episode(episode) == again
    assert parse_routes(again.render(), FILE) == again


def test_the_proven_form_takes_the_number_of_the_route_and_the_richer_one_a_new_one() -> None:
    kept = book(route("abcdef"))
    forms = (route("ab", proof=Proof(5, 5)), route("abc", carried=3, proof=Proof(5, 5)))
    tried = kept.with_forms(kept.routes[0].key, forms)
    assert [(each.number, "".join(each.commands)) for each in tried.routes] == [(1, "ab"), (2, "abc")]


def test_a_shortened_form_that_failed_its_proof_is_not_learned_again() -> None:
    shortened = route("ac", spare=route("abbc").steps)
    tried = book(shortened).with_forms(shortened.key, (route("abc", proof=Proof(5, 5)),))
    assert tried.with_episode(RouteBook(routes=(shortened,))) == tried
    assert commands_of(tried) == ["abc"]


def test_an_edit_of_a_route_that_is_gone_or_known_does_nothing() -> None:
    kept, gone = book(route("ab")), "0" * 16
    for edited in (kept.with_try(gone), kept.without(gone), kept.with_forms(gone, ())):
        assert edited is kept
    assert kept.with_episode(RouteBook(routes=(route("ab"),))) is kept


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 2}', '{"routes": [{"number": "x"}]}', EMPTY])
def test_what_is_no_file_of_routes_is_named(text: str) -> None:
    with pytest.raises(StoreError, match=r"^routes\.json contains no routes that this version reads"):
        parse_routes(text, FILE)


@pytest.mark.parametrize(
    ("shown", "done", "line"),
    [
        (
            route(LETTERS[1:]),
            0,
            f"+5 in 19 turns, worked in 1 of 1 episode: {', '.join(NUMBERED[1:])} (+5)",
        ),
        (route("abcde"), 1, "+5 in 4 turns from here, worked in 1 of 1 episode: 1. b, 2. c, 3. d, 4. e (+5)"),
        (
            route("ab", Goal("room", 9, "Loft"), stops={1: 1, 2: 1}, followed=2, worked=1),
            0,
            "to Loft, +5 in 2 turns, worked in 2 of 3 episodes, stopped at command 1 (a), 2 (b): 1. a, 2. b (+5)",
        ),
        (
            replace(route("ab", Goal("room", 9, "Loft")), start=Waypoint(8, "Loft", 0)),
            0,
            "to L9 Loft, +5 in 2 turns, worked in 1 of 1 episode: 1. a, 2. b (+5)",
        ),
        (
            route("a", Goal("thing", 4, "rope"), proof=Proof(4, 5)),
            0,
            "take rope, +5 in 1 turn, worked in 1 of 1 episode, in 4 of 5 trials: 1. a (+5)",
        ),
        (
            route("a", Goal("thing", 4, "rope"), points=1),
            0,
            "take rope, +1 in 1 turn, worked in 1 of 1 episode: 1. a (+1)",
        ),
        (
            route("abc", Goal("room", 9, "Loft"), won=5),
            0,
            "to Loft, +5 in 3 turns, worked in 1 of 1 episode: 1. a, 2. b (+5), 3. c",
        ),
        (route("a", spare=route("ab").steps), 0, "+5 in 1 turn, shortened, not tried yet: 1. a (+5)"),
        (
            route("a", spare=route("ab").steps, followed=2, worked=1),
            0,
            "+5 in 1 turn, worked in 1 of 2 episodes: 1. a (+5)",
        ),
        (
            route("a", spare=route("ab").steps, followed=1, stops={1: 1}),
            0,
            "+5 in 1 turn, shortened, not yet played to its end, stopped at command 1 (a): 1. a (+5)",
        ),
    ],
)
def test_a_route_has_a_line_with_its_aim_its_record_and_its_commands(shown: Route, done: int, line: str) -> None:
    assert route_line(shown, done) == f"0: {line}"
    if not done:
        assert line.startswith(f"{route_aim(shown)} in ")
        assert f", {route_record(shown)}: " in line
        assert route_line(shown) == f"0: {line}"


def test_a_line_of_a_route_has_the_points_of_each_command_that_won_or_lost_some() -> None:
    steps = tuple(
        RouteStep(letter, Waypoint(1, "Yard", score)) for letter, score in zip("abcde", [1, 1, 0, 5, 4], strict=True)
    )
    shown = Route(0, Goal("score", 5), Waypoint(1, "Yard", 0), steps, 1)
    assert ": 1. a (+1), 2. b, 3. c (-1), 4. d (+5), 5. e (-1)" in route_line(shown)
    assert ": 1. c (-1), 2. d (+5), 3. e (-1)" in route_line(shown, 2)


def test_what_a_route_promises_is_compared_with_the_other_routes_alone_however_long_it_is() -> None:
    def calls(length: int) -> int:
        kept = RouteBook(routes=(route("a"), replace(route("ab" * length), number=1)))
        kept.promise(kept.routes[1], 0)
        with Calls() as counted:
            kept.promise(kept.routes[1], 0)
        with Calls() as own:
            kept.routes[1].promise(0), kept.routes[1].trust(0), kept.routes[1].commands
        return counted.all - own.all

    assert calls(200) == calls(5)


def test_things_of_one_name_are_counted_and_one_without_a_name_has_its_number() -> None:
    line = route_lines([(route("abcd", carried=4), 0)], {0: "vial", 1: "", 2: "vial", 3: "vial"}, 6).lines[0]
    assert line.endswith("; then you also hold: 3 x vial, object #1")
    assert "take object #7" in route_line(replace(route("a"), goal=Goal("thing", 7)))


def test_a_line_names_the_commands_that_changed_nothing() -> None:
    steps = tuple(RouteStep(letter, Waypoint(9), letter in "ac") for letter in "abcdef")
    shown = Route(0, Goal("room", 9, "Loft"), Waypoint(1, "Yard"), steps, 1)
    assert route_line(shown).endswith(": 1. a, 2. b, 3. c, 4. d, 5. e, 6. f; only text: 1, 3")
    assert route_line(shown, 1).endswith(": 1. b, 2. c, 3. d, 4. e, 5. f; only text: 2")
    assert "only text" not in route_line(shown, 3)


def test_a_route_that_begins_a_longer_one_has_no_line_and_points_have_the_number_of_their_command() -> None:
    longest = route("abcd", carried=3, won=3)
    known = [(route("ab", points=3), 0), (route("abc", points=3), 0), (route("x"), 0), (longest, 0)]
    took = "; then you also hold: lamp, rope"
    assert route_lines(known, {0: "lamp", 2: "rope"}, 6).lines == [
        f"0: +5 in 4 turns, worked in 1 of 1 episode: 1. a, 2. b (+3), 3. c, 4. d (+2){took}",
        "0: +5 in 1 turn, worked in 1 of 1 episode: 1. x (+5)",
    ]


RUN = re.compile(r"(\d+) to (\d+) as (?:in|(\d+) to (\d+) of) (the plan|episode 1)(?: \((.*?)\))?")


def read_back(line: str, above: Mapping[str, Sequence[str]]) -> list[str]:
    """The commands of a route's line, those to which it refers taken from what is above."""
    commands: list[str] = []
    for item in re.split(r", (?=\d+(?:\.| to ))", line.partition(": ")[2].partition(": ")[2].partition("; ")[0]):
        if run := RUN.fullmatch(item):
            first, last, there, end = (int(each or 0) for each in run.groups()[:4])
            assert first == len(commands) + 1
            commands += above[run[5]][(there or first) - 1 : end or last]
            assert len(commands) == last
        else:
            number, _, command = item.partition(". ")
            assert int(number) == len(commands) + 1
            commands.append(command.partition(" (")[0])
    return commands


@given(*[st.lists(st.sampled_from("ab"), min_size=1, max_size=30)] * 3, st.integers(0, 3))
def test_a_line_of_a_route_has_every_command_or_its_numbers_in_the_plan_or_a_game(
    commands: list[str], plan: list[str], game: list[str], done: int
) -> None:
    shown, above = route("".join(["a", "b", "c", *commands])), {"the plan": plan, "episode 1": game}
    assert read_back(route_line(shown, done, shown_commands=above), above) == [*shown.commands[done:]]


def test_commands_that_the_prompt_has_are_replaced_by_references_with_their_points() -> None:
    scores = [0, *[5] * 8, 15]
    steps = [RouteStep(letter, Waypoint(1, "Yard", score)) for letter, score in zip("abcdefghij", scores, strict=True)]
    goal = replace(route("abcdefghij"), steps=tuple(steps))

    def line(plan: str, game: str = "") -> str:
        return route_lines([(goal, 0)], {}, 6, {"the plan": plan, "episode 3": game}).lines[0]

    assert ": 1 to 8 as in the plan (2: +5), 9. i, 10. j (+10)" in line("abcdefgh", "bcdefghi")
    assert ": 1. a, 2 to 10 as 3 to 11 of the plan (2: +5, 10: +10)" in line("xybcdefghij")
    assert ": 1 to 10 as in episode 3 (2: +5, 10: +10)" in line("abcdefghi", "abcdefghij")
    assert ": 1. a, 2. b (+5), 3. c, 4. d, 5. e, 6. f, 7. g, 8. h, 9. i, 10. j (+10)" in line("abcdxefghij")
    assert ": 1 to 8 as 3 to 10 of the plan (8: +10)" in route_line(goal, 2, shown_commands={"the plan": "abcdefghij"})


def test_whole_routes_give_way_and_their_number_is_shown() -> None:
    known = [(route([f"open {first} {number}" for number in range(100)]), 0) for first in "abc"]
    lines, numbers, left_out = route_lines(known, {}, 6)
    assert (len(lines), numbers, left_out) == (1, (0,), "2 more routes not shown.")
    assert lines[0].endswith(", 100. open a 99 (+5)")
    assert route_lines([(route(each), 0) for each in "abc"], {}, 2).left_out == "1 more route not shown."
