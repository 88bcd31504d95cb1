"""The public names that the specification of the parts gives are there, with the parameters that it gives."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import structlog

from managers.context_manager import ContextManager
from managers.map_manager import MapManager
from managers.simple_memory_manager import SimpleMemoryManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.mapping.map_graph import MapGraph

MEMORIES = "managers.simple_memory_manager"
SIGNATURES = {
    f"{MEMORIES}:SimpleMemoryManager": "logger config game_state llm_client",
    f"{MEMORIES}:SimpleMemoryManager.add_memory": "location_id location_name memory",
    f"{MEMORIES}:SimpleMemoryManager.supersede_memory": "location_id location_name old_memory_title new_memory",
    f"{MEMORIES}:SimpleMemoryManager.invalidate_memory": "location_id memory_title reason turn",
    f"{MEMORIES}:SimpleMemoryManager.invalidate_memories": "location_id memory_titles reason turn",
    f"{MEMORIES}:SimpleMemoryManager.get_location_memory": "location_id",
    f"{MEMORIES}:SimpleMemoryManager.get_ephemeral_count": "location_id",
    f"{MEMORIES}:SimpleMemoryManager.get_persistent_count": "location_id",
    f"{MEMORIES}:SimpleMemoryManager.get_memory_breakdown": "location_id",
    f"{MEMORIES}:SimpleMemoryManager.reset_episode": "",
    f"{MEMORIES}:SimpleMemoryManager.record_action_outcome": (
        "location_id location_name action response z_machine_context"
    ),
    f"{MEMORIES}:SimpleMemoryManager.get_status": "",
    f"{MEMORIES}:Memory": (
        "category title episode turns score_change text persistence status superseded_by superseded_at_turn "
        "invalidation_reason"
    ),
    f"{MEMORIES}:MemorySynthesisResponse": (
        "should_remember category memory_title memory_text persistence status supersedes_memory_titles "
        "invalidate_memory_titles invalidation_reason reasoning"
    ),
    f"{MEMORIES}:MemoryStatusType": None,
    f"{MEMORIES}:MemoryStatus.ACTIVE": None,
    f"{MEMORIES}:MemoryStatus.TENTATIVE": None,
    f"{MEMORIES}:MemoryStatus.SUPERSEDED": None,
    f"{MEMORIES}:INVALIDATION_MARKER": None,
    "managers.base_manager:BaseManager.reset": "",
    "managers.base_manager:BaseManager.get_status": "",
    "managers.base_manager:BaseManager.log_info": "",
    "managers.base_manager:BaseManager.log_warning": "",
    "managers.base_manager:BaseManager.log_error": "",
    "managers.context_manager:ContextManager": "logger config game_state",
    "managers.context_manager:ContextManager.add_reasoning": "reasoning action",
    "managers.context_manager:ContextManager.get_recent_reasoning_formatted": "num_turns",
    "managers.context_manager:ContextManager.get_agent_context": "",
    "managers.context_manager:ContextManager.get_critic_context": "",
    "managers.episode_synthesizer:EpisodeSynthesizer": "logger config game_state",
    "managers.episode_synthesizer:EpisodeSynthesizer.synthesize_inter_episode_wisdom": "",
    "managers.knowledge_manager:KnowledgeManager": "logger config game_state",
    "managers.map_manager:MapManager": "logger config game_state",
    "managers.map_manager:MapManager.save_map_state": "",
    "managers.objective_manager:ObjectiveManager": (
        "logger config game_state adaptive_knowledge_manager map_manager memory_manager"
    ),
    "managers.objective_manager:ObjectiveManager.process_periodic_update": "",
    "managers.objective_manager:ObjectiveManager.get_status": "",
    "managers.objective_manager:ObjectiveManager._get_full_knowledge": "",
    "managers.objective_manager:ObjectiveManager._get_memories_with_adjacent": "current_location_id",
    "managers.objective_manager:ObjectiveManager._get_adjacent_room_ids": "location_id max_depth",
    "managers.objective_manager:ObjectiveManager._get_map_context": "",
    "managers.objective_manager:ObjectiveManager._get_routing_summary": "current_location_id",
    "managers.objective_manager:ObjectiveManager._format_memories": "memories",
    "managers.state_manager:StateManager": "logger config game_state",
    "zorkgpt.mapping.map_graph:Room": "id name",
    "zorkgpt.mapping.map_graph:MapGraph.add_room": "",
    "zorkgpt.mapping.map_graph:MapGraph.add_connection": "confidence",
    "zorkgpt.mapping.map_graph:MapGraph.to_dict": "",
    "zorkgpt.mapping.map_graph:MapGraph.from_dict": "",
    "zorkgpt.mapping.map_graph:MapGraph.save_to_json": "",
    "zorkgpt.mapping.map_graph:MapGraph.load_from_json": "",
    "zorkgpt.mapping.map_graph:MapGraph.render_mermaid": "",
    "game_interface.core.jericho_interface:JerichoInterface": "rom_path",
    "game_interface.core.jericho_interface:JerichoInterface.start": "",
    "game_interface.core.jericho_interface:JerichoInterface.send_command": "",
    "game_interface.core.jericho_interface:JerichoInterface.get_location_structured": "",
    "game_interface.core.jericho_interface:JerichoInterface.get_inventory_structured": "",
    "game_interface.core.jericho_interface:JerichoInterface.get_visible_objects_in_location": "",
    "game_interface.core.jericho_interface:JerichoInterface.get_object_attributes": "obj",
    "game_interface.core.jericho_interface:JerichoInterface.get_valid_verbs": "",
    "game_interface.core.jericho_interface:JerichoInterface.get_score": "",
    "session.game_configuration:GameConfiguration.get_memory_history_window": "",
    "session.game_configuration:GameConfiguration.from_toml": "path",
    "tests.fixtures.walkthrough:get_zork1_walkthrough": "",
    "tests.fixtures.walkthrough:get_walkthrough_slice": "start end",
    "tests.fixtures.walkthrough:get_walkthrough_until_lamp": "",
    "tests.fixtures.walkthrough:get_walkthrough_dark_sequence": "",
    "tests.fixtures.walkthrough:replay_walkthrough": "env actions",
}
"""Names by module, and the parameters that callers may give by name; ``None`` for what is not called."""

ATTRIBUTES: dict[type[object], str] = {
    GameState: (
        "episode_id turn_count current_room_id current_room_name_for_map current_inventory previous_zork_score is_dead "
        "game_over action_history action_reasoning_history memory_log_history visited_locations last_room_description "
        "last_room_description_turn last_room_description_location_id"
    ),
    GameConfiguration: (
        "max_turns_per_episode zork_game_workdir knowledge_file map_state_file agent_model critic_model info_ext_model "
        "analysis_model memory_model agent_sampling critic_sampling info_ext_sampling analysis_sampling "
        "memory_sampling knowledge_update_interval objective_update_interval enable_enhanced_objectives "
        "room_description_age_window show_persistence_markers debug_ephemeral"
    ),
    SimpleMemoryManager: "logger config game_state llm_client memory_cache ephemeral_cache",
    MapManager: "logger config game_state game_map",
    ContextManager: "logger config game_state",
    MapGraph: "rooms room_names connections",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_what_the_specification_names_is_there_with_its_parameters(name: str) -> None:
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    parameters = SIGNATURES[name]
    if parameters is not None:
        assert {*parameters.split()} <= {*inspect.signature(found).parameters}


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_an_instance_has_the_attributes_that_the_specification_names(kind: Any, tmp_path: Path) -> None:
    config = GameConfiguration(zork_game_workdir=tmp_path)
    made = {GameState: GameState, GameConfiguration: GameConfiguration, MapGraph: MapGraph}.get(kind)
    one = made() if made else kind(structlog.get_logger(), config, GameState())
    assert [name for name in ATTRIBUTES[kind].split() if not hasattr(one, name)] == []
