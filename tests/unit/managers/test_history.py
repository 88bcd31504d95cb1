"""How turns are written in a prompt, and how long, missing or repeated answers are treated."""

from __future__ import annotations

from typing import Any

import pytest

from managers.context_manager import STANDS_BELOW, told_turns

PLAYED = [("wait", " first\nline "), ("wait", "latest")]
LONG = "The wheel of the mill turns slowly, and the water comes down over it in one unbroken grey sheet."


def told(*entries: dict[str, Any], played: list[tuple[str, str]] = PLAYED, **style: Any) -> list[str]:
    """The turns as text; there is much room unless ``style`` limits it."""
    return [turn.text for turn in told_turns(entries, played, **{"characters": 9000, "most": 3, **style})]


def entries(*actions: str) -> tuple[dict[str, Any], ...]:
    return tuple({"turn": turn, "reasoning": "why not", "action": action} for turn, action in enumerate(actions, 1))


def test_a_response_is_found_by_its_turn() -> None:
    assert told({"turn": 1, "reasoning": "why\nnot", "action": "wait"}) == [
        "Turn 1:\nReasoning: why\nnot\nAction: wait\nResponse: first\nline"
    ]


@pytest.mark.parametrize("turn", [0, -1, 3, "1", None])
def test_where_its_turn_is_not_known_the_latest_response_to_the_command_is_told(turn: Any) -> None:
    assert told({"turn": turn, "action": "wait"})[0].endswith("Response: latest")


def test_what_is_missing_is_said_to_be_missing() -> None:
    assert told({}) == [
        "Turn ?:\nReasoning: (No reasoning recorded)\nAction: (No action recorded)\nResponse: (No response recorded)"
    ]


def test_long_texts_are_cut_in_their_middle() -> None:
    (text,) = told(
        {"turn": 1, "reasoning": f"First. {'so ' * 500}Last.", "action": "x" * 500},
        played=[("x" * 500, f"First. {'blah ' * 500}Last.")],
        characters=600,
        most=1,
    )
    assert text.count("[…]") == 3
    assert len(text) < 480 + 200 + 600 + 50
    assert text.endswith("Last.")


def test_one_long_answer_may_take_what_later_ones_are_not_sure_to_need() -> None:
    played = [("read", "x" * 450), ("read", "y" * 450), ("read", "z" * 450)]
    texts = told(*entries("read", "read", "read"), played=played, characters=900)
    assert ["x" * 450 in texts[0], "y" * 450 in texts[1], "z" * 450 in texts[2]] == [True, False, False]


def test_a_turn_is_told_by_what_came_before_it_alone() -> None:
    played = [("read", "x" * 450), ("wait", "y" * 450), ("wait", LONG), ("wait", LONG)]
    whole = told(*entries("read", "wait", "wait", "wait"), played=played, characters=900, most=4)
    for turns in (1, 2, 3):
        assert told(*entries(*["read", "wait", "wait"][:turns]), played=played, characters=900, most=4) == whole[:turns]


def test_the_latest_turn_leaves_to_the_present_what_has_no_room() -> None:
    texts = told(*entries("wait", "wait"), played=[("wait", "x" * 900)] * 2, characters=900, precedes_present=True)
    assert texts[0].endswith("xxx")
    assert texts[1].endswith(f"Response: {STANDS_BELOW}")


def test_of_a_long_line_later_turns_have_the_beginning_and_short_ones_are_whole() -> None:
    played = [("look", f"Mill\n{LONG}"), ("wait", "It rains."), ("look", f"Mill\n{LONG}\nIt rains.")]
    texts = told(*entries("look", "wait", "look"), played=played)
    assert texts[2].endswith("Response: Mill\nThe wheel of the mill turns slowly, and… [line as in turn 1]\nIt rains.")


def test_a_line_that_was_cut_is_not_referred_to() -> None:
    played = [("look", f"{'x' * 300} {LONG}\n{LONG}"), ("look", LONG)]
    assert told(*entries("look", "look"), played=played, characters=400)[1].endswith(LONG)


def test_older_turns_are_told_without_the_reasoning_and_transcripts_without_labels() -> None:
    older, latest = told(*entries("wait", "wait"), reasoned=1)
    assert (older, "Reasoning: why not" in latest) == ("Turn 1: wait\nfirst\nline", True)
    assert told(*entries("wait"), is_transcript=True) == ["> wait\nfirst\nline"]
