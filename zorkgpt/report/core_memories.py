"""Core memories that a model proposed where they cannot be: on return visits (seed 1, decision 16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.events import EpisodeStarted, ModelAnswered, ModelFailed, TurnPlayed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from session.events import Event


def core_downgrades(events: Iterable[Event]) -> int | None:
    """How many core memories were proposed of a visit that was not the episode's first there, or no longer new.

    A visit is new until the model was first asked about it. ``None`` where no model has answered what to remember.
    """
    visit = _Visit()
    downgrades: int | None = None
    for event in events:
        if isinstance(event, EpisodeStarted):
            visit = _Visit()
        elif isinstance(event, TurnPlayed):
            visit.follow(event)
        elif isinstance(event, ModelAnswered | ModelFailed) and event.role == "memory":
            if isinstance(event, ModelAnswered):
                downgrades = (downgrades or 0) + (0 if visit.is_new else _core_memories(event.answer))
            visit.is_new = False
    return downgrades


class _Visit:
    """Where the player is, as the memory manager sees it. is_new: the model was not asked yet, ever, in this episode"""

    def __init__(self) -> None:
        self.is_new = False
        self._visited: set[int] = set()
        self._here: int | None = None

    def follow(self, turn: TurnPlayed) -> None:
        location = turn.record.before.location
        if location is None or turn.record.after.refusal is not None or location.num == self._here:
            return
        self._here = location.num
        self.is_new = location.num not in self._visited
        self._visited.add(location.num)


def _core_memories(answer: dict[str, object]) -> int:
    """In either form of answer: a list of memories, or one."""
    memories = answer.get("memories", [answer])
    if not isinstance(memories, list):
        return 0
    return sum(isinstance(memory, dict) and memory.get("persistence") == "core" for memory in memories)
