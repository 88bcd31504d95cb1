"""The agent's context: what is in it, in which order, and what goes first when it gets too long."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from managers.context_manager import ContextManager, Rejection
from session.context import Place, PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState, PlayedAction
from session.text import RoomDescription, TokenCounter
from session.values import GameObject, Location, Observation

MILL = Observation(
    "The wheel turns slowly.",
    Location(12, "Water Mill"),
    (GameObject(3, "oil can"), GameObject(5, "")),
    (),
    15,
    80,
)


def said(
    knowledge: str = "", syntax: str = "", objectives: str = "", map_: str = "", memory: str = "", circling: str = ""
) -> list[PromptSection]:
    """The sections of the managers, in no order."""
    return [
        PromptSection("Map", map_, 6, Place.MAP),
        PromptSection("COMMAND SYNTAX", syntax, 5, Place.SYNTAX),
        PromptSection("Location Memory", memory, 2, Place.MEMORY),
        PromptSection("Going round in circles", circling, place=Place.WARNING),
        PromptSection("What is known of this game", knowledge, 7, Place.KNOWLEDGE),
        PromptSection("Objectives", objectives, 3, Place.OBJECTIVES),
    ]


SAID = said("K", "S", "O", "M", "E", "C")


def manager(turns: int = 0, **options: Any) -> ContextManager:
    state = GameState(turn_count=turns)
    for turn in range(1, turns + 1):
        state.add_reasoning(turn, f"thought {turn}", f"act {turn}")
        state.action_history.append(PlayedAction(f"act {turn}", f"response {turn}"))
    return ContextManager(logging.getLogger("test"), GameConfiguration(**options), state)


def test_the_first_turn_shows_only_the_present() -> None:
    text = manager().get_agent_context(MILL).render()
    assert text == (
        "## Present\nLocation: Water Mill (ID: 12)\nInventory: oil can, object #5\nScore: 15 of 80\n"
        "The story says:\nThe wheel turns slowly."
    )


def test_the_turns_that_are_left_are_shown_if_there_is_a_limit() -> None:
    assert manager(13).get_agent_context(MILL, turn_limit=40).render().endswith("\n\n## Turn\n14 of 40")


def test_what_is_not_known_is_not_shown() -> None:
    assert manager().get_agent_context(Observation("Hm.")).render() == "## Present\nThe story says:\nHm."


def test_sections_go_from_what_changes_rarely_to_the_present_moment() -> None:
    context = manager(3).get_agent_context(
        MILL, SAID, valid_actions=("north",), rejections=[Rejection("save", "no saving")]
    )
    assert [section.title for section in context.sections] == [
        "What is known of this game",
        "COMMAND SYNTAX",
        "Objectives",
        "Previous Reasoning and Actions",
        "Map",
        "Location Memory",
        "Present",
        "Going round in circles",
        "Not played this turn",
        "Commands that would do something now",
    ]
    assert context.valid_actions == ("north",)
    assert "- `save`: no saving" in context.render()


def test_the_recent_turns_are_told_with_reasoning_action_and_response() -> None:
    assert manager(5).get_recent_reasoning_formatted(2) == (
        "Turn 4:\nReasoning: thought 4\nAction: act 4\nResponse: response 4\n\n"
        "Turn 5:\nReasoning: thought 5\nAction: act 5\nResponse: response 5"
    )
    assert manager(5).get_recent_reasoning_formatted().startswith("Turn 3:")


@pytest.mark.parametrize("num_turns", [0, -1])
def test_no_turns_asked_for_are_no_turns(num_turns: int) -> None:
    assert manager(5).get_recent_reasoning_formatted(num_turns) == ""


def test_without_a_past_there_is_no_history() -> None:
    assert manager().get_recent_reasoning_formatted() == ""


def test_missing_fields_are_said_to_be_missing() -> None:
    context = manager()
    context.game_state.action_reasoning_history.append({"turn": 7, "action": "dig"})
    assert context.get_recent_reasoning_formatted() == (
        "Turn 7:\nReasoning: (No reasoning recorded)\nAction: dig\nResponse: (No response recorded)"
    )


def test_a_repeated_action_shows_its_most_recent_response() -> None:
    context = manager()
    context.add_reasoning(turn=40, reasoning="again", action="pull lever")
    context.game_state.action_history += [
        PlayedAction("pull lever", "Click."),
        PlayedAction("pull lever", "Clunk."),
    ]
    assert "Response: Clunk." in context.get_recent_reasoning_formatted()


def test_an_entry_that_is_no_dict_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    context = manager(1)
    history: list[Any] = context.game_state.action_reasoning_history
    history.insert(0, "not a dict")
    with caplog.at_level(logging.WARNING):
        assert context.get_recent_reasoning_formatted().startswith("Turn 1:")
    assert "not a dict" in caplog.text


def test_an_entry_that_is_no_dict_takes_no_turns_place() -> None:
    context = manager(2)
    history: list[Any] = context.game_state.action_reasoning_history
    history.append("not a dict")
    assert context.get_recent_reasoning_formatted(1).startswith("Turn 2:")


def test_the_window_slides_in_blocks_so_that_the_prefix_stays() -> None:
    rendered = [manager(turns, agent={"history_window": 4}).get_agent_context(MILL).render() for turns in range(4, 12)]
    first_turns = [text.split("Turn ")[1].split(":")[0] for text in rendered]
    assert first_turns == ["1", "1", "1", "1", "5", "5", "5", "5"]
    assert "Turn 11" in rendered[-1]


def described(turns: int, text: str, turn: int, location_id: int = 12, **options: Any) -> ContextManager:
    """So many turns were played, and in one of them the story described a room."""
    context = manager(turns, **options)
    context.game_state.room_descriptions[location_id] = RoomDescription(text, turn)
    return context


def test_a_rooms_description_is_shown_with_its_age_and_no_other_rooms() -> None:
    shown = [described(12, "A mill by a brook.", turn).get_agent_context(MILL).render() for turn in (11, 2, 1)]
    assert "## ROOM DESCRIPTION (1 turn ago):\nA mill by a brook." in shown[0]
    assert "## ROOM DESCRIPTION (10 turns ago):\nA mill by a brook." in shown[1]
    assert "## ROOM DESCRIPTION (11 turns ago, some of it may have changed):\nA mill by a brook." in shown[2]
    assert "brook" not in described(12, "A mill by a brook.", 2, location_id=13).get_agent_context(MILL).render()
    assert "## ROOM DESCRIPTION:\nA mill by a brook." in described(12, "A mill by a brook.", 12).get_critic_context(
        MILL, "turn wheel"
    )


def test_the_description_of_the_room_entered_last_may_be_given_alone() -> None:
    context = manager(12)
    state = context.game_state
    state.last_room_description, state.last_room_description_location_id = "A mill by a brook.", 12
    state.last_room_description_turn = 9
    assert "## ROOM DESCRIPTION (3 turns ago):\nA mill by a brook." in context.get_agent_context(MILL).render()


@pytest.mark.parametrize("told_in", [1, 7, 12])
def test_a_description_that_the_history_has_is_not_said_twice(told_in: int) -> None:
    context = described(12, "Water Mill\nA mill by a brook.", told_in)
    played = context.game_state.action_history
    played[told_in - 1] = PlayedAction(f"act {told_in}", "You walk on.\n\nWater Mill\nA mill by a brook.")
    shown = context.get_agent_context(MILL)
    assert shown.render().count("A mill by a brook.") == 1
    assert any("A mill" in section.text for section in shown.sections if "ROOM" in section.title) == (told_in == 1)


def test_a_description_stands_for_itself_once_the_history_has_no_room() -> None:
    text = "Water Mill\nA mill by a brook."
    for budget in (2000, 120, 60):
        context = described(12, text, 12, prompt_budgets={"agent": budget})
        context.game_state.action_history[-1] = PlayedAction("act 12", text)
        assert context.get_agent_context(replace(MILL, text=text)).render().count("A mill by a brook.") == 1


def test_a_text_told_again_names_the_turn_that_has_it() -> None:
    long = "The wheel of the mill turns slowly, and the water comes down over it in one unbroken grey sheet."
    context = manager(3)
    played = context.game_state.action_history
    played[0], played[2] = PlayedAction("act 1", f"Water Mill\n{long}"), PlayedAction("act 3", f"{long}\nIt rains.")
    assert context.get_agent_context(MILL).render().count(long) == 1
    assert (
        "Action: act 3\nResponse: The wheel of the mill turns slowly, and… [line as in turn 1]\nIt rains."
        in context.get_agent_context(MILL).render()
    )


def test_what_was_played_longer_ago_is_told_without_the_reasoning() -> None:
    shown = manager(8, agent={"history_window": 6}).get_agent_context(MILL).render()
    assert [turn for turn in range(1, 9) if f"response {turn}" in shown] == [*range(1, 9)]
    assert "Turn 1: act 1\nresponse 1\n\nTurn 2: act 2\nresponse 2\n\n" in shown
    assert [turn for turn in range(1, 9) if f"Reasoning: thought {turn}" in shown] == [4, 5, 6, 7, 8]


def test_the_blanks_of_a_menu_are_not_told() -> None:
    menu = f"Help{' ' * 140}N = next subject"
    context = after(menu)
    assert "Response: Help  N = next subject" in context.get_agent_context(replace(MILL, text=menu)).render()


THINGS = (
    GameObject(31, "oak chest", 12),
    GameObject(32, "mill stone", 12, frozenset({23})),
    GameObject(33, "secret lever", 12),
    GameObject(34, "oak chest", 12),
    GameObject(35, "", 12),
    GameObject(36, "confused young man", 12),
)


def test_the_things_in_sight_are_named_if_the_story_has_named_them() -> None:
    state = GameState(opening="There is an OAK\nCHEST here, beside the mill stone. The levers are secret.")
    hall = replace(MILL, visible=THINGS)
    context = ContextManager(logging.getLogger("test"), GameConfiguration(), state, attribute_names={"scenery": 23})
    assert "Location: Water Mill (ID: 12)\nHere: oak chest\nInventory: " in context.get_agent_context(hall).render()
    state.action_history.append(PlayedAction("search chest", "You find a secret lever."))
    state.action_history.append(PlayedAction("chant", "You recognise the shape as that of a man."))
    assert "\nHere: oak chest, secret lever, man\n" in context.get_agent_context(hall).render()
    context.reset(GameState())
    assert "Here:" not in context.get_agent_context(hall).render()


def test_what_is_worn_or_lit_is_marked_in_the_inventory() -> None:
    attributes = {"lit": 9, "worn": 27, "open": 18}
    carried = (
        GameObject(3, "hat", 0, frozenset({27})),
        GameObject(4, "lamp", 0, frozenset({9, 18})),
        GameObject(5, ""),
    )
    context = ContextManager(logging.getLogger("test"), GameConfiguration(), GameState(), attribute_names=attributes)
    rendered = context.get_agent_context(replace(MILL, inventory=carried)).render()
    assert "\nInventory: hat (worn), lamp (lit), object #5\n" in rendered


def test_a_description_that_is_the_present_text_is_not_said_twice() -> None:
    context = manager(1)
    state = context.game_state
    state.last_room_description, state.last_room_description_location_id = MILL.text, 12
    state.last_room_description_turn = 1
    assert context.get_agent_context(MILL).render().count(MILL.text) == 1


def test_over_budget_the_least_wanted_goes_first_and_the_present_never() -> None:
    long = "word " * 100
    notes = said(knowledge=long, objectives=long, map_=long, memory=long)
    titles = []
    for budget in (2000, 500, 370, 80):
        context = manager(2, prompt_budgets={"agent": budget}).get_agent_context(MILL, notes)
        titles.append([section.title for section in context.sections])
    assert titles[0][0] == "What is known of this game"
    assert titles[1] == ["Objectives", "Previous Reasoning and Actions", "Map", "Location Memory", "Present"]
    assert titles[2] == ["Objectives", "Previous Reasoning and Actions", "Location Memory", "Present"]
    assert titles[3] == ["Previous Reasoning and Actions", "Present"]


def test_the_command_syntax_goes_after_knowledge_and_map() -> None:
    notes = said(knowledge="word " * 100, syntax="word " * 50, objectives="O", map_="word " * 100)
    titles = []
    for budget in (240, 120):
        context = manager(2, prompt_budgets={"agent": budget}).get_agent_context(MILL, notes)
        titles.append([section.title for section in context.sections])
    assert titles[0] == ["COMMAND SYNTAX", "Objectives", "Previous Reasoning and Actions", "Present"]
    assert titles[1] == ["Objectives", "Previous Reasoning and Actions", "Present"]


def test_a_long_response_and_reasoning_are_cut_in_the_history() -> None:
    context = manager()
    context.add_reasoning(1, "so " * 1000, "read")
    context.game_state.action_history.append(PlayedAction("read", "blah " * 4000))
    assert len(context.get_recent_reasoning_formatted()) < 9000
    assert context.get_recent_reasoning_formatted().count("[…]") == 2


def test_a_long_action_story_and_inventory_are_cut_and_the_history_stays() -> None:
    long = "xyzzy " * 10_000
    carried = tuple(GameObject(number, "brass lantern") for number in range(2000))
    hall = Observation(long, Location(12, long), carried, ())
    context = manager(2).get_agent_context(hall, rejections=[Rejection(long, long)])
    assert [section.title for section in context.sections] == [
        "Previous Reasoning and Actions",
        "Present",
        "Not played this turn",
    ]
    present, rejected = context.sections[1:]
    assert present.text.count("[…]") == 3
    assert rejected.text.count("[…]") == 2
    proposed = manager(2).get_critic_context(MILL, long).rpartition("## Proposed command\n")[2]
    assert (len(proposed), proposed[-3:]) == (200, "[…]")


LENGTHS = st.sampled_from((0, 1, 30, 400, 5_000, 60_000))


@settings(deadline=None)
@given(
    lengths=st.lists(LENGTHS, min_size=10, max_size=10),
    counts=st.tuples(st.integers(0, 2000), st.integers(0, 3), st.integers(0, 300)),
    rate=st.floats(0.15, 1.0),
    left=st.integers(500, 4000),
)
def test_no_prompt_is_over_its_budget_while_the_instructions_leave_room(
    lengths: list[int], counts: tuple[int, int, int], rate: float, left: int
) -> None:
    story, label, action, reason, *notes = ("wd " * length for length in lengths)
    carried, rejected, valid = counts
    tokens = TokenCounter(rate)
    system = "rule " * 200
    budget = tokens.estimate(system) + left
    context = manager(3, prompt_budgets={"agent": budget, "critic": budget})
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
    judged = context.get_critic_context(hall, action, notes_of_all, system=system)
    assert tokens.estimate(system + judged) <= budget


def test_what_is_never_dropped_is_cut_the_longest_first() -> None:
    notes = said(circling="round and round")
    context = manager(prompt_budgets={"agent": 500})
    commands = tuple(f"turn wheel number {number}" for number in range(500))
    present, circling, valid = context.get_agent_context(MILL, notes, valid_actions=commands).sections
    assert (present.text.endswith(MILL.text), circling.text) == (True, "round and round")
    assert valid.text.startswith("- turn wheel number 0\n")
    assert " […]\n- turn wheel" in valid.text


def test_the_count_of_tokens_follows_the_servers() -> None:
    tokens = TokenCounter()
    before = tokens.estimate("x" * 1000)
    for _ in range(30):
        tokens.learn(characters=1000, tokens=500)
    assert (before, tokens.estimate("x" * 1000)) == (250, 500)
    tokens.learn(1000, 0)
    assert tokens.estimate("x" * 1000) == 500


def test_the_history_can_be_shown_without_the_reasoning() -> None:
    context = manager(2, agent={"show_reasoning": False}).get_agent_context(MILL)
    assert context.sections[0].text == "> act 1\nresponse 1\n> act 2\nresponse 2"


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
    context.game_state.action_history[-1] = PlayedAction("act 2", text)
    return context


@pytest.mark.parametrize("window", [1, 2, 6])
def test_the_storys_latest_text_stands_once_at_the_end_of_the_history(window: int) -> None:
    context = after(MILL.text, agent={"history_window": window}).get_agent_context(MILL)
    assert context.render().count(MILL.text) == 1
    assert f"Response: {MILL.text}\n\n## Present\nLocation: Water Mill (ID: 12)\n" in context.render()


def test_a_prompt_begins_with_all_of_the_one_before_up_to_its_present() -> None:
    before = after(MILL.text)
    shown = before.get_agent_context(MILL).render().partition("\n\n## Present")[0]
    before.add_reasoning(3, "thought 3", "act 3")
    before.game_state.action_history.append(PlayedAction("act 3", "It stops."))
    before.game_state.turn_count = 3
    assert before.get_agent_context(Observation("It stops.")).render().startswith(shown)


def test_a_text_too_long_for_the_history_stands_in_the_present() -> None:
    long = Observation("The wheel turns. " * 300, Location(12, "Water Mill"))
    shown = after(long.text).get_agent_context(long).render()
    assert f"The story says:\n{long.text.strip()}" in shown
    assert "Action: act 2\nResponse: (It stands under Present.)" in shown


def test_what_a_command_was_refused_for_stands_in_the_present() -> None:
    refused = Observation(MILL.text, Location(12, "Water Mill"), refusal="unsafe")
    assert "The command did not reach the story" in after(MILL.text).get_agent_context(refused).render()


def test_where_the_history_has_no_room_the_storys_text_stands_in_the_present() -> None:
    context = after(MILL.text, prompt_budgets={"agent": 50}).get_agent_context(MILL)
    assert [section.title for section in context.sections] == ["Present"]
    assert context.sections[0].text.endswith(f"The story says:\n{MILL.text}")
