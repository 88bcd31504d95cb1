"""A knowledge manager in an invented story, with real parts but for model and memories."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import structlog

from managers.course_manager import CourseManager
from managers.knowledge_manager import KnowledgeManager
from managers.map_manager import MapManager
from managers.route_manager import RouteManager
from session.memory import Memory
from tests.fixtures.dye_works import GATE, Play
from tests.fixtures.scripted_llm import Reply, ReplyFunction
from tests.unit.managers.objective_parts import Memories


class KnowledgePlay(Play[KnowledgeManager]):
    """An episode that a knowledge manager learns from, after map and routes. ``written``: the file at its start."""

    def __init__(
        self,
        workdir: Path,
        replies: Iterable[Reply] | ReplyFunction = (),
        *,
        episode: int = 1,
        written: str = "",
        **options: object,
    ) -> None:
        super().__init__(workdir, replies, episode=episode, **{"knowledge_update_interval": 10, **options})
        self.file = workdir / "knowledgebase.md"
        self.archive = workdir / "knowledgebase.archive.md"
        if written:
            self.file.write_bytes(written.encode())
        self.memories = Memories()
        logger = structlog.get_logger()
        self.map = MapManager(logger, self.config, self.state)
        self.routes = RouteManager(logger, self.config, self.state, self.map)
        self.courses = CourseManager(logger, self.config, self.state, self.map, routes=self.routes)
        self.manager = KnowledgeManager(
            logger,
            self.config,
            self.state,
            self.llm,
            memory_manager=self.memories,
            map_manager=self.map,
            courses=self.courses,
        )
        self.learners = (self.map, self.courses, self.routes, self.manager)

    def play(self, turns: int) -> None:
        """That many turns, of which the fifth wins a point and each may cause an update."""
        for _ in range(turns):
            won = int(self.state.turn_count % 10 == 4)
            self.turn(score=(self.now.score or 0) + won)
            self.manager.process_periodic_update()

    def remember(
        self, turns: str, persistence: str = "ephemeral", title: str = "Banner was dropped", **fields: Any
    ) -> None:
        """A memory of these turns, at the gate."""
        memory = Memory("NOTE", title, self.state.episode, turns, None, "It lies here.", persistence, **fields)
        cache = self.memories.ephemeral_cache if persistence == "ephemeral" else self.memories.memory_cache
        cache.setdefault(GATE.num, []).append(memory)

    @property
    def known(self) -> list[str]:
        """The lines of the file, without their titles."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return [line for line in lines if line and not line.startswith("#")]


def line(
    text: str, *turns: object, section: str = "PUZZLE SOLUTIONS", replaces: Iterable[int] = ()
) -> dict[str, object]:
    """A line of an answer."""
    return {"section": section, "text": text, "turns": list(turns), "replaces": list(replaces)}


def answer(*lines: dict[str, object]) -> dict[str, object]:
    """An answer of these lines."""
    return {"lines": list(lines)}
