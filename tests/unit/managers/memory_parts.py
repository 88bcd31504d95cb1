"""A memory manager at the invented dye works, with real parts but for the model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import structlog

from managers.memory.outcome import ActionOutcome, ZMachineContext, as_record
from managers.simple_memory_manager import SimpleMemoryManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import Memory
from session.values import Location
from tests.fixtures.dye_works import VATS, Play
from tests.fixtures.scripted_llm import Reply, ReplyFunction
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

NOTHING: dict[str, object] = {"memories": []}
LONG = "The vats stand in two rows, and blue runs down the side of each of them into a gutter in the stone floor."


def silent(*_: object) -> Reply:
    """A model that remembers nothing."""
    return NOTHING


def memory(title: str = "Mordant first", persistence: str = "permanent", **fields: object) -> Memory:
    """A memory whose other fields are the usual ones unless named."""
    usual = {"category": "NOTE", "episode": 1, "turns": "12", "score_change": 0, "text": f"About {title}."}
    return Memory(title=title, persistence=persistence, **{**usual, **fields})  # type: ignore[arg-type]  # fields by name


def learned(title: str = "Mordant first", persistence: str = "permanent", **fields: object) -> dict[str, object]:
    """One memory of an answer."""
    return {
        "should_remember": True,
        "category": "NOTE",
        "memory_title": title,
        "memory_text": f"About {title}.",
        "persistence": persistence,
        **fields,
    }


def manager_in(workdir: Path, *remembered: Memory, **options: object) -> SimpleMemoryManager:
    """A manager without a model, which remembers these at the vats."""
    config = GameConfiguration.model_validate({"zork_game_workdir": workdir, **options})
    manager = SimpleMemoryManager(structlog.get_logger(), config, GameState())
    for each in remembered:
        manager.add_memory(VATS.num, VATS.name, each)
    return manager


def titles(cache: dict[int, list[Memory]], location: Location = VATS) -> list[str]:
    """The titles at a location that have not been given up, in their order."""
    return [kept.title for kept in cache.get(location.num, []) if kept.status != "SUPERSEDED"]


def outcome(action: str, response: str, turn: int = 3, **context: Any) -> ActionOutcome:
    """The outcome of a command at the vats. ``context``: as for ``record_action_outcome``."""
    facts = cast("ZMachineContext", context)
    record = as_record(VATS, 1, turn, action, response, facts)
    return ActionOutcome(record, VATS, MovementAnalyzer(), first_visit=facts.get("first_visit", False))


class MemoryPlay(Play[SimpleMemoryManager]):
    """Episodes that a memory manager learns from, with a question about each visit unless an option says more."""

    def __init__(self, workdir: Path, replies: Iterable[Reply] | ReplyFunction = (), **options: object) -> None:
        options = {"simple_memory": {"visits_in_question": 1}, **options}
        super().__init__(workdir, replies, **options)  # type: ignore[arg-type]  # options by name
        self.manager = SimpleMemoryManager(structlog.get_logger(), self.config, self.state, self.llm)
        self.learners = (self.manager,)


def play_at_the_vats(
    workdir: Path, answer: dict[str, object] = NOTHING, *, arrival: str = "Blue Vats", **options: object
) -> MemoryPlay:
    """The player has come to the vats in turn 1 and looked about in turn 2; all of that is considered.

    answer: to all that comes later
    """
    answers = [NOTHING]
    play = MemoryPlay(workdir, lambda *_: answers[-1], **options)
    play.turn("north", arrival, location=VATS)
    play.turn("wait")
    play.manager.end()
    play.llm.calls.clear()
    answers.append(answer)
    return play
