"""One change to what is remembered at a location: all of it or none (decisions 5 to 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from session.memory import Memory, MemoryStatus
from session.text import text_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from managers.memory.document import MemoriesDocument


@dataclass(frozen=True, slots=True)
class Revision:
    """A new memory, titles that it supersedes, titles proven false; any of them may be missing.

    turn: in which the old memories were given up
    """

    location_id: int
    location_name: str = ""
    new: Memory | None = None
    superseded: tuple[str, ...] = ()
    invalidated: tuple[str, ...] = ()
    reason: str = ""
    turn: int | None = None
    kind: Literal["revision"] = "revision"

    @property
    def title(self) -> str | None:
        """Of the new memory, if there is one."""
        return None if self.new is None else self.new.title

    @property
    def new_persistent(self) -> Memory | None:
        """The new memory, if it is for the file."""
        return None if self.new is None or self.new.persistence == "ephemeral" else self.new

    @property
    def new_ephemeral(self) -> Memory | None:
        """The new memory, if it is for this episode alone."""
        return None if self.new_persistent is not None else self.new

    def refusal(self, persistent: Sequence[Memory], ephemeral: Sequence[Memory]) -> str:
        """Why it may not be made, "" where it may.

        persistent, ephemeral: the location's core and permanent memories, and its ephemeral ones
        """
        if self.new is None:
            return ""
        if self.new_ephemeral is not None and any(stands(persistent, title) for title in self.superseded):
            return "a core or permanent memory is never superseded by an ephemeral one"
        if stands([*self.revised(persistent), *self.revised(ephemeral)], self.new.title):
            return "a memory of this title stands already"
        return ""

    def concerns(self, memories: Sequence[Memory]) -> bool:
        """One of these would be given up."""
        return any(stands(memories, title) for title in (*self.superseded, *self.invalidated))

    def revised(self, memories: Iterable[Memory]) -> list[Memory]:
        """These memories, those given up marked as such."""
        superseded = {text_key(title) for title in self.superseded}
        invalidated = {text_key(title) for title in self.invalidated}
        return [self._revised(memory, superseded, invalidated) for memory in memories]

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """The document with it; the very same where there is nothing to do, or the new title stands there already."""
        revised = document
        for title in self.invalidated:
            revised = revised.mark_invalidated(self.location_id, title, self.reason, self.turn)
        if self.new_persistent is None:
            return revised
        for title in self.superseded:
            revised = revised.mark_superseded(self.location_id, title, self.new_persistent.title, self.turn)
        if stands(revised.memories_at(self.location_id), self.new_persistent.title):
            return document
        return revised.add_memory(self.location_id, self.location_name, self.new_persistent)

    def _revised(self, memory: Memory, superseded: set[str], invalidated: set[str]) -> Memory:
        key = text_key(memory.title)
        if memory.status == MemoryStatus.SUPERSEDED:
            return memory
        if key in invalidated:
            return memory.invalidated(self.reason, self.turn)
        if key in superseded and self.new is not None:
            return memory.superseded(self.new.title, self.turn)
        return memory


@dataclass(frozen=True, slots=True)
class CountedVisit:
    """The location was visited once more."""

    location_id: int
    episode: int
    kind: Literal["visited"] = "visited"

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """The document with one visit more; the very same where it has no section for the location."""
        return document.update_visits(self.location_id, self.episode)


@dataclass(frozen=True, slots=True)
class Removal:
    """Memories of that title are gone, wherever they stood."""

    title: str
    kind: Literal["removed"] = "removed"

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """The document without them; the very same where there are none."""
        return document.remove_memory(self.title)


MemoryEdit = Revision | CountedVisit | Removal


def stands(memories: Iterable[Memory], title: str) -> bool:
    """One of these has that title and has not been given up (decision 8)."""
    key = text_key(title)
    return any(memory.status != MemoryStatus.SUPERSEDED and text_key(memory.title) == key for memory in memories)
