"""An objective manager in an invented story, with real parts but for model and memories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from managers.knowledge_manager import KnowledgeManager
from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from session.memory import Memory
from tests.fixtures.dye_works import Play
from tests.fixtures.scripted_llm import Reply, ReplyFunction


@dataclass
class Memories:
    """Stands in for the memory manager: its two caches. ``shuffled``: location ids whose memories are swapped."""

    memory_cache: dict[int, list[Memory]] = field(default_factory=dict)
    ephemeral_cache: dict[int, list[Memory]] = field(default_factory=dict)
    shuffled: dict[int, int | None] = field(default_factory=dict)

    def consider(self) -> None:
        """Nothing waits to be considered."""

    def shown_location(self, location_id: int) -> int | None:
        return self.shuffled.get(location_id, location_id)


class ObjectivePlay(Play[ObjectiveManager]):
    """An episode that an objective manager learns from, after the map."""

    def __init__(
        self,
        workdir: Path,
        replies: Iterable[Reply] | ReplyFunction = (),
        *,
        memories: Memories | None = None,
        **options: object,
    ) -> None:
        super().__init__(workdir, replies, **options)  # type: ignore[arg-type]  # options by name
        logger = structlog.get_logger()
        self.map = MapManager(logger, self.config, self.state, aims=lambda: self.state.notes)
        self.knowledge = KnowledgeManager(logger, self.config, self.state, self.llm)
        self.manager = ObjectiveManager(logger, self.config, self.state, self.knowledge, self.map, memories)
        self.learners = (self.map, self.manager)

    def wait_until(self, turn: int) -> None:
        """Turns without an event were played up to and with that one, updates included."""
        while self.state.turn_count < turn:
            self.turn()
            self.manager.process_periodic_update()

    @property
    def texts(self) -> list[str]:
        """The texts of the open objectives."""
        return [objective.text for objective in self.manager.active]


def found(*texts: str, **others: object) -> dict[str, object]:
    """An answer that proposes these objectives, with nothing else by default."""
    return {"objectives": [{"text": text} for text in texts], **others}
