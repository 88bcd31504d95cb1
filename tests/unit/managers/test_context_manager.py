"""The agent's context: what is in it, in which order, and what goes first when it gets too long."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from managers.context_manager import STANDS_BELOW, ContextManager, history_turns
from session.commands import Vocabulary
from session.context import Place, PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import RoomDescription, TokenCounter
from session.values import GameObject, Location, Observation, Proposal, Rejection, TurnRecord, Verdict

MILL = Observation(
    "The wheel turns slowly.",
    Location(12, "Water Mill"),
    (GameObject(3, "oil can"), GameObject(5, "")),
    (),
    15,
    80,
)


def said(
    knowledge: str = "", objectives: str = "", map_: str = "", memory: str = "", circling: str = ""
) -> list[PromptSection]:
    """The sections of the managers, in no order."""
    return [
        PromptSection("Map", map_, 6, Place.MAP),
        PromptSection("Location Memory", memory, 2, Place.MEMORY),
        PromptSection("Going round in circles", circling, place=Place.WARNING),
        PromptSection("What is known of this game", knowledge, 7, Place.KNOWLEDGE),
        PromptSection("Objectives", objectives, 3, Place.OBJECTIVES),
    ]


SAID = said("K", "O", "M", "E", "C")
PRESENT = (
    "## Present\nLocation: Water Mill (ID: 12)\nInventory: oil can, object #5\nScore: 15 of 80\n"
    "The story says:\nThe wheel turns slowly."
)


WINDOW = {"agent": 4000, "history": 0}
"""Of a prompt that shows a window of turns."""


def a_turn(turn: int, action: str, response: str, reasoning: str, here: Observation = MILL) -> TurnRecord:
    return TurnRecord(
        1, turn, here, (Proposal(action, reasoning),), (Verdict(accepted=True),), replace(here, text=response)
    )


def play(state: GameState, action: str, response: str, reasoning: str = "why not") -> None:
    """The player stays where it is."""
    state.record(a_turn(state.turn_count + 1, action, response, reasoning, state.latest))


def manager(turns: int = 0, **options: Any) -> ContextManager:
    """So many turns were played; the prompt shows a window of them, unless the options say otherwise."""
    options["prompt_budgets"] = WINDOW | options.get("prompt_budgets", {})
    state = GameState(latest=replace(MILL, score=None))
    for turn in range(1, turns + 1):
        play(state, f"act {turn}", f"response {turn}", f"thought {turn}")
    return ContextManager(logging.getLogger("test"), GameConfiguration(**options), state)


@pytest.mark.parametrize(
    ("turns", "seen", "limit", "shown"),
    [
        (0, MILL, None, PRESENT),
        (0, Observation("Hm."), None, "## Present\nThe story says:\nHm."),
        (13, MILL, 40, f"{PRESENT}\n\n## Turn\n14 of 40, 27 left"),
    ],
    ids=["first turn", "nothing is known", "turn limit"],
)
def test_the_present_is_shown_as_far_as_it_is_known(
    turns: int, seen: Observation, limit: int | None, shown: str
) -> None:
    context = manager()
    context.game_state.turn_count = turns
    assert context.get_agent_context(seen, turn_limit=limit).render() == shown


def test_the_recent_turns_are_told_with_reasoning_action_and_response() -> None:
    assert manager(5).get_recent_reasoning_formatted(2) == (
        "Turn 4:\nReasoning: thought 4\nAction: act 4\nResponse: response 4\n\n"
        "Turn 5:\nReasoning: thought 5\nAction: act 5\nResponse: response 5"
    )
    assert manager(5).get_recent_reasoning_formatted().startswith("Turn 3:")
    texts = [manager(turns).get_recent_reasoning_formatted(asked) for turns, asked in ((5, 0), (5, -1), (0, 3))]
    assert texts == ["", "", ""]


def test_a_turn_of_which_only_the_reasoning_is_known_is_told_without_a_response() -> None:
    context = manager(2)
    context.add_reasoning(3, "the mill may open", "push mill")
    assert context.get_recent_reasoning_formatted(1) == (
        "Turn 3:\nReasoning: the mill may open\nAction: push mill\nResponse: (No response recorded)"
    )
    assert context.game_state.current_room_id == 12
    context.add_reasoning(4, "", "wait")
    assert "Turn 4:\nReasoning: (No reasoning recorded)\n" in context.get_recent_reasoning_formatted(1)


def test_while_the_player_stays_a_prompt_begins_with_the_one_before_map_and_memories_included() -> None:
    pasts = []
    for turns in range(5, 9):
        context = manager(turns)
        context.game_state.arrival_turn = 5
        pasts.append(
            context.get_agent_context(MILL, said(map_="M", memory="E")).render().partition("\n\n## Present")[0]
        )
    assert all(
        later.startswith(past) and "## Location Memory\nE\n\n## Map\nM" in past for past, later in pairwise(pasts)
    )
    assert pasts[-1].partition("## Since the arrival here\n")[2].startswith("Turn 6:")


def change_response(context: ContextManager, turn: int, text: str) -> None:
    context.game_state.turns[turn - 1] = a_turn(turn, f"act {turn}", text, f"thought {turn}")


def described(turns: int, text: str, turn: int, location_id: int = 12, **options: Any) -> ContextManager:
    """So many turns were played, and in one of them the story described a room."""
    context = manager(turns, **options)
    context.game_state.room_descriptions[location_id] = RoomDescription(text, turn)
    return context


def test_a_rooms_description_is_shown_with_its_turn_and_no_other_rooms() -> None:
    shown = [described(12, "A mill by a brook.", turn).get_agent_context(MILL).render() for turn in (11, 2, 1)]
    assert "## ROOM DESCRIPTION (turn 11):\nA mill by a brook." in shown[0]
    assert "## ROOM DESCRIPTION (turn 2):\nA mill by a brook." in shown[1]
    assert "## ROOM DESCRIPTION (turn 1, some of it may have changed):\nA mill by a brook." in shown[2]
    opening = described(12, "A mill by a brook.", 0).get_agent_context(MILL).render()
    assert "## ROOM DESCRIPTION (at the start, some of it may have changed):\nA mill by a brook." in opening
    assert "brook" not in described(12, "A mill by a brook.", 2, location_id=13).get_agent_context(MILL).render()
    assert (
        "## ROOM DESCRIPTION (turn 12):\nA mill"
        in described(12, "A mill by a brook.", 12).get_critic_context(MILL, "turn wheel").render()
    )


@pytest.mark.parametrize("told_in", [1, 7, 12])
def test_a_description_that_the_history_has_is_not_said_twice(told_in: int) -> None:
    context = described(12, "Water Mill\nA mill by a brook.", told_in)
    change_response(context, told_in, "You walk on.\n\nWater Mill\nA mill by a brook.")
    shown = context.get_agent_context(MILL)
    assert shown.render().count("A mill by a brook.") == 1
    assert any("A mill" in section.text for section in shown.sections if "ROOM" in section.title) == (told_in == 1)


def test_what_was_played_longer_ago_is_told_without_the_reasoning() -> None:
    shown = manager(8, agent={"history_window": 6}).get_agent_context(MILL).render()
    assert [turn for turn in range(1, 9) if f"response {turn}" in shown] == [*range(1, 9)]
    assert "Turn 1: act 1\nresponse 1\n\nTurn 2: act 2\nresponse 2\n\n" in shown
    assert [turn for turn in range(1, 9) if f"Reasoning: thought {turn}" in shown] == [4, 5, 6, 7, 8]
    without = manager(2, agent={"show_reasoning": False}).get_agent_context(MILL)
    assert without.sections[0].text == "> act 1\nresponse 1\n> act 2\nresponse 2"


ATTRIBUTES = {"scenery": 23, "lit": 9, "worn": 27, "open": 18}
THINGS = (
    GameObject(31, "oak chest", 12),
    GameObject(32, "mill stone", 12, frozenset({23})),
    GameObject(33, "secret lever", 12),
    GameObject(34, "oak chest", 12),
    GameObject(35, "", 12),
    GameObject(36, "confused young man", 12),
    GameObject(37, "dino/toy/friend", 12),
    GameObject(38, "Print Out", 12),
)


def test_what_a_thing_or_a_person_has_is_listed_with_the_name_of_that_one() -> None:
    state = GameState(opening="An oak chest, a dull key, a man, a coin and a hat.", latest=MILL)
    things = (GameObject(31, "oak chest", 12), GameObject(32, "dull key", 31), GameObject(33, "man", 12))
    hall = replace(MILL, visible=(*things, GameObject(34, "hat", 33), GameObject(35, "coin", 90)))
    context = ContextManager(logging.getLogger("test"), GameConfiguration(), state)
    told = "\nHere: oak chest (with dull key), man (with hat), coin\n"
    assert told in context.get_agent_context(hall).render()


def test_scenery_stays_scenery_when_something_is_seen_in_it() -> None:
    things = (GameObject(31, "oak chest", 12, frozenset({23})), GameObject(32, "coat", 31))
    for history, line in ((6000, "Scenery: oak chest (with coat)"), (0, "Here: coat")):
        config = GameConfiguration.model_validate({"prompt_budgets": {"history": history}})
        state = GameState(opening="An oak chest and a coat.", latest=MILL)
        context = ContextManager(logging.getLogger("test"), config, state, attribute_names=ATTRIBUTES)
        shown = context.get_agent_context(replace(MILL, visible=things)).render()
        assert f"(ID: 12)\n{line}\n" in shown


def test_a_person_is_listed_by_the_one_name_that_the_story_has_printed_and_a_thing_is_not() -> None:
    state = GameState(opening="A table of stone. Charles waits.", latest=MILL)
    things = ("black stone table", "Charles Bristow", "Charles River")
    hall = replace(MILL, visible=tuple(GameObject(50 + at, name, 12) for at, name in enumerate(things)))
    vocabulary = Vocabulary(9, frozenset(), animate=frozenset({51}))
    context = ContextManager(logging.getLogger("test"), GameConfiguration(), state, vocabulary=vocabulary)
    assert "\nHere: table, Charles\n" in context.get_agent_context(hall).render()


def test_things_of_one_name_are_counted_here_in_a_holder_and_carried() -> None:
    state = GameState(opening="On the shelf are four vials. A fifth vial lies here, and two coins.", latest=MILL)
    vials = [GameObject(40 + at, "vial", 31) for at in range(4)]
    things = (GameObject(31, "shelf", 12), *vials, GameObject(44, "vial", 12))
    coins = (GameObject(51, "coin", 12), GameObject(52, "coin", 12))
    lamps = tuple(GameObject(60 + at, "lamp", 3, frozenset({9} if at else ())) for at in range(3))
    hall = replace(MILL, visible=(*things, *coins), inventory=lamps)
    context = ContextManager(logging.getLogger("test"), GameConfiguration(), state, attribute_names=ATTRIBUTES)
    shown = context.get_agent_context(hall).render()
    assert "\nHere: shelf (with 4 x vial), vial, 2 x coin\nInventory: lamp, 2 x lamp (lit)\n" in shown


def test_what_the_player_has_put_into_a_carried_thing_is_listed_with_that_one() -> None:
    bag, coins = GameObject(3, "bag", 1), (GameObject(4, "coin", 1), GameObject(5, "coin", 1))
    before = replace(MILL, inventory=(bag, *coins))
    full = replace(MILL, text="Done.", inventory=(bag,), parents=(0, 12, 0, 1, 3, 3, 3))
    state = GameState(latest=before)
    state.record(replace(a_turn(1, "put coins in bag", "Done.", "", before), after=full))
    for history, shown in ((6000, "bag (with 2 x coin)"), (0, "bag")):
        config = GameConfiguration.model_validate({"prompt_budgets": {"history": history}})
        context = ContextManager(logging.getLogger("test"), config, state)
        assert f"\nInventory: {shown}\n" in context.get_agent_context(full).render()


def test_what_is_seen_in_a_carried_thing_is_listed_with_that_one_and_not_as_lying_here() -> None:
    bag, purse, hat = GameObject(3, "bag", 1), GameObject(4, "purse", 3), GameObject(7, "hat", 12)
    coin, pearl = GameObject(5, "coin", 4), GameObject(6, "pearl", 4)
    now = replace(MILL, inventory=(bag,), visible=(hat, purse, coin, pearl))
    state = GameState(opening="A hat. In the bag is a purse, and in the purse a coin.", latest=now)
    for history, shown in ((6000, "bag (with purse (with coin))"), (0, "bag")):
        config = GameConfiguration.model_validate({"prompt_budgets": {"history": history}})
        context = ContextManager(logging.getLogger("test"), config, state)
        assert f"\nHere: hat\nInventory: {shown}\n" in context.get_agent_context(now).render()


def test_the_things_in_sight_are_named_if_the_story_has_named_them() -> None:
    state = GameState(opening="There is an OAK\nCHEST here, beside the mill stone. Leverage is secret.", latest=MILL)
    hall = replace(MILL, visible=THINGS)
    context = ContextManager(logging.getLogger("test"), GameConfiguration(), state, attribute_names=ATTRIBUTES)
    shown = context.get_agent_context(hall).render()
    assert "Location: Water Mill (ID: 12)\nHere: oak chest\nScenery: mill stone\nInventory: " in shown
    play(state, "search chest", "You find a secret lever and a toy, an old friend.")
    play(state, "chant", "You see the shape of a man, going out.")
    assert "\nHere: oak chest, secret lever, man, toy/friend\n" in context.get_agent_context(hall).render()
    context.reset(GameState())
    assert "Here:" not in context.get_agent_context(hall).render()
    carried = (
        GameObject(3, "hat", 0, frozenset({27})),
        GameObject(4, "lamp", 0, frozenset({9, 18})),
        GameObject(5, ""),
    )
    rendered = context.get_agent_context(replace(MILL, inventory=carried)).render()
    assert "\nInventory: hat (worn), lamp (lit), object #5\n" in rendered
    seated = context.get_agent_context(replace(hall, inside=GameObject(6, "chair"))).render()
    assert "\nLocation: Water Mill (ID: 12)\nYou are in or on: chair\n" in seated


def test_scenery_that_the_story_has_named_is_listed_apart_in_prompts_with_the_whole_game() -> None:
    state = GameState(opening="There is an oak chest here, beside the mill stone. A dino drinks.")
    rug = GameObject(39, "long rug", 12, frozenset({23}))
    hall = replace(MILL, visible=(*THINGS, rug, GameObject(40, "oak chest", 12, frozenset({23}))))
    for history, shown in (
        (6000, "Here: oak chest, dino\nScenery: mill stone\nInv"),
        (0, "Here: oak chest, dino\nInv"),
    ):
        config = GameConfiguration.model_validate({"prompt_budgets": {"history": history}})
        context = ContextManager(logging.getLogger("test"), config, state, attribute_names=ATTRIBUTES)
        assert f"\n{shown}" in context.get_agent_context(hall).render()
        assert f"\n{shown}" in context.get_critic_context(hall, "push mill stone").render()


def test_the_critic_reads_why_the_player_proposes_a_command_if_it_gave_a_reason() -> None:
    context = manager(1)
    judged = context.get_critic_context(MILL, "tell miller", reason="He asked\nfor the code.").render()
    assert judged.endswith("## Proposed command\ntell miller\n\n## The player's reason\nHe asked for the code.")
    assert context.get_critic_context(MILL, "tell miller").render().endswith("## Proposed command\ntell miller")
    assert letters(talkative().get_critic_context(HALL, LONG_X).render(), "x") == 200


def test_a_direction_names_no_thing_and_words_that_the_story_printed_together_are_one_name() -> None:
    state = GameState(opening="North of here is a heavy wooden door. Up goes a stair.")
    things = ("north", "up", "south/up/stair", "heavy/wooden/door", "stair/door")
    hall = replace(MILL, visible=tuple(GameObject(50 + at, name, 12) for at, name in enumerate(things)))
    context = ContextManager(logging.getLogger("test"), GameConfiguration(), state)
    shown = context.get_agent_context(hall).render()
    assert "\nHere: up/stair, heavy wooden door, stair/door\n" in shown


def test_what_was_named_before_the_player_came_is_not_in_sight_unless_the_room_names_it_or_it_was_carried() -> None:
    state = GameState(opening="A letter to the young man, about levers.")
    context = ContextManager(logging.getLogger("test"), GameConfiguration(), state)
    yard = Observation("The yard. An oak chest.", Location(11, "Yard"), (GameObject(35, "mill stone", 4),), ())
    hall = replace(
        MILL, text="Water Mill\nA mill with an oak chest.", visible=(*THINGS, GameObject(35, "mill stone", 12))
    )
    for number, before, after in ((1, yard, hall), (2, hall, yard), (3, yard, replace(hall, text="Water Mill"))):
        record = TurnRecord(1, number, before, (Proposal("go"),), (Verdict(accepted=True, source="none"),), after)
        state.record(record)
        context.learn(record)
    assert "\nHere: oak chest, mill stone\n" in context.get_agent_context(hall).render()


def test_a_story_that_waits_for_a_key_says_so_and_how_a_key_is_given() -> None:
    told = manager().get_agent_context(replace(MILL, awaits_key=True)).render()
    for key in ("return", "space", "escape", "delete", "up", "f1"):
        assert f"`{key}`" in told[told.index("waits for one key") :]
    assert "one key" not in manager().get_agent_context(MILL).render()


LENGTHS = st.sampled_from((0, 1, 30, 400, 5_000, 60_000))


@settings(deadline=None)
@given(
    lengths=st.lists(LENGTHS, min_size=9, max_size=9),
    counts=st.tuples(st.integers(0, 2000), st.integers(0, 3), st.integers(0, 300)),
    rate=st.floats(0.15, 1.0),
    left=st.integers(500, 4000),
    history=st.sampled_from([0, 6000]),
)
def test_no_prompt_is_over_its_budget_while_the_instructions_leave_room(
    lengths: list[int], counts: tuple[int, int, int], rate: float, left: int, history: int
) -> None:
    story, label, action, reason, *notes = ("wd " * length for length in lengths)
    carried, rejected, valid = counts
    tokens = TokenCounter(rate)
    system = "rule " * 200
    budget = tokens.estimate(system) + left
    context = manager(3, prompt_budgets={"agent": budget, "critic": budget, "history": history})
    context.tokens = tokens
    context.game_state.opening = story
    context.add_reasoning(4, reason, action)
    hall = Observation(story, Location(12, label), (GameObject(3, "brass lantern"),) * carried, (), 15, 80)
    notes_of_all = said(*notes)
    shown = context.get_agent_context(
        hall,
        notes_of_all,
        valid_actions=(f"put {action[:90]}",) * valid,
        rejections=[Rejection(action, reason)] * rejected,
        system=system,
    ).render()
    assert tokens.estimate(system + shown) <= budget
    assert "## Present" in shown
    judged = context.get_critic_context(hall, action, notes_of_all, reason=reason, system=system).render()
    assert tokens.estimate(system + judged) <= budget


def test_the_storys_opening_stays_before_everything_once_it_is_past() -> None:
    context = manager()
    context.game_state.begin(MILL)
    assert "How the story began" not in context.get_agent_context(MILL).render()
    context.game_state.turn_count = 1
    shown = context.get_agent_context(MILL, SAID).sections
    assert (shown[0].title, shown[0].text) == ("How the story began", MILL.text)


def test_the_extractors_text_keeps_to_its_budget_together_with_the_instructions() -> None:
    context = manager(prompt_budgets={"info_ext": 300})
    text = context.get_extractor_text(Observation("story " * 2000), system="rules " * 100)
    assert context.tokens.estimate(text + "rules " * 100) <= 300
    assert context.get_extractor_text(MILL) == MILL.text


def after(text: str, **options: Any) -> ContextManager:
    context = manager(2, **options)
    change_response(context, 2, text)
    return context


@pytest.mark.parametrize("window", [1, 2, 6])
def test_the_storys_latest_text_stands_once_at_the_end_of_the_history(window: int) -> None:
    context = after(MILL.text, agent={"history_window": window})
    shown = context.get_agent_context(MILL).render()
    assert shown.count(MILL.text) == 1
    assert f"Response: {MILL.text}\n\n## Present\nLocation: Water Mill (ID: 12)\n" in shown
    menu = f"Help{' ' * 140}N = next subject"
    shown = after(menu, agent={"history_window": window}).get_agent_context(replace(MILL, text=menu)).render()
    assert shown.count("Help  N = next subject") == 1, "the blanks of a menu are not told"


def test_a_text_for_which_the_history_has_no_room_stands_in_the_present() -> None:
    long = Observation("The wheel turns. " * 300, Location(12, "Water Mill"))
    shown = after(long.text).get_agent_context(long).render()
    assert f"The story says:\n{long.text.strip()}" in shown
    assert "Action: act 2\nResponse: (See Present.)" in shown
    (present,) = after(MILL.text, prompt_budgets={"agent": 50}).get_agent_context(MILL).sections
    assert present.title == "Present"
    assert present.text.endswith(f"The story says:\n{MILL.text}")


HALL = Observation("It rains.", Location(4, "Hall"))


def talkative(**state: Any) -> ContextManager:
    """Two turns were played, the first of them at length; a prompt has room for 16,000 characters."""
    played = GameState(latest=HALL, **state)
    play(played, "a" * 9000, "s" * 9000, "r" * 9000)
    play(played, "wait", "It rains.")
    configuration = GameConfiguration(prompt_budgets={**WINDOW, "critic": 4000})
    return ContextManager(logging.getLogger("test"), configuration, played)


def letters(text: str, letter: str) -> int:
    """The length of the longest run of the letter, on both sides of a cut."""
    found = re.sub(r" \[… (\d+) characters\]", lambda cut: "#" * len(cut[0]), text.replace(" […]", "####"))
    return max(map(len, re.findall(f"{letter}[{letter}#]+|{letter}", found)))


LONG_X = "x" * 9000


@pytest.mark.parametrize(
    ("letter", "characters", "state", "seen", "rejections"),
    [
        ("r", 480, {}, {}, ()),
        ("a", 200, {}, {}, ()),
        ("s", 8000 - 9 * 400, {}, {}, ()),
        ("x", 2000, {"opening": LONG_X}, {}, ()),
        ("x", 8000, {}, {"text": LONG_X}, ()),
        ("x", 800, {}, {"inventory": (GameObject(7, LONG_X),)}, ()),
        ("x", 200, {}, {"location": Location(4, LONG_X)}, ()),
        ("x", 200, {}, {}, [Rejection(LONG_X, "no")]),
        ("x", 9000, {}, {}, [Rejection("y", LONG_X)]),
        ("x", 4000, {"room_descriptions": {4: RoomDescription(LONG_X, 2)}}, {}, ()),
    ],
    ids=[
        *("reasoning", "command", "response", "opening", "what the story says now", "what is carried", "location"),
        *("rejected command", "reason of a rejection", "room description"),
    ],
)
def test_of_each_part_so_many_characters_are_shown_at_most(
    letter: str, characters: int, state: dict[str, Any], seen: dict[str, Any], rejections: list[Rejection]
) -> None:
    shown = talkative(**state).get_agent_context(replace(HALL, **seen), rejections=rejections).render()
    assert letters(shown, letter) == characters


def test_the_critic_is_shown_nothing_that_refers_to_the_plan() -> None:
    learned = [PromptSection(title, "x", is_of_plan=title == "Known points") for title in ("Map", "Known points")]
    shown = manager(5).get_critic_context(HALL, "wait", learned).render()
    assert ("## Map" in shown, "## Known points" in shown) == (True, False)


@pytest.mark.parametrize("shows_reasoning", [True, False])
def test_turns_before_the_first_one_shown_are_counted_for_the_critic_and_in_a_window(*, shows_reasoning: bool) -> None:
    stay = manager(9, agent={"history_window": 2, "show_reasoning": shows_reasoning})
    for arrival, section, since in (
        (0, "Since the arrival here", ""),
        (4, "Since the arrival here", ", 2 of them since the arrival"),
        (6, "Since the arrival here", ", none of them since the arrival"),
        (9, "Previous Reasoning and Actions", ""),
    ):
        stay.game_state.arrival_turn = arrival
        for prompt in (stay.get_agent_context(MILL).render(), stay.get_critic_context(MILL, "wait").render()):
            assert f"## {section}\n(6 earlier turns left out{since})\n" in prompt
            assert "act 7" in prompt
            assert "act 6\n" not in prompt
    assert "left out" not in manager(3).get_critic_context(MILL, "wait").render()
    small = manager(9, agent={"history_window": 2, "reasoning_length": 0})
    small.game_state.arrival_turn = 4
    assert "left out)" in small.get_agent_context(MILL).render()


def test_every_section_that_was_left_out_for_want_of_room_is_counted() -> None:
    context = talkative(opening="o" * 9000)
    context.config = GameConfiguration(prompt_budgets={"agent": 200, "history": 0})
    shown = context.get_agent_context(HALL).sections
    assert [section.title for section in shown] == ["Present"]
    assert context.get_status()["metrics"] == {"turns": 2, "sections_dropped": 2}


SHEET = "The wheel of the mill turns slowly, and the water comes down over it in one unbroken grey sheet."


def told(played: list[tuple[str, str]], **style: Any) -> list[str]:
    """The turns as text; there is much room unless ``style`` limits it."""
    turns = [a_turn(turn, *each, "why\nnot") for turn, each in enumerate(played, start=1)]
    return [turn.text for turn in history_turns(turns, **{"characters": 9000, "most": 3, **style})]


def test_of_a_course_only_its_own_reason_is_told_once() -> None:
    counted = "On your course: command 2 of 3."
    turns = [a_turn(1, "up", "Loft", "To the rope."), *(a_turn(number, "wait", "", counted) for number in (2, 3))]
    turns[1:] = [replace(turn, verdicts=(Verdict(accepted=True, source="then"),)) for turn in turns[1:]]
    for reasoned, reasons in ((None, ["To the rope."]), (2, [])):
        texts = history_turns(turns, characters=9000, most=3, reasoned=reasoned)
        assert re.findall("Reasoning: (.*)", "\n".join(turn.text for turn in texts)) == reasons


def test_one_long_answer_may_take_what_later_ones_are_not_sure_to_need() -> None:
    played = [("read", "x" * 450), ("read", "y" * 450), ("read", "z" * 450)]
    texts = told(played, characters=900)
    assert ["x" * 450 in texts[0], "y" * 450 in texts[1], "z" * 450 in texts[2]] == [True, False, False]
    latest = told(played[:2], characters=900, precedes_present=True)[-1]
    assert latest.endswith(f"Response: {STANDS_BELOW}")


def test_a_long_line_is_repeated_by_its_beginning_unless_it_was_cut_before() -> None:
    played = [("look", f"Mill\n{SHEET}"), ("wait", "It rains."), ("look", f"Mill\n{SHEET}\nIt rains.")]
    texts = told(played)
    assert texts[2].endswith("Response: Mill\nThe wheel of the mill turns slowly, and… [line as in turn 1]\nIt rains.")
    cut = [("look", f"{'x' * 400} {SHEET}\n{SHEET}"), ("look", SHEET)]
    assert told(cut, characters=500)[1].endswith(SHEET)


WHOLE = {"agent": 16_000, "history": 6000}


def test_the_whole_game_so_far_is_shown_with_the_reason_of_the_latest_turn() -> None:
    context = manager(40, prompt_budgets=WHOLE)
    context.game_state.begin(replace(MILL, text="The aim is to grind.\n\nWater Mill\nA mill by a brook."))
    shown = {section.title: section.text for section in context.get_agent_context(MILL).sections}
    assert list(shown) == ["This game so far", "Since the arrival here", "Your latest reason", "Present"]
    assert shown["This game so far"] == "Start:\nThe aim is to grind.\n\nWater Mill\nA mill by a brook."
    assert shown["Since the arrival here"].startswith("Turn 1: act 1\nresponse 1\n\nTurn 2: act 2\nresponse 2\n\n")
    assert shown["Since the arrival here"].endswith("Turn 40: act 40\nresponse 40")
    assert shown["Your latest reason"] == "Turn 40: thought 40"


@pytest.mark.parametrize("budget", [WHOLE, WINDOW])
def test_the_latest_text_is_whole_and_an_older_one_refers_to_a_turn_that_has_its_line(budget: dict[str, int]) -> None:
    context, whole = manager(0, prompt_budgets=budget), f"Mill\n{SHEET}"
    for text in (whole, f"{whole}\nIt rains."):
        play(context.game_state, "look", text)
        prompt = context.get_agent_context(replace(MILL, text=text)).render()
        assert prompt.count(text) == 1
    play(context.game_state, "wait", "Time passes.")
    later = context.get_agent_context(replace(MILL, text="Time passes.")).render()
    assert later.count(SHEET) == 1
    assert later.startswith(re.split("\n\n## (?:Your latest|Present)", prompt)[0]), "it is cached"


def test_the_game_so_far_keeps_the_beginning_of_the_prompt_before_while_it_grows() -> None:
    context, pasts = manager(0, prompt_budgets=WHOLE), []
    for turn in range(1, 200):
        play(context.game_state, f"act {turn}", f"response {turn} " * 20)
        context.game_state.arrival_turn = turn
        pasts.append(context.get_agent_context(MILL).sections[0].text)
    rewritten = [turn for turn, (one, other) in enumerate(pairwise(pasts), start=2) if not other.startswith(one)]
    assert 1 <= len(rewritten) <= 5


def test_turns_before_the_first_prompt_are_condensed_as_if_every_turn_had_one() -> None:
    def text(*, every_turn: bool) -> str:
        context = manager(0, prompt_budgets={"agent": 4000, "history": 1500})
        for turn in range(1, 120):
            play(context.game_state, f"act {turn}", f"response {turn} " * 20)
            if every_turn or turn == 119:
                shown = context.get_agent_context(MILL).render()
        return shown

    assert text(every_turn=True) == text(every_turn=False)


def test_what_the_game_so_far_contains_is_not_said_again() -> None:
    room = "Water Mill\nA mill by a brook."
    context = described(3, room, 1, prompt_budgets=WHOLE)
    change_response(context, 1, room)
    seen = replace(MILL, text="response 3")
    assert context.get_agent_context(seen).render().count("A mill by a brook.") == 1
    assert context.get_agent_context(seen).render().count("response 3") == 1


@pytest.mark.parametrize("budget", [WHOLE, WINDOW])
def test_what_the_program_says_of_a_command_that_did_not_reach_the_story_is_no_response_of_the_story(
    budget: dict[str, int],
) -> None:
    context = manager(1, prompt_budgets=budget)
    refused = replace(MILL, text="'undo' is not available.", refusal="not sent")
    context.game_state.record(replace(a_turn(2, "undo", "", "back"), after=refused))
    play(context.game_state, "wait", "Time passes.")
    shown = context.get_agent_context(context.game_state.latest).render()
    assert "\n(The command did not reach the story: 'undo' is not available.)\n" in shown.replace("Response: ", "\n")
