"""A synthesizer of episodes at the invented dye works, with real parts but for model, knowledge and state export."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from managers.episode_synthesizer import EpisodeSynthesizer
from managers.episodes import EpisodeSummary
from managers.knowledge_manager import KnowledgeManager
from managers.state_manager import StateManager
from session.events import EpisodeEnd
from session.knowledge import INSIGHTS, KnowledgeEntry, KnowledgeLine
from tests.fixtures.dye_works import GATE, OPENING, VATS, Play
from tests.fixtures.scripted_llm import Reply, ReplyFunction, ScriptedLLM


@dataclass
class Knowledge(KnowledgeManager):
    """Stands in for the knowledge manager: it knows what was added to it; ``shown`` is in prompts."""

    model: ScriptedLLM
    lines: dict[str, list[KnowledgeLine]] = field(default_factory=dict)
    insight_lines: dict[str, tuple[KnowledgeLine, ...]] = field(default_factory=dict)
    shown: str = ""
    planned: tuple[str, ...] = ()
    commands: str = ""

    def plan(self) -> tuple[str, ...]:
        return self.planned

    def commands_line(self) -> str:
        return self.commands

    def replace_commands(self, line: str) -> None:
        self.commands = line

    def planned_commands(self) -> tuple[str, ...]:
        return ()

    def replace_plan(self, lines: Sequence[str]) -> None:
        self.planned = tuple(lines)

    def text(self, tokens: int, *, but: Collection[str] = ()) -> str:
        del but
        return self.shown[: tokens * 4]

    def insights(self) -> list[KnowledgeEntry]:
        return [KnowledgeEntry(title, line) for title in INSIGHTS for line in self.insight_lines.get(title, ())]

    def admits(self, line: KnowledgeLine, shown: Collection[int] | None = None) -> bool:
        del shown
        return bool(line.sources)

    def add_lines(self, section: str, lines: Sequence[KnowledgeLine]) -> int:
        kept = self.lines.setdefault(section, [])
        new = [line for line in lines if line not in kept]
        kept += new
        return len(new)

    def replace_insights(self, insights: Sequence[KnowledgeEntry]) -> None:
        entries = [*(entry for entry in self.insights() if not entry.is_ours), *insights]
        sections = dict.fromkeys(entry.section for entry in entries)
        self.insight_lines = {
            title: tuple(entry.line for entry in entries if entry.section == title) for title in sections
        }


class EpisodePlay(Play[EpisodeSynthesizer]):
    """Episodes that a synthesizer of episodes learns from."""

    opening = replace(OPENING, max_score=50)

    def __init__(
        self, workdir: Path, replies: Iterable[Reply] | ReplyFunction = (), *, episode: int = 1, **options: object
    ) -> None:
        super().__init__(workdir, replies, episode=episode, **options)
        self.knowledge = Knowledge(self.llm)
        state_manager = StateManager(structlog.get_logger(), self.config, self.state)
        self.manager = EpisodeSynthesizer(
            structlog.get_logger(), self.config, self.state, self.knowledge, state_manager
        )
        self.learners = (self.manager,)
        self.begin(episode)

    def die(self) -> None:
        """Two turns into the fumes, the player died of them and came back at the gate."""
        self.turn("east", "Steam hangs over the vats.", location=VATS)
        self.turn("drink dye", "It tastes of tin. The fumes take you.", location=GATE, died=True)

    def lose(self) -> EpisodeSummary:
        """The player died, and the episode ended with it."""
        self.die()
        return self.summed_up("lost")

    def summed_up(self, end: EpisodeEnd) -> EpisodeSummary:
        """The episode ended so, and this is its summary."""
        self.manager.end(end)
        assert self.manager.summary is not None
        return self.manager.summary

    @property
    def prompt(self) -> str:
        """The part of the latest prompt that changes."""
        return self.llm.calls[-1].prompt.user
