"""An objective manager in an invented story, with real parts but for model and memories."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import Memory
from session.values import GameObject, Location, Observation, Proposal, TurnRecord, Verdict
from zorkgpt.llm.scripted import ScriptedLLM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zorkgpt.llm.scripted import Reply, ReplyFunction

GATE = Location(11, "Dye Works Gate")
VATS = Location(31, "Blue Vats")
LOFT = Location(44, "Drying Loft")
BANNER = GameObject(70, "grey banner")
MORDANT = GameObject(71, "jar of mordant")


@dataclass
class LentModel:
    """Stands in for the knowledge manager: its model, and the text of its file in ``workdir``."""

    model: ScriptedLLM
    workdir: Path

    def full_text(self) -> str:
        file = self.workdir / "knowledgebase.md"
        return file.read_text() if file.exists() else ""


@dataclass
class Memories:
    """Stands in for the memory manager: its two caches. ``shuffled``: whose memories are shown instead of whose."""

    memory_cache: dict[int, list[Memory]] = field(default_factory=dict)
    ephemeral_cache: dict[int, list[Memory]] = field(default_factory=dict)
    ephemeral_turns: set[int] = field(default_factory=set)
    shuffled: dict[int, int | None] = field(default_factory=dict)

    def consider(self) -> None:
        """Nothing waits to be considered."""

    def shown_location(self, location_id: int) -> int | None:
        return self.shuffled.get(location_id, location_id)


class Play:
    """An episode at the dye works: turns are recorded and learnt as the orchestrator would have it."""

    def __init__(
        self,
        workdir: Path,
        replies: Iterable[Reply] | ReplyFunction = (),
        *,
        memories: Memories | None = None,
        **options: object,
    ) -> None:
        self.config = GameConfiguration.model_validate({"zork_game_workdir": workdir, **options})
        self.state = GameState()
        self.llm = ScriptedLLM(replies)
        logger = structlog.get_logger()
        self.map = MapManager(logger, self.config, self.state)
        self.manager = ObjectiveManager(
            logger, self.config, self.state, LentModel(self.llm, workdir), self.map, memories
        )
        self.now = Observation("The gate creaks.", GATE, (), (), score=0, world_hash="00000000")
        self.state.begin(self.now)

    def turn(self, action: str = "wait", text: str = "Time passes.", **after: object) -> TurnRecord:
        """The command was played and changed what ``after`` names; nothing was asked of the model."""
        before, self.now = self.now, replace(self.now, **{"text": text, "died": False, **after})  # type: ignore[arg-type]  # fields by name
        record = TurnRecord(
            episode=1,
            turn=self.state.turn_count + 1,
            before=before,
            proposals=(Proposal(action, f"because of {action}"),),
            verdicts=(Verdict(accepted=True),),
            after=self.now,
        )
        self.state.record(record)
        self.map.learn(record)
        self.manager.learn(record)
        return record

    def wait_until(self, turn: int) -> None:
        """Turns without an event were played up to and with that one, updates included."""
        while self.state.turn_count < turn:
            self.turn()
            self.manager.process_periodic_update()

    @property
    def texts(self) -> list[str]:
        """The texts of the open objectives."""
        return [objective.text for objective in self.manager.objectives if objective.is_active]

    @property
    def metrics(self) -> dict[str, int | float]:
        """The manager's figures."""
        return self.manager.get_status()["metrics"]


def found(*texts: str, **others: object) -> dict[str, object]:
    """An answer that proposes these objectives and says nothing else unless told so."""
    return {"objectives": [{"text": text} for text in texts], **others}
