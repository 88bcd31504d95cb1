"""The managers of a run: built in the order of their dependencies, reset alike, and their sections of a prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from pydantic import TypeAdapter

from managers.ahead import MemoriesAhead
from managers.base_manager import BaseManager, ManagerParts, ManagerStatus
from managers.context_manager import ContextManager
from orchestration.learning import MANAGERS, Learning, build_learning
from session.context import PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import Memory
from session.text import RoomDescription, TokenCounter
from session.values import Location, Observation, Proposal, Rejection, TurnRecord, Verdict
from tests.fixtures.dye_works import section_text
from tests.fixtures.scripted_game import SCRIPTED_STORY
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.unit.zorkgpt.mapping.turns import walk
from tests.unit.zorkgpt.players.dye_works import vocabulary

STATUS = TypeAdapter(ManagerStatus)
MODEL, TOKENS = ScriptedLLM(), TokenCounter()


@pytest.fixture
def parts(tmp_path: Path) -> ManagerParts:
    """In a story with a direction of its own."""
    story = replace(SCRIPTED_STORY, directions=("hubwards",))
    config = GameConfiguration(
        zork_game_workdir=tmp_path,
        prompt_budgets={"agent": 4000, "history": 0},
        controls={"reflection": True, "similar_turns": 5},
    )
    return ManagerParts(structlog.get_logger(), config, GameState(), MODEL, story, vocabulary(), TOKENS)


@pytest.fixture
def learning(parts: ManagerParts) -> Learning:
    return build_learning(parts)


def test_all_count_tokens_alike_and_ask_the_runs_model(learning: Learning) -> None:
    assert [type(manager).__name__ for manager in learning.managers if manager.tokens is not TOKENS] == []
    assert learning.memories is not None
    assert learning.memories.llm_client is MODEL
    assert learning.knowledge.model is MODEL


def test_the_storys_own_direction_is_one(learning: Learning) -> None:
    learning.map.learn(walk(1, "hubwards", 1))
    learning.map.learn(walk(1, "widdershins", 1))
    failures = learning.map.game_map.exit_failure_counts
    assert {edge.exit for edge in failures} == {"hubwards"}
    memories = learning.memories
    assert memories is not None
    memories.record_action_outcome(4, "Vats", "hubwards", "Loft", {"location_changed": True, "location_after": 7})
    assert memories.get_status()["metrics"]["synthesis_calls"] == 0


@pytest.mark.parametrize("shift", range(len(MANAGERS)))
def test_managers_get_those_that_they_use_in_any_order_of_the_list(parts: ManagerParts, shift: int) -> None:
    kinds = [*MANAGERS[shift:], *MANAGERS[:shift]]
    learning = build_learning(parts, kinds)
    assert [type(manager) for manager in learning.managers] == kinds
    assert learning.objectives is not None
    assert learning.objectives.adaptive_knowledge_manager is learning.knowledge
    assert learning.objectives.map_manager is learning.map
    assert learning.objectives.memory_manager is learning.memories
    assert learning.circling.objectives is learning.objectives


def test_one_that_the_configuration_leaves_out_is_no_error(parts: ManagerParts) -> None:
    config = parts.config.model_copy(update={"routes": parts.config.routes.model_copy(update={"enabled": False})})
    assert build_learning(replace(parts, config=config)).routes is None


def test_a_new_episode_is_every_managers(learning: Learning) -> None:
    state = GameState(episode=2)
    state.begin(Observation("You stand among the vats."))
    learning.begin(state)
    assert [type(manager).__name__ for manager in learning.managers if manager.game_state is not state] == []


def test_the_current_state_shows_every_manager_with_a_status_of_the_one_shape(
    learning: Learning, tmp_path: Path
) -> None:
    statuses = [manager.get_status() for manager in learning.managers]
    assert [STATUS.validate_python(status, strict=True) for status in statuses] == statuses
    assert len({status["type"] for status in statuses}) == len(MANAGERS)
    learning.state.export_current_state()
    text = (tmp_path / "current_state.json").read_text()
    assert [kind.__name__ for kind in MANAGERS if f'"{kind.__name__}": ' not in text] == []


def test_memories_of_a_place_that_only_a_note_names_are_shown_ahead(parts: ManagerParts) -> None:
    learning = build_learning(parts)
    learning.map.game_map.add_room(7, "Loft")
    assert learning.memories is not None
    learning.memories.add_memory(
        7, "Loft", Memory("DANGER", "Rotten floor", 1, "3", None, "It gives way.", "permanent")
    )
    ahead = next(manager for manager in learning.managers if isinstance(manager, MemoriesAhead))
    for note, expected in (("", ""), ("Dry it at Location 7", "L7 Loft: [DANGER] Rotten floor: It gives way.")):
        parts.game_state.notes[:] = [note]
        assert section_text(ahead, HALL) == expected


@pytest.mark.parametrize("manager", MANAGERS, ids=lambda manager: manager.__name__)
def test_every_manager_takes_what_the_seeds_say_first(manager: type[BaseManager]) -> None:
    names = manager.__init__.__code__.co_varnames[1:4]
    assert names == ("logger", "config", "game_state")


HALL = Observation("It rains.", Location(4, "Hall"))
WORDS = "word " * 40


@pytest.fixture
def learned(learning: Learning) -> list[PromptSection]:
    """The sections of a run's managers, of equal length, one for each title."""
    said = [manager.section(HALL) for manager in learning.managers]
    return [*{section.title: replace(section, text=WORDS) for section in said if section is not None}.values()]


def manager(budget: int, history: int = 0) -> ContextManager:
    """Six turns, the last two in a hall with a known description, with a history window of four.

    history: tokens of the game so far; 0 for the window
    """
    state = GameState(opening=WORDS, latest=HALL)
    state.room_descriptions[4], state.last_room_description_location_id = RoomDescription(WORDS, 6), 4
    for turn in range(1, 7):
        proposal = Proposal(f"act {turn}", WORDS)
        state.record(
            TurnRecord(1, turn, state.latest, (proposal,), (Verdict(accepted=True),), replace(HALL, text="Done."))
        )
    state.arrival_turn = 4
    budgets = {"agent": budget, "critic": budget, "history": history}
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


def test_prompts_lose_their_sections_in_the_written_order(learned: list[PromptSection]) -> None:
    lost, kept = lost_and_kept(
        lambda budget: [each.title for each in manager(budget).get_agent_context(HALL, learned).sections]
    )
    assert lost == [
        "How the story began",
        "Earlier games",
        "Previous Reasoning and Actions",
        "What is known of this game",
        "Lesson of earlier games",
        "The last episode, and the plan",
        "Similar turns of earlier games",
        "Map",
        "Memories of places ahead",
        "ROUTES",
        "Tried here, no visible change",
        "ROOM DESCRIPTION (turn 6):",
        "Known points",
        "Objectives",
        "Location Memory",
        "Since the arrival here",
    ]
    assert kept == ["COURSE", "Present", "Points"]
    lost, kept = lost_and_kept(
        lambda budget: titles_of(manager(budget).get_critic_context(HALL, "wait", learned).render())
    )
    assert lost == [
        "Similar turns of earlier games",
        "Map",
        "Tried here, no visible change",
        "ROOM DESCRIPTION (turn 6):",
        "Previous Reasoning and Actions",
        "Since the arrival here",
        "Location Memory",
    ]
    assert kept == ["Present", "Points", "Proposed command"]


def test_the_agents_prompt_goes_from_what_changes_rarely_to_the_present(learned: list[PromptSection]) -> None:
    weather = PromptSection("Weather", WORDS, 1)
    shown = manager(10_000).get_agent_context(
        HALL, [weather, *learned], valid_actions=("wait",), rejections=[Rejection("save", "no saving")]
    )
    assert [section.title for section in shown.sections] == [
        "Earlier games",
        "Lesson of earlier games",
        "The last episode, and the plan",
        "How the story began",
        "What is known of this game",
        "Objectives",
        "Previous Reasoning and Actions",
        "ROOM DESCRIPTION (turn 6):",
        "Similar turns of earlier games",
        "Location Memory",
        "Memories of places ahead",
        "Map",
        "Known points",
        "Since the arrival here",
        "Weather",
        "COURSE",
        "ROUTES",
        "Tried here, no visible change",
        "Present",
        "Points",
        "Not played this turn",
        "Commands that would do something now",
    ]
    whole_learned = [section for section in learned if section.title != "Tried here, no visible change"]
    whole = manager(10_000, history=1000).get_agent_context(HALL, whole_learned)
    assert [section.title for section in whole.sections] == [
        "Earlier games",
        "Lesson of earlier games",
        "The last episode, and the plan",
        "What is known of this game",
        "Objectives",
        "This game so far",
        "Similar turns of earlier games",
        "Location Memory",
        "Memories of places ahead",
        "Map",
        "Known points",
        "Since the arrival here",
        "Your latest reason",
        "COURSE",
        "ROUTES",
        "Present",
        "Points",
    ]
