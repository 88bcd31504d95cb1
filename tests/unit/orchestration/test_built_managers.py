"""Every manager of a run is made with what the run has: its model, its count of tokens, the words of its story."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from managers.base_manager import ManagerParts
from managers.context_manager import ContextManager
from managers.episode_synthesizer import EpisodeSynthesizer
from managers.knowledge_manager import KnowledgeManager
from managers.lexicon_manager import LexiconManager
from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from managers.simple_memory_manager import SimpleMemoryManager
from orchestration.learning import Learning, build_learning
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import TokenCounter
from tests.fixtures.scripted_game import SCRIPTED_STORY
from tests.unit.zorkgpt.mapping.turns import walk
from tests.unit.zorkgpt.players.dye_works import vocabulary
from zorkgpt.llm.stand_ins import ScriptedLLM

MODEL, TOKENS = ScriptedLLM(), TokenCounter()


@pytest.fixture
def learning(tmp_path: Path) -> Learning:
    """In a story with a direction of its own."""
    config = GameConfiguration(zork_game_workdir=tmp_path)
    story = replace(SCRIPTED_STORY, directions=("hubwards",))
    return build_learning(ManagerParts(structlog.get_logger(), config, GameState(), MODEL, story, vocabulary(), TOKENS))


def test_all_count_tokens_alike(learning: Learning) -> None:
    counters = [
        learning.get(ContextManager).tokens,
        learning.get(SimpleMemoryManager).tokens,
        learning.get(KnowledgeManager).tokens,
        learning.get(ObjectiveManager).tokens,
        learning.get(EpisodeSynthesizer).tokens,
    ]
    assert all(counter is TOKENS for counter in counters)


def test_all_ask_the_runs_model(learning: Learning) -> None:
    assert learning.get(SimpleMemoryManager).llm_client is MODEL
    assert learning.get(KnowledgeManager).model is MODEL


def test_the_storys_own_direction_is_one(learning: Learning) -> None:
    for manager in (learning.get(MapManager), learning.get(LexiconManager)):
        manager.learn(walk(1, "hubwards", 1))
        manager.learn(walk(1, "widdershins", 1))
    failures = learning.get(MapManager).game_map.exit_failure_counts
    assert {edge.exit for edge in failures} == {"hubwards"}
    assert "hubwards" not in learning.get(LexiconManager).lexicon.forms


def test_a_plain_walk_in_the_storys_own_direction_is_not_worth_a_question(learning: Learning) -> None:
    memories = learning.get(SimpleMemoryManager)
    memories.record_action_outcome(4, "Vats", "hubwards", "Loft", {"location_changed": True, "location_after": 7})
    assert memories.get_status()["metrics"]["synthesis_calls"] == 0
