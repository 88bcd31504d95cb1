"""The managers of a run: made in the order of their dependencies, reset alike, with a status each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest
import structlog
from pydantic import TypeAdapter

from managers.base_manager import BaseManager, ManagerParts, ManagerStatus
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
from tests.unit.zorkgpt.players.dye_works import vocabulary
from zorkgpt.llm.stand_ins import ScriptedLLM

STATUS = TypeAdapter(ManagerStatus)


@contextmanager
def managers_made() -> Iterator[list[BaseManager]]:
    """Every manager, in the order in which their making begins, as the interpreter sees it."""
    made: list[BaseManager] = []

    def see(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code is BaseManager.__init__.__code__:
            made.append(frame.f_locals["self"])

    sys.setprofile(see)
    try:
        yield made
    finally:
        sys.setprofile(None)


def parts_in(workdir: Path) -> ManagerParts:
    return ManagerParts(
        structlog.get_logger(),
        GameConfiguration(zork_game_workdir=workdir),
        GameState(),
        ScriptedLLM(),
        SCRIPTED_STORY,
        vocabulary(),
        TokenCounter(),
    )


def learning_in(workdir: Path) -> Learning:
    return build_learning(parts_in(workdir))


def managers_of(workdir: Path) -> list[BaseManager]:
    with managers_made() as made:
        learning_in(workdir)
    return made


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
    tmp_path: Path, needed: type[BaseManager], by: type[BaseManager]
) -> None:
    kinds = [kind for kind in MANAGERS if kind is not needed]
    kinds.insert(kinds.index(by) + 1, needed)
    with pytest.raises(LookupError, match=f"{needed.__name__} is needed before it is made"):
        build_learning(parts_in(tmp_path), kinds)


def test_one_that_the_configuration_leaves_out_is_no_error(tmp_path: Path) -> None:
    parts = replace(parts_in(tmp_path), config=GameConfiguration(zork_game_workdir=tmp_path, routes={"enabled": False}))
    assert build_learning(parts).find(RouteManager) is None


def test_every_manager_is_given_those_that_take_part_in_the_run(tmp_path: Path) -> None:
    learning = learning_in(tmp_path)
    map_manager, memory = learning.get(MapManager), learning.get(SimpleMemoryManager)
    knowledge, objectives = learning.get(KnowledgeManager), learning.get(ObjectiveManager)
    episodes = learning.get(EpisodeSynthesizer)
    assert (knowledge.map_manager, knowledge.memory_manager) == (map_manager, memory)
    assert (objectives.map_manager, objectives.memory_manager) == (map_manager, memory)
    assert [objectives.adaptive_knowledge_manager, episodes.knowledge_manager] == [knowledge, knowledge]
    assert episodes.state_manager is learning.get(StateManager)


def test_every_manager_that_is_made_takes_part(tmp_path: Path) -> None:
    with managers_made() as made:
        learning = learning_in(tmp_path)
    assert {id(manager) for manager in learning.managers} == {id(manager) for manager in made}


def test_a_new_episode_is_every_managers(tmp_path: Path) -> None:
    with managers_made() as made:
        learning = learning_in(tmp_path)
    state = GameState(episode=2)
    state.begin(Observation("You stand among the vats."))
    learning.begin(state)
    assert [type(manager).__name__ for manager in made if manager.game_state is not state] == []


def test_every_manager_has_a_status_of_the_one_shape_and_a_type_of_its_own(tmp_path: Path) -> None:
    statuses = [manager.get_status() for manager in managers_of(tmp_path)]
    assert [STATUS.validate_python(status, strict=True) for status in statuses] == statuses
    assert len({status["type"] for status in statuses}) == len(statuses)


def test_the_current_state_shows_every_manager(tmp_path: Path) -> None:
    with managers_made() as made:
        learning = learning_in(tmp_path)
    learning.get(StateManager).export_current_state()
    text = (tmp_path / "current_state.json").read_text()
    assert [type(manager).__name__ for manager in made if f'"{type(manager).__name__}": ' not in text] == []


OURS = [manager for manager in BaseManager.__subclasses__() if manager.__module__.startswith("managers.")]


@pytest.mark.parametrize("manager", OURS, ids=lambda manager: manager.__name__)
def test_every_manager_takes_what_the_seeds_say_first(manager: type[BaseManager]) -> None:
    names = manager.__init__.__code__.co_varnames[1:4]
    assert names == ("logger", "config", "game_state")
