"""A memory manager at the invented dye works, with real parts but for the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from managers.simple_memory_manager import SimpleMemoryManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import Memory
from session.values import GameObject, Location, Observation, Proposal, TurnRecord, Verdict
from zorkgpt.llm.scripted import ScriptedLLM

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from zorkgpt.llm.scripted import Reply, ReplyFunction

GATE = Location(11, "Dye Works Gate")
VATS = Location(31, "Blue Vats")
LOFT = Location(44, "Drying Loft")
MORDANT = GameObject(71, "jar of mordant")


def memory(title: str = "Mordant first", persistence: str = "permanent", **fields: object) -> Memory:
    """A memory whose other fields are the usual ones unless named."""
    usual = {"category": "NOTE", "episode": 1, "turns": "12", "score_change": 0, "text": f"About {title}."}
    return Memory(title=title, persistence=persistence, **{**usual, **fields})  # type: ignore[arg-type]  # fields by name


def learnt(title: str = "Mordant first", persistence: str = "permanent", **fields: object) -> dict[str, object]:
    """One memory of an answer."""
    return {
        "should_remember": True,
        "category": "NOTE",
        "memory_title": title,
        "memory_text": f"About {title}.",
        "persistence": persistence,
        **fields,
    }


def configuration(workdir: Path, **options: object) -> GameConfiguration:
    """The usual options in that work folder, but for those named."""
    return GameConfiguration.model_validate({"zork_game_workdir": workdir, **options})


def manager_in(workdir: Path, **options: object) -> SimpleMemoryManager:
    """A manager without a model."""
    return SimpleMemoryManager(structlog.get_logger(), configuration(workdir, **options), GameState())


def titles(cache: dict[int, list[Memory]], location: Location = VATS) -> list[str]:
    """The titles at a location that have not been given up, in their order."""
    return [kept.title for kept in cache.get(location.num, []) if kept.status != "SUPERSEDED"]


class Play:
    """Episodes at the dye works: turns are recorded and learnt as the orchestrator would have it."""

    def __init__(self, workdir: Path, replies: Iterable[Reply] | ReplyFunction = (), **options: object) -> None:
        self.llm = ScriptedLLM(replies)
        self.state = GameState()
        self.manager = SimpleMemoryManager(
            structlog.get_logger(), configuration(workdir, **options), self.state, self.llm
        )
        self.now = Observation("The gate creaks.", GATE, (), (), score=0, world_hash="0")
        self.state.begin(self.now)

    def turn(self, action: str = "wait", text: str = "Time passes.", **after: object) -> TurnRecord:
        """The command was played and changed what ``after`` names."""
        before, self.now = self.now, replace(self.now, **{"text": text, "died": False, **after})  # type: ignore[arg-type]  # fields by name
        record = TurnRecord(
            episode=self.state.episode,
            turn=self.state.turn_count + 1,
            before=before,
            proposals=(Proposal(action, f"because of {action}"),),
            verdicts=(Verdict(accepted=True),),
            after=self.now,
        )
        self.state.record(record)
        self.manager.learn(record)
        return record

    def next_episode(self, opening: Observation | None = None) -> None:
        """The story stands at its opening again."""
        self.state = GameState(episode=self.state.episode + 1)
        self.now = opening or Observation("The gate creaks.", GATE, (), (), score=0, world_hash="0")
        self.state.begin(self.now)
        self.manager.reset(self.state)

    @property
    def prompts(self) -> list[str]:
        """The part of every prompt that changes."""
        return [call.prompt.user for call in self.llm.calls]

    @property
    def metrics(self) -> dict[str, int | float]:
        """The manager's figures."""
        return self.manager.get_status()["metrics"]
