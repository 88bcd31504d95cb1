"""The order in which a prompt over its budget loses its parts, with sections of every manager."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from managers.base_manager import ManagerParts
from managers.context_manager import ContextManager, Rejection
from orchestration.learning import build_learning
from session.context import PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState, PlayedAction
from session.text import TokenCounter
from session.values import Location, Observation
from tests.fixtures.scripted_game import SCRIPTED_STORY
from tests.unit.zorkgpt.players.dye_works import vocabulary
from zorkgpt.llm.stand_ins import ScriptedLLM

HALL = Observation("It rains.", Location(4, "Hall"))
WORDS = "word " * 40


@pytest.fixture
def learnt(tmp_path: Path) -> list[PromptSection]:
    """The sections of a run's managers, of equal length, one for each title."""
    config = GameConfiguration(zork_game_workdir=tmp_path)
    learning = build_learning(
        ManagerParts(
            structlog.get_logger(), config, GameState(), ScriptedLLM(), SCRIPTED_STORY, vocabulary(), TokenCounter()
        )
    )
    said = [manager.section(HALL) for manager in learning.managers]
    return [*{section.title: replace(section, text=WORDS) for section in said if section is not None}.values()]


def manager(budget: int) -> ContextManager:
    """Six turns in a hall with a known description, with a history window of four."""
    state = GameState(turn_count=6, opening=WORDS)
    state.last_room_description, state.last_room_description_location_id = WORDS, 4
    state.last_room_description_turn = 6
    for turn in range(1, 7):
        state.add_reasoning(turn, WORDS, f"act {turn}")
        state.action_history.append(PlayedAction(f"act {turn}", "Done."))
    budgets = {"agent": budget, "critic": budget}
    config = GameConfiguration(prompt_budgets=budgets, agent={"history_window": 4})
    return ContextManager(structlog.get_logger(), config, state)


def titles_of(prompt: str) -> list[str]:
    return [line.removeprefix("## ") for line in prompt.splitlines() if line.startswith("## ")]


def lost_and_kept(titles: Callable[[int], list[str]]) -> tuple[list[str], list[str]]:
    """Return the titles that a prompt loses, in this order, as its budget shrinks, and those that it keeps."""
    lost: list[str] = []
    shown = titles(10_000)
    for budget in range(1600, 90, -5):
        left = titles(budget)
        lost += [title for title in shown if title not in left]
        shown = left
    return lost, shown


def test_prompts_lose_their_sections_in_the_written_order(learnt: list[PromptSection]) -> None:
    lost, kept = lost_and_kept(
        lambda budget: [each.title for each in manager(budget).get_agent_context(HALL, learnt).sections]
    )
    assert lost == [
        "How the story began",
        "Previous Reasoning and Actions",
        "What is known of this game",
        "The last episode, and the plan",
        "Map",
        "COMMAND SYNTAX",
        "ROUTES",
        "Tried here, no visible change",
        "ROOM DESCRIPTION:",
        "Objectives",
        "Location Memory",
        "And then",
    ]
    assert kept == ["Present", "Points"]
    lost, kept = lost_and_kept(lambda budget: titles_of(manager(budget).get_critic_context(HALL, "wait", learnt)))
    assert lost == [
        "Map",
        "ROUTES",
        "Tried here, no visible change",
        "ROOM DESCRIPTION:",
        "Previous Reasoning and Actions",
        "Location Memory",
    ]
    assert kept == ["Present", "Points", "Proposed command"]


def test_the_agents_prompt_goes_from_what_changes_rarely_to_the_present(learnt: list[PromptSection]) -> None:
    weather = PromptSection("Weather", WORDS, 1)
    shown = manager(10_000).get_agent_context(
        HALL, [weather, *learnt], valid_actions=("wait",), rejections=[Rejection("save", "no saving")]
    )
    assert [section.title for section in shown.sections] == [
        "The last episode, and the plan",
        "How the story began",
        "What is known of this game",
        "COMMAND SYNTAX",
        "Objectives",
        "Previous Reasoning and Actions",
        "And then",
        "Map",
        "ROOM DESCRIPTION:",
        "Location Memory",
        "Weather",
        "ROUTES",
        "Tried here, no visible change",
        "Present",
        "Points",
        "Not played this turn",
        "Commands that would do something now",
    ]
