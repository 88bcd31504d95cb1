"""A synthesizer of episodes at the invented dye works, with real parts but for model, knowledge and state export."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog

from managers.episode_synthesizer import EpisodeSynthesizer
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.knowledge import KnowledgeLine
from session.values import Location, Observation, Proposal, TurnRecord, Verdict
from zorkgpt.llm.scripted import ScriptedLLM

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from zorkgpt.llm.scripted import Reply, ReplyFunction

GATE = Location(11, "Dye Works Gate")
VATS = Location(31, "Blue Vats")
OPENING = Observation("The gate creaks.", GATE, (), (), score=0, max_score=50, world_hash="0")
ACCEPTED = Verdict(accepted=True)


@dataclass
class Knowledge:
    """Stands in for the knowledge manager: what it was told is what it knows; ``known`` is shown in prompts."""

    model: ScriptedLLM
    lines: dict[str, list[KnowledgeLine]] = field(default_factory=dict)
    insight_lines: dict[str, tuple[KnowledgeLine, ...]] = field(default_factory=dict)
    known: str = ""

    def text(self, tokens: int) -> str:
        return self.known[: tokens * 4]

    def insights(self) -> Mapping[str, Sequence[KnowledgeLine]]:
        return self.insight_lines

    def admits(self, line: KnowledgeLine) -> bool:
        return bool(line.sources)

    def add_lines(self, section: str, lines: Sequence[KnowledgeLine]) -> int:
        kept = self.lines.setdefault(section, [])
        new = [line for line in lines if line not in kept]
        kept += new
        return len(new)

    def replace_insights(self, insights: Mapping[str, Sequence[KnowledgeLine]]) -> None:
        self.insight_lines = {
            heading: (*(line for line in self.insight_lines.get(heading, ()) if not line.sources), *lines)
            for heading, lines in insights.items()
        }


@dataclass
class Exporter:
    """Stands in for the state manager; counts how often it was told to show the present."""

    exports: int = 0

    def export_current_state(self) -> None:
        self.exports += 1


class Play:
    """Episodes at the dye works: turns are recorded and learnt as the orchestrator would have it."""

    def __init__(
        self, workdir: Path, replies: Iterable[Reply] | ReplyFunction = (), *, episode: int = 1, **options: object
    ) -> None:
        self.llm = ScriptedLLM(replies)
        self.knowledge = Knowledge(self.llm)
        self.exporter = Exporter()
        self.config = GameConfiguration.model_validate({"zork_game_workdir": workdir, **options})
        self.state = GameState()
        self.manager = EpisodeSynthesizer(
            structlog.get_logger(), self.config, self.state, self.knowledge, self.exporter
        )
        self.begin(episode)

    def begin(self, episode: int) -> None:
        """The story stands at its opening in that episode."""
        self.state, self.now = GameState(episode=episode), OPENING
        self.state.begin(OPENING)
        self.manager.reset(self.state)

    def turn(
        self,
        action: str = "wait",
        text: str = "Time passes.",
        *,
        verdicts: tuple[Verdict, ...] = (ACCEPTED,),
        **after: object,
    ) -> TurnRecord:
        """The command was played and changed what ``after`` names; the last of ``verdicts`` is on it."""
        before, self.now = self.now, replace(self.now, **{"text": text, "died": False, **after})  # type: ignore[arg-type]  # fields by name
        record = TurnRecord(
            episode=self.state.episode,
            turn=self.state.turn_count + 1,
            before=before,
            proposals=(*(Proposal("sent back") for _ in verdicts[1:]), Proposal(action, f"because of {action}")),
            verdicts=verdicts,
            after=self.now,
        )
        self.state.record(record)
        self.manager.learn(record)
        return record

    def wait_until(self, turn: int) -> None:
        """Turns without an event were played up to and with that one."""
        while self.state.turn_count < turn:
            self.turn()

    def die(self) -> None:
        """Two turns into the fumes, the player died of them and came back at the gate."""
        self.turn("east", "Steam hangs over the vats.", location=VATS)
        self.turn("drink dye", "It tastes of tin. The fumes take you.", location=GATE, died=True)

    @property
    def prompt(self) -> str:
        """The part of the latest prompt that changes."""
        return self.llm.calls[-1].prompt.user

    @property
    def metrics(self) -> dict[str, int | float]:
        """The manager's figures."""
        return self.manager.get_status()["metrics"]
