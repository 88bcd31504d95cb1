"""The managers of a run. To add one, put its class into :data:`MANAGERS`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from managers.circling import CirclingDetector
from managers.context_manager import ContextManager
from managers.episode_synthesizer import EpisodeSynthesizer
from managers.knowledge_manager import KnowledgeManager
from managers.lexicon_manager import LexiconManager
from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from managers.route_manager import RouteManager
from managers.simple_memory_manager import SimpleMemoryManager
from managers.state_manager import StateManager
from managers.tried_commands import TriedCommands
from session.files.run_folders import SharedFiles

if TYPE_CHECKING:
    from managers.base_manager import BaseManager, ManagerParts
    from session.game_configuration import GameConfiguration

MANAGERS: list[type[BaseManager]] = [
    ContextManager,
    MapManager,
    RouteManager,
    LexiconManager,
    SimpleMemoryManager,
    TriedCommands,
    CirclingDetector,
    KnowledgeManager,
    ObjectiveManager,
    StateManager,
    EpisodeSynthesizer,
]
"""Every manager, each behind those that it needs; in this order they are told of episodes and turns."""


def build_managers(parts: ManagerParts) -> tuple[BaseManager, ...]:
    """Make the managers that take part in a run."""
    for kind in MANAGERS:
        manager = kind.build(parts)
        if manager is not None:
            parts.managers.append(manager)
    parts.get(StateManager).show(parts.managers)
    return tuple(parts.managers)


def shared_files(config: GameConfiguration) -> SharedFiles:
    """Return the files of the work folder in which managers keep what they learn."""
    return SharedFiles(config.zork_game_workdir, [file for kind in MANAGERS for file in kind.shared_files(config)])
