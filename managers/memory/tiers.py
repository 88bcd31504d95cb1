"""Changes of memories, each made as a whole or not at all.

See docs/specification.md, Superseding and invalidating, and Memory titles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from managers.memory.document import MemoriesDocument, parse_memories
from session.files.document_store import Change, DocumentStore
from session.memory import Memory, MemoryStatus
from session.text import text_key


@dataclass(frozen=True, slots=True)
class Revision:
    """A new memory, and the titles of those that it supersedes or that were proven false; any of them may be missing.

    turn: the turn in which the old memories were superseded or invalidated

    Raises ``ValueError`` for an invalid location id.
    """

    location_id: int
    location_name: str = ""
    new: Memory | None = None
    superseded: tuple[str, ...] = ()
    invalidated: tuple[str, ...] = ()
    reason: str = ""
    turn: int | None = None

    def __post_init__(self) -> None:
        require_location_id(self.location_id)

    @property
    def new_persistent(self) -> Memory | None:
        """The new memory, if it is for the file."""
        return None if self.new is None or self.new.persistence == "ephemeral" else self.new

    @property
    def new_ephemeral(self) -> Memory | None:
        """The new memory, if it is for this episode alone."""
        return None if self.new_persistent is not None else self.new

    def refusal(self, persistent: Sequence[Memory], ephemeral: Sequence[Memory]) -> str:
        """Return why the revision is not allowed, or "".

        persistent, ephemeral: the location's core and permanent memories, and its ephemeral ones
        """
        if self.new is None:
            return ""
        old = next((memory for memory in persistent if any(stands([memory], title) for title in self.superseded)), None)
        if self.new_ephemeral is not None and old is not None:
            return (
                f"a {old.persistence} memory is never superseded by an ephemeral one: it would be gone with the episode"
            )
        if stands(map(self.revised, (*persistent, *ephemeral)), self.new.title):
            return "a memory of this title already exists"
        return ""

    def concerns(self, memories: Sequence[Memory]) -> bool:
        """Return whether the revision gives up one of these memories."""
        return any(stands(memories, title) for title in (*self.superseded, *self.invalidated))

    def revised(self, memory: Memory) -> Memory:
        """Return the memory, superseded or invalidated if the revision gives it up."""
        if memory.status == MemoryStatus.SUPERSEDED:
            return memory
        key = text_key(memory.title)
        if key in map(text_key, self.invalidated):
            return memory.invalidated(self.reason, self.turn)
        if self.new is not None and key in map(text_key, self.superseded):
            return memory.superseded(self.new.title, self.turn)
        return memory

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """Return the document with the revision.

        Returns the same document if nothing changes or a memory of the new title already exists.
        """
        new = self.new_persistent
        for_file = self if new is not None else replace(self, superseded=())
        revised = document.revise(self.location_id, for_file.revised)
        if new is None:
            return revised
        if stands(revised.memories().get(self.location_id, []), new.title):
            return document
        return revised.add_memory(self.location_id, self.location_name, new)


MemoryEdit = Revision | Change[MemoriesDocument]


def require_location_id(location_id: object) -> None:
    """Raise ``ValueError`` for an invalid location id, which the file could not represent."""
    if not isinstance(location_id, int) or isinstance(location_id, bool) or location_id < 0:
        raise ValueError(f"{location_id!r} is not a location id: expected a whole number, not negative")


def stands(memories: Iterable[Memory], title: str) -> bool:
    """Return whether one of the memories has that title and was not given up."""
    key = text_key(title)
    return any(memory.status != MemoryStatus.SUPERSEDED and text_key(memory.title) == key for memory in memories)


def open_memories(path: Path) -> DocumentStore[MemoriesDocument, MemoryEdit]:
    """Open the store of a file of memories. Raises ``StoreError``."""
    return DocumentStore(path, parse_memories)
