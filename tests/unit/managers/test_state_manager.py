"""``current_state.json`` shows the present and never blocks play."""

from __future__ import annotations

import json
from pathlib import Path

import structlog
from structlog.testing import capture_logs

from managers.base_manager import BaseManager
from managers.circling import CirclingDetector
from managers.map_manager import MapManager
from managers.state_manager import StateManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import GameObject, Location, Observation


def manager_in(workdir: Path, state: GameState | None = None) -> StateManager:
    state = state or GameState()
    config = GameConfiguration(zork_game_workdir=workdir)
    logger = structlog.get_logger()
    shown: list[BaseManager] = [MapManager(logger, config, state), CirclingDetector(logger, config, state)]
    manager = StateManager(logger, config, state, run="20260131-184500-1a2b", managers=lambda: shown)
    shown.append(manager)
    return manager


def test_the_file_shows_the_present_and_how_every_manager_stands(tmp_path: Path) -> None:
    state = GameState(episode=3, turn_count=6)
    manager = manager_in(tmp_path, state)
    manager.export_current_state()
    unknown = json.loads((tmp_path / "current_state.json").read_text())
    assert (unknown["turn"], unknown["location"], unknown["score"]) == (6, None, None)
    state.begin(Observation("", Location(31, "Blue Vats"), (GameObject(70, "grey banner"),), score=5))
    state.turn_count = 7
    manager.export_current_state()
    shown = json.loads((tmp_path / "current_state.json").read_text())
    assert [file.name for file in tmp_path.iterdir()] == ["current_state.json"]
    assert shown.pop("timestamp")
    statuses = shown.pop("managers")
    assert shown == {
        "run": "20260131-184500-1a2b",
        "episode": 3,
        "turn": 7,
        "location": {"id": 31, "name": "Blue Vats"},
        "score": 5,
        "inventory": ["grey banner"],
        "game_over": False,
        "present": {"objective": [], "memory": [], "route": []},
    }
    assert list(statuses) == ["MapManager", "CirclingDetector", "StateManager"]
    assert statuses["MapManager"]["metrics"] == {"rooms": 0, "connections": 0, "pruned_exits": 0}


def test_a_file_that_cannot_be_written_is_one_warning_an_episode_and_play_goes_on(tmp_path: Path) -> None:
    (tmp_path / "current_state.json").mkdir()
    manager = manager_in(tmp_path)
    with capture_logs() as logs:
        manager.export_current_state()
        manager.export_current_state()
        manager.reset(GameState(episode=2))
        manager.export_current_state()
    assert [(log["log_level"], log["episode"]) for log in logs] == [("warning", 1), ("warning", 2)]
    assert manager.get_status()["metrics"] == {"failures": 3}
