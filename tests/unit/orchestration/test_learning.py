"""The managers of a run: built with what the run has, in the order of their dependencies, and reset alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from pydantic import TypeAdapter

from managers.base_manager import BaseManager, ManagerParts, ManagerStatus
from managers.context_manager import ContextManager
from managers.episode_synthesizer import EpisodeSynthesizer
from managers.knowledge_manager import KnowledgeManager
from managers.lexicon_manager import LexiconManager
from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from managers.route_manager import RouteManager
from managers.simple_memory_manager import SimpleMemoryManager
from managers.state_manager import StateManager
from orchestration.learning import MANAGERS, Learning, build_learning
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import TokenCounter
from session.values import Observation
from tests.fixtures.scripted_game import SCRIPTED_STORY
from tests.unit.zorkgpt.mapping.turns import walk
from tests.unit.zorkgpt.players.dye_works import vocabulary
from zorkgpt.llm.stand_ins import ScriptedLLM

STATUS = TypeAdapter(ManagerStatus)
MODEL, TOKENS = ScriptedLLM(), TokenCounter()


@pytest.fixture
def parts(tmp_path: Path) -> ManagerParts:
    """In a story with a direction of its own."""
    story = replace(SCRIPTED_STORY, directions=("hubwards",))
    config = GameConfiguration(zork_game_workdir=tmp_path)
    return ManagerParts(structlog.get_logger(), config, GameState(), MODEL, story, vocabulary(), TOKENS)


@pytest.fixture
def learning(parts: ManagerParts) -> Learning:
    return build_learning(parts)


def test_all_count_tokens_alike_and_ask_the_runs_model(learning: Learning) -> None:
    counters = [
        learning.get(ContextManager).tokens,
        learning.get(SimpleMemoryManager).tokens,
        learning.get(KnowledgeManager).tokens,
        learning.get(ObjectiveManager).tokens,
        learning.get(EpisodeSynthesizer).tokens,
    ]
    assert all(counter is TOKENS for counter in counters)
    assert learning.get(SimpleMemoryManager).llm_client is MODEL
    assert learning.get(KnowledgeManager).model is MODEL


def test_the_storys_own_direction_is_one(learning: Learning) -> None:
    for manager in (learning.get(MapManager), learning.get(LexiconManager)):
        manager.learn(walk(1, "hubwards", 1))
        manager.learn(walk(1, "widdershins", 1))
    failures = learning.get(MapManager).game_map.exit_failure_counts
    assert {edge.exit for edge in failures} == {"hubwards"}
    assert "hubwards" not in learning.get(LexiconManager).lexicon.forms
    memories = learning.get(SimpleMemoryManager)
    memories.record_action_outcome(4, "Vats", "hubwards", "Loft", {"location_changed": True, "location_after": 7})
    assert memories.get_status()["metrics"]["synthesis_calls"] == 0


@pytest.mark.parametrize(
    ("needed", "by"),
    [
        (RouteManager, SimpleMemoryManager),
        (MapManager, RouteManager),
        (MapManager, KnowledgeManager),
        (SimpleMemoryManager, KnowledgeManager),
        (KnowledgeManager, ObjectiveManager),
        (LexiconManager, ObjectiveManager),
        (StateManager, EpisodeSynthesizer),
    ],
)
def test_a_manager_that_is_listed_too_late_is_an_error_when_the_run_is_built(
    parts: ManagerParts, needed: type[BaseManager], by: type[BaseManager]
) -> None:
    kinds = [kind for kind in MANAGERS if kind is not needed]
    kinds.insert(kinds.index(by) + 1, needed)
    with pytest.raises(LookupError, match=f"{needed.__name__} is needed before it is made"):
        build_learning(parts, kinds)


def test_one_that_the_configuration_leaves_out_is_no_error(parts: ManagerParts) -> None:
    config = parts.config.model_copy(update={"routes": parts.config.routes.model_copy(update={"enabled": False})})
    assert build_learning(replace(parts, config=config)).find(RouteManager) is None


def test_every_manager_is_given_those_that_take_part_in_the_run(learning: Learning) -> None:
    map_manager, memory = learning.get(MapManager), learning.get(SimpleMemoryManager)
    knowledge, objectives = learning.get(KnowledgeManager), learning.get(ObjectiveManager)
    episodes = learning.get(EpisodeSynthesizer)
    assert (knowledge.map_manager, knowledge.memory_manager) == (map_manager, memory)
    assert (objectives.map_manager, objectives.memory_manager) == (map_manager, memory)
    assert [objectives.adaptive_knowledge_manager, episodes.knowledge_manager] == [knowledge, knowledge]
    assert episodes.state_manager is learning.get(StateManager)


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
    learning.get(StateManager).export_current_state()
    text = (tmp_path / "current_state.json").read_text()
    assert [kind.__name__ for kind in MANAGERS if f'"{kind.__name__}": ' not in text] == []


@pytest.mark.parametrize("manager", MANAGERS, ids=lambda manager: manager.__name__)
def test_every_manager_takes_what_the_seeds_say_first(manager: type[BaseManager]) -> None:
    names = manager.__init__.__code__.co_varnames[1:4]
    assert names == ("logger", "config", "game_state")
