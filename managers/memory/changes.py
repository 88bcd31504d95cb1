"""What became of the memories between two states of their file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from session.memory import INVALIDATION_MARKER, Memory, MemoryStatus
from session.text import text_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from managers.memory.document import MemoriesDocument

ChangeKind = Literal["added", "changed", "superseded", "invalidated", "removed"]


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """``memory`` is as it stands afterwards, or as it last stood where it was removed.

    kind: ``changed`` is one of the same title that says something else; one both learnt and given up in between is
        ``superseded`` or ``invalidated``
    """

    location_id: int
    kind: ChangeKind
    memory: Memory


def changes(before: MemoriesDocument, after: MemoriesDocument) -> list[MemoryChange]:
    """Every change, location by location in the order of ``after``."""
    old, new = before.memories(), after.memories()
    return [
        change
        for location_id in dict.fromkeys([*new, *old])
        for change in _changes_at(location_id, old.get(location_id, []), new.get(location_id, []))
    ]


def _changes_at(location_id: int, old: Sequence[Memory], new: Sequence[Memory]) -> Iterator[MemoryChange]:
    known, stood, kept = set(old), _standing_titles(old), {text_key(memory.title) for memory in new}
    for memory in new:
        if memory not in known:
            yield MemoryChange(location_id, _kind(memory, stood), memory)
    for memory in old:
        if text_key(memory.title) in stood - kept:
            yield MemoryChange(location_id, "removed", memory)


def _standing_titles(memories: Sequence[Memory]) -> set[str]:
    return {text_key(memory.title) for memory in memories if memory.status != MemoryStatus.SUPERSEDED}


def _kind(memory: Memory, stood: set[str]) -> ChangeKind:
    if memory.status != MemoryStatus.SUPERSEDED:
        return "changed" if text_key(memory.title) in stood else "added"
    return "invalidated" if memory.superseded_by == INVALIDATION_MARKER else "superseded"
