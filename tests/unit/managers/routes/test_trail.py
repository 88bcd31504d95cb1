"""What of an episode's commands belongs to a route, and what of its world does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.routes.document import route_aim
from managers.routes.trail import Trail, digests_of, minimised
from session.route import Route, Waypoint
from session.values import GameObject, Location, Observation, Proposal, TurnRecord, Verdict

PLAYER, OPEN = 1, frozenset({7})
COIN, LAMP, BOX = GameObject(21, "old coin", PLAYER), GameObject(22, "lamp", 12), GameObject(23, "box", 11)
OWNED = replace(LAMP, parent=PLAYER)
YARD = Observation("A yard.", Location(11, "Yard"), (COIN,), (BOX,), score=0)
HALL = Observation("A hall.", Location(12, "Hall"), (COIN,), (LAMP,), score=0)
CAVE = Observation("A cave.", Location(13, "Cave"), (COIN,), (), score=5)


def trail_of(*way: tuple[str, Observation], opening: Observation = YARD) -> Trail:
    trail, before = Trail(), opening
    for turn, (command, after) in enumerate(way, start=1):
        verdicts = (Verdict(accepted=True),)
        trail.add(TurnRecord(1, turn, before, (Proposal(command),), verdicts, after))
        before = after
    return trail


def route_of(*way: tuple[str, Observation]) -> Route:
    """The route to the last goal of a way."""
    return [*trail_of(*way).routes(1)][-1]


def test_a_refused_command_is_left_out_and_kept_as_a_spare() -> None:
    route = route_of(("save", replace(YARD, text="No.", refusal="No.")), ("east", CAVE))
    assert route.commands == ("east",)
    assert [step.command for step in route.spare] == ["save", "east"]


def test_routes_share_what_was_seen_until_a_later_step_touches_something_there() -> None:
    start, hall, cave = route_of(("up", HALL)), route_of(("up", HALL), ("east", CAVE)), [("up", HALL), ("east", CAVE)]
    routes = [*trail_of(*cave, ("take lamp", replace(CAVE, inventory=(COIN, OWNED)))).routes(1)]
    shared = [route.steps[0].leads_to for route in routes]
    assert shared[0] is shared[1] == start.steps[0].leads_to == hall.steps[0].leads_to
    assert shared[-1].mark not in ("", shared[0].mark)


def test_a_route_says_that_its_points_were_lost_after_its_end() -> None:
    end = ("down", replace(HALL, score=2))
    first, second = (
        [route for route in trail_of(*way).routes(1) if route.goal.kind == "score"]
        for way in ([("east", CAVE), ("wait", CAVE), end], [end, ("east", CAVE), ("west", HALL)])
    )
    assert [route_aim(route) for route in first] == ["+5 (then -3 by `down`, 2 commands later)"]
    assert [route_aim(route) for route in second] == [
        "+2 (then -2 by `west`, 2 commands later)",
        "+5 (then -5 by `west`, 1 command later)",
    ]
    assert not any(route.loss for route in trail_of(("east", CAVE), ("wait", replace(CAVE, score=None))).routes(1))


START = replace(YARD, state_hash="a")
FELT = replace(START, text="You are well.")
ROUND = (("up", replace(HALL, state_hash="b")), ("down", START))


def shortened(*way: tuple[str, Observation]) -> tuple[str, ...]:
    return [*trail_of(*way, ("east", replace(CAVE, state_hash="c")), opening=START).routes(1)][-1].commands


@pytest.mark.parametrize(
    ("moves", "text", "state", "kept"),
    [
        (4, "You see no hatch.", "a", False),
        (5, "You see no hatch.", "a", True),
        (4, "Which hatch do you mean?", "a", True),
        (4, "You turn the dial.", "b", True),
        (4, "You turn the dial.", "", True),
    ],
)
def test_a_command_is_left_out_that_took_no_turn_and_left_the_whole_state_as_it_was(
    moves: int, text: str, state: str, *, kept: bool
) -> None:
    opening = replace(START, moves=4)
    unknown = replace(opening, text=text, moves=moves, state_hash=state)
    trail = trail_of(("open hatch", unknown), ("east", replace(CAVE, moves=6)), opening=opening)
    assert [*trail.routes(1)][-1].commands == (("open hatch", "east") if kept else ("east",))


def test_a_menu_is_left_out_with_its_keys_if_it_took_no_turn_and_left_the_whole_state_as_it_was() -> None:
    opening = replace(START, moves=4)
    menu = replace(opening, text="About\n[N = next]", awaits_key=True, state_hash="m")
    for moves, state, kept in ((4, opening.state_hash, False), (5, opening.state_hash, True), (4, "x", True)):
        back = replace(opening, text="You are back.", moves=moves, state_hash=state)
        trail = trail_of(("about", menu), ("n", menu), ("q", back), ("east", replace(CAVE, moves=6)), opening=opening)
        commands = [*trail.routes(1)][-1].commands
        assert (commands != ("east",)) == kept
        assert commands[-1] == "east"


@pytest.mark.parametrize("kept", [False, True], ids=["the state is as before", "the menu keeps its line"])
def test_a_visit_of_a_menu_is_left_out_whole_or_not_at_all_though_screens_in_it_are_alike(*, kept: bool) -> None:
    opening = replace(START, moves=4)
    menu = replace(opening, text="About\n[N = next]", awaits_key=True, state_hash="m")
    page = replace(menu, text="If you get stuck?", state_hash="p")
    back = replace(opening, text="You are back.", state_hash="y" if kept else opening.state_hash)
    keys = (("about", menu), ("return", page), ("space", menu), ("q", back))
    trail = trail_of(*keys, ("east", replace(CAVE, moves=6)), opening=opening)
    assert [*trail.routes(1)][-1].commands == (("about", "return", "space", "q", "east") if kept else ("east",))


def test_a_route_leads_through_a_death_that_won_points_and_through_no_other() -> None:
    for score, commands in ((5, ("up", "ring", "east")), (0, ("up",))):
        died = replace(YARD, text="You have died.", died=True, score=score)
        trail = trail_of(("up", HALL), ("ring", died), ("east", replace(CAVE, score=score)))
        assert [*trail.routes(1)][-1].commands == commands
        point = Waypoint.of(died)
        assert (point.deviation(HALL, died, (), ()) == "") == (score > 0)
        assert point.deviation(HALL, replace(died, score=0), (), ()) == "you died"


def test_steps_are_left_out_if_nothing_new_was_printed_and_the_whole_state_is_as_before() -> None:
    assert shortened(("feel", FELT), ("feel", FELT), ("feel", FELT)) == ("feel", "east")
    assert shortened(*ROUND, *ROUND, *ROUND) == ("up", "down", "east")


@pytest.mark.parametrize(
    ("command", "again"),
    [
        ("feel", replace(FELT, text="You are very well.")),
        ("feel", replace(FELT, state_hash="d")),
        ("feel", replace(FELT, state_hash="")),
        ("wait", FELT),
    ],
    ids=["a new text", "something unseen differs", "the state is unknown", "waiting is for a clock"],
)
def test_a_step_without_visible_effect_is_kept_unless_all_is_known_to_be_as_before(
    command: str, again: Observation
) -> None:
    assert shortened((command, FELT), (command, again)) == (command, command, "east")


def test_a_way_there_and_back_is_kept_if_one_of_its_steps_may_have_done_something() -> None:
    (up, hall), down = ROUND
    read = "read sign", replace(hall, text="Beware.")
    assert shortened(*ROUND, (up, hall), read, down) == ("up", "down", "up", "read sign", "down", "east")
    assert shortened(*ROUND, (up, hall), read, read, down) == ("up", "down", "up", "read sign", "down", "east")


def test_a_command_that_changed_a_thing_out_of_sight_is_not_one_of_text_alone() -> None:
    knocked, unknown = replace(START, attributes_hash="b"), replace(START, visible=None)
    way = ("feel", START), ("knock", knocked), ("call", START), ("pray", unknown), ("sing", unknown), ("east", CAVE)
    steps = [*trail_of(*way, opening=START).routes(1)][-1].steps
    assert [step.command for step in steps if step.only_text] == ["feel"]


@pytest.mark.parametrize(("last", "is_kept"), [("again", True), ("rub it", True), ("g", True), ("rub box", False)])
def test_a_step_is_kept_if_a_later_command_depends_on_it_for_its_meaning(last: str, *, is_kept: bool) -> None:
    rubbed = replace(START, text="It opens.", state_hash="d")
    again = ("feel coin",) * is_kept
    assert shortened(("feel coin", FELT), ("feel coin", FELT), (last, rubbed)) == ("feel coin", *again, last, "east")


@pytest.mark.parametrize("last", ["again", "open it", "open box"])
def test_a_route_is_joined_only_where_its_commands_mean_what_they_meant(last: str) -> None:
    route = route_of(("push box", replace(YARD, text="It moves.")), (last, ON_THE_WAY), *WAY[1:])
    here, now = [(11, "push box")], replace(YARD, inventory=())
    assert route.point_like(now, here) == 1
    assert route.point_like(now, [*here, (11, "feel coin")]) == (1 if last == "open box" else 0)
    assert route.point_like(ON_THE_WAY, [(11, "feel coin")]) == 2


WAY = (
    ("open box", replace(YARD, visible=(replace(BOX, attributes=OPEN),))),
    ("up", HALL),
    ("east", CAVE),
)
ON_THE_WAY = WAY[0][1]


@pytest.mark.parametrize(
    ("now", "done"),
    [
        (ON_THE_WAY, 1),
        (replace(ON_THE_WAY, inventory=()), 1),
        (replace(ON_THE_WAY, inventory=(COIN, GameObject(30, "hat", PLAYER))), 1),
        (replace(ON_THE_WAY, visible=(replace(BOX, attributes=OPEN), GameObject(31, "cat", 11))), 1),
        (YARD, 0),
        (replace(ON_THE_WAY, score=1), 1),
        (replace(ON_THE_WAY, location=Location(14, "Well")), None),
        (replace(ON_THE_WAY, visible=(replace(BOX, attributes=frozenset({8})),)), 0),
    ],
    ids=["as it was", "own thing gone", "more is carried", "somebody is there", "before", "score", "place", "box"],
)
def test_a_route_can_be_joined_where_place_and_things_fit_what_remains(now: Observation, done: int | None) -> None:
    assert route_of(*WAY).point_like(now) == done


KEY = GameObject(24, "key", 12)
FETCHED = (
    ("up", replace(HALL, visible=(LAMP, KEY))),
    ("take key", replace(HALL, inventory=(COIN, replace(KEY, parent=PLAYER)))),
    ("take lamp", replace(HALL, inventory=(COIN, replace(KEY, parent=PLAYER), OWNED), visible=())),
    ("down", replace(YARD, inventory=(COIN, replace(KEY, parent=PLAYER), OWNED))),
)


@pytest.mark.parametrize(
    ("last", "carried", "done"),
    [
        ("light lamp", (COIN, OWNED), 4),
        ("unlock gate with key", (COIN, OWNED), None),
        ("unlock gate with key", (COIN, OWNED, replace(KEY, parent=PLAYER)), 4),
        ("light lamp", (COIN, replace(KEY, parent=PLAYER)), None),
    ],
    ids=["what is missing is not named", "what is missing is named", "all is there", "what is named is missing"],
)
def test_only_what_the_remaining_commands_name_or_move_is_needed(
    last: str, carried: tuple[GameObject, ...], done: int | None
) -> None:
    route = route_of(*FETCHED, (last, replace(CAVE, inventory=FETCHED[-1][1].inventory)))
    now = replace(YARD, inventory=carried, score=3)
    assert route.point_like(now, names={24: "key", 22: "lamp"}) == done


def test_what_the_remaining_commands_take_must_be_in_sight() -> None:
    cat = GameObject(31, "cat", 12)
    seen = {(LAMP, KEY, cat): 1, (KEY,): None}
    for things, done in seen.items():
        assert route_of(*FETCHED).point_like(replace(HALL, visible=things)) == done


def test_what_is_wherever_the_player_is_was_not_touched() -> None:
    sky = GameObject(40, "sky", 11)
    here, there = replace(YARD, visible=(sky,)), replace(CAVE, visible=(replace(sky, parent=13),))
    *_, route = trail_of(("east", there), opening=here).routes(1)
    assert route.touched == ()


def test_what_the_player_has_had_is_no_news_on_a_route_and_what_was_in_sight_a_turn_ago_is_still_here() -> None:
    hat, cat = GameObject(30, "hat", 12), GameObject(31, "cat", 12)
    trail = trail_of(("take hat", replace(YARD, inventory=(COIN, replace(hat, parent=PLAYER)))))
    deviation = route_of(*WAY).steps[1].leads_to.deviation
    before, now = replace(HALL, visible=(hat,)), replace(HALL, visible=(LAMP, hat))
    assert (trail.held, trail.held_words) == ({COIN.num: "old coin", hat.num: "hat"}, {"old", "coin", "hat"})
    assert deviation(YARD, now, (), trail.held) == ""
    assert deviation(YARD, now, (), ()) == "this is new here: hat"
    assert deviation(before, now, (), ()) == "this is still here: hat"
    both = replace(HALL, visible=(LAMP, hat, cat))
    assert deviation(before, both, (), ()) == "this is new here: cat; this is still here: hat"
    bare = replace(HALL, visible=())
    assert deviation(YARD, bare, (LAMP.num,), ()) == "something that the route needs is not here"
    assert deviation(YARD, bare, (LAMP.num,), (LAMP.num,)) == deviation(YARD, bare, (), ()) == ""
    assert deviation(YARD, replace(HALL, visible=None), (), ()) == "you cannot see what is here"


@pytest.mark.parametrize(
    ("end", "leads_there"),
    [
        (replace(CAVE, ending="won", max_score=5), True),
        (replace(CAVE, ending="won"), True),
        (replace(CAVE, ending="won", max_score=10), False),
        (replace(CAVE, ending="over"), False),
        (replace(CAVE, ending="lost"), False),
    ],
    ids=["won with all points", "won in a story without a maximum", "won with few", "over", "lost"],
)
def test_a_route_leads_to_an_end_of_the_story_only_if_no_more_can_be_won(end: Observation, leads_there: bool) -> None:
    trail = trail_of(("up", HALL), ("east", end))
    assert [*trail.routes(1)][-1].commands == (("up", "east") if leads_there else ("up",))
    assert bool(trail.fatal) != leads_there


LETTERS = st.lists(st.sampled_from("abcdefgh"), max_size=24).map(tuple)


def holds(needed: str, commands: tuple[str, ...]) -> bool:
    """The commands have those letters in that order."""
    left = iter(commands)
    return all(letter in left for letter in needed)


@given(LETTERS, st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6).map("".join))
def test_only_what_is_needed_is_left_in_its_order(idle: tuple[str, ...], needed: str) -> None:
    commands = (*idle, *needed, *idle)
    assert minimised(commands, lambda shorter: holds(needed, shorter)) == tuple(needed)


def test_what_only_goes_together_is_left_out_wherever_it_stands() -> None:
    def works(commands: tuple[str, ...]) -> bool:
        return "goal" in commands and commands.count("open") == commands.count("shut")

    assert minimised(("open", "shut", "wait", "goal"), works) == ("goal",)
    assert minimised(("north",), lambda _shorter: True) == ("north",), "one command stays"
    moves = {"north": 1, "south": -1, "east": 10}

    def arrives(commands: tuple[str, ...]) -> bool:
        return sum(moves[each] for each in commands) == 12 and commands[-1] == "north"

    way = ("north", "north", "south", "south", "east", "south", "north", "north", "north")
    assert minimised(way, arrives) == ("east", "north", "north")


def test_what_cannot_be_shortened_is_tried_a_few_times_only() -> None:
    tried: list[tuple[str, ...]] = []

    def fails(commands: tuple[str, ...]) -> bool:
        tried.append(commands)
        return False

    commands = tuple("abcdefghijklmnopqrstuvwxyz")
    assert minimised(commands, fails) == commands
    assert len(tried) <= 3 * len(commands)


def test_a_sentence_is_known_with_another_number_or_mark_at_its_end() -> None:
    assert digests_of("All walls in this room glow!") == digests_of("All walls in this room glow.")
    assert digests_of("You have 3 coins left.") == digests_of("You have 12 coins left.")
    assert digests_of("Is it you?").isdisjoint(digests_of("It is you."))
