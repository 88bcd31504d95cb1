"""What a snapshot has to hold of the knowledge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from managers.knowledge.base import BaseState
from managers.knowledge.play import LearntTurn
from session.knowledge import KnowledgeEntry


@dataclass(frozen=True, slots=True)
class KnowledgeState:
    """All of the knowledge manager that is not in its files: plain values, for a snapshot.

    asked_turn: in which the episode's last update was due
    turns: played since the last update that was answered
    shown: the lines that the agent may be shown until the next update, the most useful first
    counts: of updates and what came of them, since the run began
    files: what of the knowledge is not on the disk
    learnt: keys of the lines that have come in this episode
    """

    asked_turn: int = 0
    turns: tuple[LearntTurn, ...] = ()
    shown: tuple[KnowledgeEntry, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    files: BaseState = field(default_factory=BaseState)
    learnt: tuple[str, ...] = ()

    def committed(self) -> KnowledgeState:
        """The same once what is due has reached the files."""
        return replace(self, files=self.files.committed())
